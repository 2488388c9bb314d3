class _Shares(torch.utils.data.Sampler):
    def __init__(self, rows, rank, world_size, seed):
        self.rows, self.rank, self.world_size, self.seed, self.epoch = rows, rank, world_size, seed, 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return self.rows // self.world_size

    def __iter__(self):
        generator = torch.Generator().manual_seed(1000 * self.seed + self.epoch)
        order = torch.randperm(self.rows, generator=generator).tolist()
        return iter(order[self.rank * len(self) : (self.rank + 1) * len(self)])


def sharded_loader(dataset, batch_size, rank, world_size, seed):
    return DataLoader(dataset, batch_size, sampler=_Shares(len(dataset), rank, world_size, seed))
