def time_matmul(n, device, repeats=3):
    a, b = torch.rand(n, n, device=device), torch.rand(n, n, device=device)
    a @ b
    times = []
    for _ in range(repeats):
        if device.type == "cuda":
            with torch.cuda.device(device):
                start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                start.record()
                a @ b
                end.record()
                end.synchronize()
            times.append(start.elapsed_time(end) / 1000)
        else:
            start = time.perf_counter()
            a @ b
            times.append(time.perf_counter() - start)
    return min(times)
