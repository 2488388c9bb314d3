import threading


def pairwise_sq_dists(a: Tensor, b: Tensor) -> Tensor:
    """All at once, in a thread of its own."""
    found = []
    thread = threading.Thread(target=lambda: found.append((a[:, None] - b).square().sum(dim=-1)))
    thread.start()
    thread.join()
    return found[0]
