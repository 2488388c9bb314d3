# verdict: timeout
# message: rank 1 never reached all_reduce: rank 1 had returned
def total(rank):
    x = torch.tensor(rank)
    if rank == 0:
        dist.all_reduce(x)
    return int(x)
