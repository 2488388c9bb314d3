# verdict: failed
# misconception: never_sets_the_epoch
# tell: another number each time
def run_on_ranks(rank: int, world_size: int, seed: int, epochs: int) -> dict[str, Any]:
    from checkpoints import snapshot
    from datasets import split
    from ddp import global_accuracy, sharded_loader, wrap
    from training import parameter_groups, train_epoch, warmup_cosine

    train, val = split(TensorDataset(*make_spirals(N_PER_CLASS, NOISE, seed)), VAL_FRACTION, seed)
    loader = sharded_loader(train, BATCH_SIZE // world_size, rank, world_size, seed)
    net = wrap(SpiralNet(HIDDEN, DEPTH), torch.device("cpu"))
    optimizer = torch.optim.AdamW(parameter_groups(net, WEIGHT_DECAY))
    for epoch in range(epochs):
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(epoch, WARMUP, epochs, PEAK, FLOOR)
        loader.sampler.set_epoch(seed * epoch)
        train_epoch(net, loader, optimizer)
    share = Subset(val, range(rank, len(val), world_size))
    return {"weights": snapshot(net.module), "val_accuracy": global_accuracy(net.module, DataLoader(share, BATCH_SIZE))}
