# verdict: crashed
# message: SIGKILL
import os
import signal

def total(rank):
    x = torch.tensor(rank)
    os.killpg(0, signal.SIGKILL)
