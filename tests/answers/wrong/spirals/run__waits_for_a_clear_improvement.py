# verdict: failed
# message: val_accuracy | weights of epoch
def run(seed, epochs, path=None, stop_after=None):
    from checkpoints import resume, save_checkpoint, snapshot
    from datasets import split
    from training import evaluate, parameter_groups, train_epoch, warmup_cosine
    torch.manual_seed(seed)
    train, val = split(TensorDataset(*make_spirals(N_PER_CLASS, NOISE, seed)), VAL_FRACTION, seed)
    model = SpiralNet(HIDDEN, DEPTH)
    optimizer = torch.optim.AdamW(parameter_groups(model, WEIGHT_DECAY))
    history, start = {"train_losses": [], "val_losses": [], "best": math.inf}, 0
    if path is not None and os.path.exists(path):
        start = resume(model, optimizer, path)
        history = torch.load(f"{path}.history", weights_only=True)
        for losses in (history["train_losses"], history["val_losses"]):
            del losses[start:]
    for epoch in range(start, min(epochs, stop_after or epochs)):
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(epoch, WARMUP, epochs, PEAK, FLOOR)
        train_loss = train_epoch(model, DataLoader(train, BATCH_SIZE, shuffle=True), optimizer)
        val_loss, accuracy = evaluate(model, DataLoader(val, BATCH_SIZE))
        if val_loss < history["best"] - 0.01:
            history |= {"best": val_loss, "val_accuracy": accuracy, "weights": snapshot(model)}
        history["train_losses"].append(train_loss)
        history["val_losses"].append(val_loss)
        if path is not None:
            torch.save(history, f"{path}.history.tmp")
            os.replace(f"{path}.history.tmp", f"{path}.history")
            save_checkpoint(model, optimizer, epoch, path)
    return {name: value for name, value in history.items() if name != "best"}
