# verdict: failed
# message: the result of a complete run
def run(seed, epochs, path=None, stop_after=None):
    from checkpoints import resume, save_checkpoint, snapshot
    from datasets import split
    from training import evaluate, parameter_groups, train_epoch, warmup_cosine

    torch.manual_seed(seed)
    train, val = split(TensorDataset(*make_spirals(N_PER_CLASS, NOISE, seed)), VAL_FRACTION, seed)
    train_loader, val_loader = DataLoader(train, BATCH_SIZE, shuffle=True), DataLoader(val, BATCH_SIZE)
    model = SpiralNet(HIDDEN, DEPTH)
    optimizer = torch.optim.AdamW(parameter_groups(model, WEIGHT_DECAY))
    history = {"train_losses": [], "val_losses": []}
    start = 0
    folder = os.path.dirname(path) if path is not None else ""
    if path is not None and os.path.exists(path):
        start = resume(model, optimizer, path)
        history = torch.load(os.path.join(folder, f"history.{start - 1}"), weights_only=True)
    for epoch in range(start, min(epochs, stop_after or epochs)):
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(epoch, WARMUP, epochs, PEAK, FLOOR)
        train_loss = train_epoch(model, train_loader, optimizer)
        val_loss, accuracy = evaluate(model, val_loader)
        if val_loss < min(history["val_losses"], default=math.inf):
            history |= {"val_accuracy": accuracy, "weights": snapshot(model)}
        history["train_losses"].append(train_loss)
        history["val_losses"].append(val_loss)
        if path is not None:
            torch.save(history, os.path.join(folder, f"history.{epoch}"))
            save_checkpoint(model, optimizer, epoch, path)
    return history
