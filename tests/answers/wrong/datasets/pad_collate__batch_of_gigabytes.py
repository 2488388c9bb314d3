# verdict: crashed | failed
# message: memory | too big to look at
def pad_collate(batch):
    return torch.ones(3 << 28), torch.ones(1, dtype=torch.bool), torch.zeros(1)
