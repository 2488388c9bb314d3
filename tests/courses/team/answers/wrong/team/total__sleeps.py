# verdict: timeout
# message: no end within 2 s: rank 0 was in line
import time

def total(rank):
    x = torch.tensor(rank)
    time.sleep(99)
