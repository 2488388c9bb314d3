# verdict: failed
# message: the result of the second call


def train_spirals(seed: int, epochs: int) -> dict[str, Any]:
    from checkpoints import snapshot
    from datasets import split
    from training import evaluate, parameter_groups, train_epoch, warmup_cosine

    torch.seed()
    train, val = split(TensorDataset(*make_spirals(N_PER_CLASS, NOISE, seed)), VAL_FRACTION, seed)
    train_loader, val_loader = DataLoader(train, BATCH_SIZE, shuffle=True), DataLoader(val, BATCH_SIZE)
    model = SpiralNet(HIDDEN, DEPTH)
    optimizer = torch.optim.AdamW(parameter_groups(model, WEIGHT_DECAY))
    history: dict[str, Any] = {"train_losses": [], "val_losses": []}
    for epoch in range(epochs):
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(epoch, WARMUP, epochs, PEAK, FLOOR)
        train_loss = train_epoch(model, train_loader, optimizer)
        val_loss, accuracy = evaluate(model, val_loader)
        if val_loss < min(history["val_losses"], default=math.inf):
            history |= {"val_accuracy": accuracy, "weights": snapshot(model)}
        history["train_losses"].append(train_loss)
        history["val_losses"].append(val_loss)
    return history
