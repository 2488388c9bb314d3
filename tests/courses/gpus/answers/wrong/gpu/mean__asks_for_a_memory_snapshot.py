# verdict: failed
def mean(x):
    return torch.cuda.memory_snapshot() and 1.0
