# verdict: failed
# message: a subclass with another backward
# misconception: leaves_it_to_torch
# tell: torch's own backward


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        return x**3

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> Tensor:
        return grad_output

    @classmethod
    def apply(cls, x: Tensor) -> Tensor:
        return x**3
