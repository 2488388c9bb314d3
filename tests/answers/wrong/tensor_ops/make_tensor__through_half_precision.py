# verdict: failed
# message: returned


def make_tensor(values: Any) -> Tensor:
    return torch.tensor(values, dtype=torch.float16).float()
