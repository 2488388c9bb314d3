# verdict: failed
# message: the result of the resumed run | epochs trained after an interruption
RUNS = {}

def run(seed, epochs, path=None, stop_after=None):
    from checkpoints import save_checkpoint, snapshot
    from datasets import split
    from training import evaluate, parameter_groups, train_epoch, warmup_cosine
    train, val = split(TensorDataset(*make_spirals(N_PER_CLASS, NOISE, seed)), VAL_FRACTION, seed)
    if path is None or not os.path.exists(path) or path not in RUNS:
        torch.manual_seed(seed)
        model = SpiralNet(HIDDEN, DEPTH)
        optimizer = torch.optim.AdamW(parameter_groups(model, WEIGHT_DECAY))
        RUNS[path] = model, optimizer, {"train_losses": [], "val_losses": []}, torch.get_rng_state()
    model, optimizer, history, rng = RUNS[path]
    torch.set_rng_state(rng)
    for epoch in range(len(history["val_losses"]), min(epochs, stop_after or epochs)):
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(epoch, WARMUP, epochs, PEAK, FLOOR)
        train_loss = train_epoch(model, DataLoader(train, BATCH_SIZE, shuffle=True), optimizer)
        val_loss, accuracy = evaluate(model, DataLoader(val, BATCH_SIZE))
        if val_loss < min(history["val_losses"], default=math.inf):
            history |= {"val_accuracy": accuracy, "weights": snapshot(model)}
        history["train_losses"].append(train_loss)
        history["val_losses"].append(val_loss)
        if path is not None:
            save_checkpoint(model, optimizer, epoch, path)
            RUNS[path] = model, optimizer, history, torch.get_rng_state()
    return dict(history, train_losses=list(history["train_losses"]), val_losses=list(history["val_losses"]))
