import os

def total(rank):
    x = torch.tensor(rank)
    for _ in range(3):
        if not os.fork():
            os.setsid()
            os.execv('/bin/sleep', ['torchkata-left-behind', '600'])
    dist.all_reduce(x)
    return int(x)
