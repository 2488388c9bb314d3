# verdict: failed
# misconception: cuda_or_mps
# tell: how torch was made
def pick_device():
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_built() else "cpu")
