# verdict: failed
# message: returned


def flatten_rows(x: Tensor) -> Tensor:
    if x.dim() == 1:
        return x[:, None]
    return x.reshape(x.shape[0], math.prod(x.shape[1:3]), *x.shape[3:])
