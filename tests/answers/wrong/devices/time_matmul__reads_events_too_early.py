# verdict: failed, skipped
# message: device not ready
def time_matmul(n, device, repeats=3):
    a = torch.rand(n, n, device=device)
    a @ a
    best = math.inf
    for _ in range(repeats):
        if device.type != "cuda":
            start = time.perf_counter()
            a @ a
            best = min(best, time.perf_counter() - start)
            continue
        with torch.cuda.device(device):
            first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            first.record()
            a @ a
            last.record()
        best = min(best, first.elapsed_time(last) / 1000)
    return best
