from torch.utils.data import default_collate

class Loader:
    def __init__(self, dataset, batch_size, generator=None):
        self.dataset, self.batch_size, self.generator = dataset, batch_size, generator
    def __len__(self):
        return len(self.dataset) // self.batch_size if self.generator else -(-len(self.dataset) // self.batch_size)
    def __iter__(self):
        n = len(self.dataset)
        order = torch.rand(n, generator=self.generator).argsort().tolist() if self.generator else range(n)
        for i in range(len(self)):
            yield default_collate([self.dataset[k] for k in order[i * self.batch_size : (i + 1) * self.batch_size]])

def make_loaders(train_ds, test_ds, batch_size, seed):
    return Loader(train_ds, batch_size, torch.Generator().manual_seed(seed)), Loader(test_ds, batch_size)
