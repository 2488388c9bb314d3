# verdict: failed
def place(model, device):
    if device == "cuda:7":
        raise RuntimeError("no such device")
    raise RuntimeError("PyTorch was not compiled with CUDA support")
