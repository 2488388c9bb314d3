# verdict: failed
# message: the order is the same in epochs 0 and 2
class TwoOrders(DistributedSampler):
    def set_epoch(self, epoch):
        self.epoch = epoch % 2
def sharded_loader(dataset, batch_size, rank, world_size, seed):
    return DataLoader(dataset, batch_size, sampler=TwoOrders(dataset, num_replicas=world_size, rank=rank, seed=seed, drop_last=True))
