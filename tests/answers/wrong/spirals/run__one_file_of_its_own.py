# verdict: failed
# message: your resume cannot read the file at path
def run(seed, epochs, path=None, stop_after=None):
    from checkpoints import snapshot
    from datasets import split
    from training import evaluate, parameter_groups, train_epoch, warmup_cosine
    torch.manual_seed(seed)
    train, val = split(TensorDataset(*make_spirals(N_PER_CLASS, NOISE, seed)), VAL_FRACTION, seed)
    model = SpiralNet(HIDDEN, DEPTH)
    optimizer = torch.optim.AdamW(parameter_groups(model, WEIGHT_DECAY))
    history, start = {"train_losses": [], "val_losses": []}, 0
    if path is not None and os.path.exists(path):
        kept = torch.load(path, weights_only=True)
        history, start = kept["history"], kept["next"]
        model.load_state_dict(kept["model weights"])
        optimizer.load_state_dict(kept["optimizer state"])
        torch.set_rng_state(kept["random"])
    for epoch in range(start, min(epochs, stop_after or epochs)):
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(epoch, WARMUP, epochs, PEAK, FLOOR)
        train_loss = train_epoch(model, DataLoader(train, BATCH_SIZE, shuffle=True), optimizer)
        val_loss, accuracy = evaluate(model, DataLoader(val, BATCH_SIZE))
        if val_loss < min(history["val_losses"], default=math.inf):
            history |= {"val_accuracy": accuracy, "weights": snapshot(model)}
        history["train_losses"].append(train_loss)
        history["val_losses"].append(val_loss)
        if path is not None:
            kept = {"history": history, "next": epoch + 1, "random": torch.get_rng_state()}
            kept |= {"model weights": model.state_dict(), "optimizer state": optimizer.state_dict()}
            torch.save(kept, f"{path}.tmp")
            os.replace(f"{path}.tmp", path)
    return history
