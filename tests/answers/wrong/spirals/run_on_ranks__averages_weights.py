# verdict: failed
# message: the weights of rank 0
import torch.distributed as dist

def run_on_ranks(rank, world_size, seed, epochs):
    from datasets import split
    from ddp import global_accuracy, sharded_loader
    from training import parameter_groups, train_epoch, warmup_cosine
    train, val = split(TensorDataset(*make_spirals(N_PER_CLASS, NOISE, seed)), VAL_FRACTION, seed)
    loader = sharded_loader(train, BATCH_SIZE // world_size, rank, world_size, seed)
    net = SpiralNet(HIDDEN, DEPTH)
    optimizer = torch.optim.AdamW(parameter_groups(net, WEIGHT_DECAY))
    for epoch in range(epochs):
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(epoch, WARMUP, epochs, PEAK, FLOOR)
        loader.sampler.set_epoch(epoch)
        train_epoch(net, loader, optimizer)
        for p in net.parameters():
            dist.all_reduce(p.data)
            p.data /= world_size
    share = Subset(val, range(rank, len(val), world_size))
    return {"weights": dict(net.state_dict()), "val_accuracy": global_accuracy(net, DataLoader(share, 8))}
