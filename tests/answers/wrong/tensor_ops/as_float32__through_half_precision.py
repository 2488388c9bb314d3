# verdict: failed
# message: Large whole numbers keep their values.


def as_float32(x: Tensor) -> Tensor:
    return x if x.dtype == torch.float32 else x.half().float()
