# verdict: failed
# message: at [0]: 0 where 1 was expected
def total(rank):
    x = torch.tensor(rank)
    return int(x)
