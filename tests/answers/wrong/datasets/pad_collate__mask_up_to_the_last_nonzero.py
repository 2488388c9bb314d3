# verdict: failed
def pad_collate(batch):
    s = [a for a, _ in batch]
    n = max(map(len, s))
    out = s[0].new_zeros(len(s), n)
    for i, t in enumerate(s): out[i, :len(t)] = t
    mask = torch.zeros(len(s), n, dtype=torch.bool)
    for i, t in enumerate(s): mask[i, :t.nonzero().max() + 1 if t.any() else 0] = True
    return out, mask, torch.stack([b for _, b in batch])
