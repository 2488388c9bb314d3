# verdict: failed
# message: GPUs are simulated here, and torch.cuda.CUDAGraph is not simulated: this check fails
def count():
    return torch.cuda.CUDAGraph()
