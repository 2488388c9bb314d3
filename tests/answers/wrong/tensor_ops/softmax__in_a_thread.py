# verdict: failed
# message: torch's own
# misconception: calls_torch_softmax
# tell: torch's softmax
from concurrent.futures import ThreadPoolExecutor


def softmax(x: Tensor, dim: int) -> Tensor:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(torch.softmax, x, dim).result()
