from concurrent.futures import ThreadPoolExecutor


def pairwise_sq_dists(a: Tensor, b: Tensor) -> Tensor:
    """All at once, in a thread of a pool that is made for each call."""
    with ThreadPoolExecutor(2) as pool:
        squares = [pool.submit(lambda x=x: (x * x).sum(dim=-1)) for x in (a, b)]
        product = pool.submit(torch.matmul, a.double(), b.double().T)
        left, right = (square.result().double() for square in squares)
        return (left[:, None] + right - 2 * product.result()).clamp(min=0).to(a.dtype)
