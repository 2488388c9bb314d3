"""A suite whose tests use the machine's own GPU: tensors cross on their device, both ways."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from shared import WarmUp

from grader.adopt.suite import adopt_suite
from grader.intake.submission import Submission

KERNELS = """
import torch
from torch import nn


def add(a, b):
    return {"sum": a + b, "device": a.device}


def square(x):
    return x**2


def scale_(x, k):
    x.mul_(k)
    return x


def to_best(x):
    return x.to("cuda" if torch.cuda.is_available() else "cpu")


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        return 3 * ctx.saved_tensors[0] ** 2 * grad


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, x):
        return self.layers(x)


class SGD(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.add_(p.grad, alpha=-group["lr"])


def move(model):
    return model.to("cuda")


def dropout(x, p):
    return x * (torch.rand_like(x) > p) / (1 - p)


def noise(n, generator):
    return torch.randn(n, device="cuda", generator=generator)
"""
TESTS = """
import pytest
import torch
from torch import nn

from kernels import SGD, Cube, Net, add, dropout, move, noise, scale_, square, to_best

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
D = "cuda"


@pytest.mark.parametrize("dtype", [torch.float16, torch.int64])
def test_add(dtype):
    a = torch.arange(3, device=D).to(dtype)
    found = add(a, a)
    assert found["device"].type == D and torch.equal(found["sum"], a + a)


def test_square():
    x = torch.randn(5, device=D, requires_grad=True)
    square(x).sum().backward()
    torch.testing.assert_close(x.grad, 2 * x.detach())


def test_scale():
    x = torch.ones(3, device=D)
    assert scale_(x, 3) is x and x.sum().item() == 9


def test_to_best():
    assert to_best(torch.ones(2)).is_cuda


def test_cube():
    assert torch.autograd.gradcheck(Cube.apply, (torch.randn(4, device=D, dtype=torch.float64, requires_grad=True),))


def test_net():
    model = Net().to(D)
    assert all(p.is_cuda for p in model.parameters())
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    x, y = torch.randn(8, 4, device=D), torch.randint(0, 2, (8,), device=D)
    losses = []
    for _ in range(3):
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[0] > losses[1] > losses[2]


def test_sgd():
    layer = nn.Linear(3, 1).to(D)
    optimizer = SGD(layer.parameters(), lr=0.5)
    layer(torch.ones(2, 3, device=D)).sum().backward()
    expected = layer.weight.detach() - 0.5 * layer.weight.grad
    optimizer.step()
    torch.testing.assert_close(layer.weight.detach(), expected)


def test_move():
    layer = nn.Linear(3, 1)
    assert move(layer) is layer and layer.weight.is_cuda
    assert layer(torch.ones(2, 3, device=D)).is_cuda


def test_dropout():
    x = torch.ones(100, device=D)
    torch.manual_seed(3)
    dropped, after = dropout(x, 0.3), torch.rand(3, device=D)
    torch.manual_seed(3)
    mask, expected = torch.rand_like(x) > 0.3, torch.rand(3, device=D)
    torch.testing.assert_close(dropped, x * mask / 0.7)
    assert torch.equal(after, expected)


def test_noise():
    generator = torch.Generator(D).manual_seed(0)
    drawn, after = noise(4, generator), torch.randn(4, device=D, generator=generator)
    generator.manual_seed(0)
    assert torch.equal(torch.randn(4, device=D, generator=generator), drawn)
    assert torch.equal(torch.randn(4, device=D, generator=generator), after)
"""
WRONG = {
    "add": ('"sum": a + b', '"sum": (a + b).cpu()'),
    "square": ("return x**2", "return 2 * x**2"),
    "scale": ("x.mul_(k)", "x = x * k"),
    "to_best": ("x.to(", "x.cpu() if x is not None else x.to("),
    "cube": ("return 3 *", "return 2 *"),
    "net": ("return self.layers(x)", "return self.layers(x.detach()) * 0"),
    "sgd": ("alpha=-", "alpha="),
    "dropout": ("torch.rand_like(x) > p", "(torch.rand_like(x), torch.rand_like(x))[1] > p"),
    "noise": (", generator=generator", ""),
    "move": ('model.to("cuda")', "model"),
}


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_tensors_cross_on_their_gpu(tmp_path: Path, warm: WarmUp) -> None:
    for name, text in (("tests/test_kernels.py", TESTS), ("tests/kernels.py", KERNELS)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    adopt_suite(tmp_path / "tests", ["kernels"], tmp_path / "course")
    worker = warm(tmp_path / "course", devices="real", check_seconds=60, topic_seconds=600)

    def not_passed(text: str) -> dict[str, str]:
        result = worker.of(Submission("somebody", {"kernels.py": text.encode()}))
        found = {check.name: check.message for one in result.exercises for check in one.checks}
        passed = {check.name for one in result.exercises for check in one.checks if check.verdict == "passed"}
        return {name: message for name, message in found.items() if name not in passed}

    assert not_passed(KERNELS) == {}
    for name, (old, new) in WRONG.items():
        assert KERNELS.count(old) == 1, name
        failed = not_passed(KERNELS.replace(old, new))
        assert {one.partition("[")[0] for one in failed} == {name}, (name, failed)
