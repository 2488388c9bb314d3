# verdict: failed
# message: returned


def gram(x: Tensor) -> Tensor:
    x32 = x.float()
    return (x32 @ x32.T).to(x.dtype)
