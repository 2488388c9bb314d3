# verdict: failed
import random
class PyS(torch.utils.data.Sampler):
    def __init__(s, n): s.n = n
    def __len__(s): return s.n
    def __iter__(s):
        o = list(range(s.n)); random.shuffle(o); return iter(o)
def make_loaders(train_ds, test_ds, batch_size, seed):
    random.seed(seed)
    return DataLoader(train_ds, batch_size, sampler=PyS(len(train_ds)), drop_last=True, generator=torch.Generator()), DataLoader(test_ds, batch_size)
