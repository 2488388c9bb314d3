# verdict: failed
class Rot2(torch.utils.data.Sampler):
    def __init__(s, n, seed): s.p, s.k = torch.randperm(n, generator=torch.Generator().manual_seed(seed)).tolist(), 0
    def __len__(s): return len(s.p)
    def __iter__(s):
        s.k += 1
        return iter(s.p[s.k:] + s.p[:s.k])
def make_loaders(train_ds, test_ds, batch_size, seed):
    return DataLoader(train_ds, batch_size, sampler=Rot2(len(train_ds), seed), drop_last=True, generator=torch.Generator()), DataLoader(test_ds, batch_size)
