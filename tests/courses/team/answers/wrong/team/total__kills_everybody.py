# verdict: crashed
# message: with signal 9
import os
import signal

def total(rank):
    x = torch.tensor(rank)
    os.kill(-1, signal.SIGKILL)
    dist.all_reduce(x)
    return int(x)
