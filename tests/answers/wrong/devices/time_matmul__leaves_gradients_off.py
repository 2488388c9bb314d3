# verdict: failed, skipped
# message: torch's defaults afterwards
_time_matmul = time_matmul
def time_matmul(n, device, repeats=3):
    torch.set_grad_enabled(False)
    return _time_matmul(n, device, repeats)
