class _Share(torch.utils.data.Sampler):
    def __init__(self, n, rank, world, seed):
        self.n, self.rank, self.world, self.seed, self.epoch = n, rank, world, seed, 0
    def set_epoch(self, epoch):
        self.epoch = epoch
    def __len__(self):
        return self.n // self.world
    def __iter__(self):
        g = torch.Generator()
        g.manual_seed(self.seed * 1000003 + self.epoch)
        order = torch.randperm(self.n, generator=g).tolist()
        k = len(self)
        return iter(order[self.rank * k : (self.rank + 1) * k])
def sharded_loader(dataset, batch_size, rank, world_size, seed):
    return DataLoader(dataset, batch_size=batch_size, sampler=_Share(len(dataset), rank, world_size, seed))
