# verdict: failed
# message: AssertionError: not me (on rank 1)
def total(rank):
    x = torch.tensor(rank)
    assert rank == 0, 'not me'
    dist.all_reduce(x)
    return int(x)
