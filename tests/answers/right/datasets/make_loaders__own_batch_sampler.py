import random

class Batches:
    def __init__(self, n, batch_size, seed):
        self.rows, self.batch_size, self.random = list(range(n)), batch_size, random.Random(seed)
    def __len__(self):
        return len(self.rows) // self.batch_size
    def __iter__(self):
        self.random.shuffle(self.rows)
        for i in range(len(self)):
            yield self.rows[i * self.batch_size : (i + 1) * self.batch_size]

def make_loaders(train_ds, test_ds, batch_size, seed):
    batches = Batches(len(train_ds), batch_size, seed)
    return DataLoader(train_ds, batch_sampler=batches, generator=torch.Generator()), DataLoader(test_ds, batch_size)
