# verdict: failed
# misconception: always_cuda
# tell: not how torch was built
def pick_device():
    if torch.backends.cuda.is_built():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
