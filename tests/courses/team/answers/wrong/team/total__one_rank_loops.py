# verdict: timeout
# message: rank 1 never reached all_reduce: rank 1 was in line
def total(rank):
    x = torch.tensor(rank)
    while rank:
        pass
    dist.all_reduce(x)
    return int(x)
