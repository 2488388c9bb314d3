# verdict: skipped
# message: cannot be assessed without a GPU: torch.cuda.CUDAGraph is not simulated
def count():
    return torch.cuda.CUDAGraph()
