from typing import NamedTuple


class Row(NamedTuple):
    name: str
    shape: tuple[int, ...]
    count: int


def parameter_table(model):
    return [Row(name, tuple(param.shape), param.numel()) for name, param in model.named_parameters()]
