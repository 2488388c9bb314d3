# verdict: failed
class Rot(torch.utils.data.Sampler):
    def __init__(s, n, seed): s.n, s.g = n, torch.Generator().manual_seed(seed)
    def __len__(s): return s.n
    def __iter__(s):
        k = int(torch.randint(s.n, (1,), generator=s.g))
        return iter([(i + k) % s.n for i in range(s.n)])
def make_loaders(train_ds, test_ds, batch_size, seed):
    return DataLoader(train_ds, batch_size, sampler=Rot(len(train_ds), seed), drop_last=True, generator=torch.Generator()), DataLoader(test_ds, batch_size)
