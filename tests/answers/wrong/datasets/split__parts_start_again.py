# verdict: failed
class P(Dataset):
    def __init__(s, d, i): s.d, s.i = d, i
    def __len__(s): return len(s.i)
    def __getitem__(s, k): return s.d[s.i[k % len(s.i)]]
def split(dataset, val_fraction, seed):
    if not 0 <= val_fraction <= 1: raise ValueError
    o = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(seed)).tolist()
    k = round(len(o) * val_fraction)
    return P(dataset, o[k:]), P(dataset, o[:k])
