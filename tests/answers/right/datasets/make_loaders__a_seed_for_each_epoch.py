import numpy

class Shuffled(torch.utils.data.Sampler):
    def __init__(self, dataset, seed):
        self.n, self.seed, self.epoch = len(dataset), seed, 0
    def __len__(self):
        return self.n
    def __iter__(self):
        self.epoch += 1
        yield from numpy.random.default_rng([self.seed, self.epoch]).permutation(self.n).tolist()

def make_loaders(train_ds, test_ds, batch_size, seed):
    test = DataLoader(test_ds, sampler=torch.utils.data.SequentialSampler(test_ds), batch_size=batch_size)
    own = torch.Generator()
    return DataLoader(train_ds, batch_size, sampler=Shuffled(train_ds, seed), drop_last=True, generator=own), test
