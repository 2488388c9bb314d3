# verdict: crashed
# message: ended the process of rank 1 with exit code 0
import os

def total(rank):
    x = torch.tensor(rank)
    if rank:
        os._exit(0)
    dist.all_reduce(x)
    return int(x)
