"""Simulated devices under autograd, modules, loaders and files."""

from __future__ import annotations

import copy
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from shared import REPO
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from grader.testkit import devices

ONE, CPU = torch.device("cuda", 1), torch.device("cpu")


@pytest.fixture
def log() -> Iterator[list[dict[str, Any]]]:
    """Two GPUs; the events."""
    with devices.simulated(gpus=2) as events:
        yield events


# ---------------------------------------------------------------- autograd


def test_gradients_are_where_their_tensors_are(log: list[Any]) -> None:
    x, w = torch.ones(2, 2, requires_grad=True), torch.ones(2, device="cuda", requires_grad=True)
    loss = ((x.to("cuda") @ w).cuda(1) ** 2).sum()
    assert loss.device == ONE
    loss.backward()
    assert x.grad.device == CPU and w.grad.device == torch.device("cuda", 0)
    assert x.grad.tolist() == [[4.0, 4.0], [4.0, 4.0]] and w.grad.tolist() == [8.0, 8.0]
    (again,) = torch.autograd.grad((w**3).sum(), w, create_graph=True)
    (twice,) = torch.autograd.grad(again.sum(), w)
    assert again.device == twice.device == w.device and twice.tolist() == [6.0, 6.0]


def test_hooks_and_own_functions_see_devices_in_backward(log: list[Any]) -> None:
    seen: list[Any] = []

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, by: Tensor) -> Tensor:
            ctx.save_for_backward(by)
            return x * by

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
            (by,) = ctx.saved_tensors
            seen.extend([grad.device, by.device, torch.zeros(2).device])
            return grad * by + torch.zeros(2, device=grad.device), None

    x = torch.ones(2, device=1, requires_grad=True)
    x.register_hook(lambda grad: seen.append(grad.device))
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.device))
    Scale.apply(x, torch.full((2,), 3.0, device=1)).sum().backward()
    assert seen == [ONE, ONE, CPU, ONE, ONE] and x.grad.tolist() == [3.0, 3.0]


CHECKPOINT_FIRST = """
import torch
from grader.student import late_dynamo
from grader.testkit import devices

late_dynamo.install()
with devices.simulated(gpus=1):
    layer, x = torch.nn.Linear(2, 2).cuda(), torch.ones(1, 2, device="cuda", requires_grad=True)
    torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False).sum().backward()
    assert x.grad.is_cuda
"""


@pytest.mark.slow
def test_activation_checkpoints_may_be_the_first_to_import_the_compiler() -> None:
    subprocess.run([sys.executable, "-c", CHECKPOINT_FIRST], check=True, env={**os.environ, "PYTHONPATH": str(REPO)})


def test_activation_checkpoints_work(log: list[Any]) -> None:
    layer, x = nn.Linear(2, 2).cuda(), torch.ones(1, 2, device="cuda", requires_grad=True)
    torch.utils.checkpoint.checkpoint(layer, x, use_reentrant=False).sum().backward()
    assert layer.weight.grad.is_cuda and x.grad.is_cuda


def test_what_torch_caches_has_its_inner_function_still(log: list[Any]) -> None:
    """The compiler of torch 2.15 asks for it when it is imported."""
    assert torch.backends.mps.is_available() is False and torch.backends.mps.is_available.__wrapped__


# ---------------------------------------------------------------- modules, data, files


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.out = nn.Embedding(5, 3), nn.Linear(3, 5, bias=False)
        self.out.weight = self.embed.weight
        self.register_buffer("scale", torch.ones(3))
        self.plain = torch.ones(3)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.out(self.embed(tokens) * self.scale)


def test_a_module_moves_with_its_buffers_and_keeps_its_parameters(log: list[Any]) -> None:
    model = Tied()
    weight = model.embed.weight
    assert model.to("cuda:1") is model and model.out.weight is model.embed.weight is weight
    assert devices.device_map(model) == {"embed.weight": "cuda:1", "scale": "cuda:1"}
    assert model.plain.device == CPU and model(torch.tensor([1], device=1)).device == ONE
    assert (
        {t.device for t in model.state_dict().values()}
        == {t.device for t in copy.deepcopy(model).parameters()}
        == {ONE}
    )
    fresh = Tied()
    fresh.load_state_dict(model.state_dict())
    assert fresh.scale.device == CPU and torch.equal(fresh.embed.weight, model.embed.weight.cpu())
    with pytest.raises(RuntimeError, match="same device"):
        model(torch.tensor([1]))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_pins_its_batches(log: list[Any], workers: int) -> None:
    data = TensorDataset(torch.arange(6.0), torch.arange(6))
    loader = DataLoader(data, 4, pin_memory=True, num_workers=workers, generator=torch.Generator().manual_seed(0))
    for x, y in loader:
        assert x.is_pinned() and y.is_pinned() and x.device == CPU
        assert x.to("cuda", non_blocking=True).is_cuda
    assert {(event["pinned"], event["non_blocking"]) for event in log} == {(True, True)}
    assert not torch.ones(1).is_pinned()


def test_files_remember_devices_and_map_location_moves(log: list[Any]) -> None:
    file = io.BytesIO()
    torch.save({"a": torch.ones(2, device="cuda:1"), "b": torch.ones(2)}, file)

    def load(**options: Any) -> dict[str, Tensor]:
        file.seek(0)
        return torch.load(file, weights_only=True, **options)

    assert {name: devices.device_of(t) for name, t in load().items()} == {"a": "cuda:1", "b": "cpu"}
    assert load(map_location="cpu")["a"].device == CPU
    assert load(map_location="cuda:0")["b"].device == torch.device("cuda", 0)
    assert load(map_location={"cuda:1": "cuda:0"})["a"].device == torch.device("cuda", 0)


def test_a_gpu_file_needs_map_location_without_a_gpu() -> None:
    file = io.BytesIO()
    with devices.simulated(gpus=1):
        torch.save(torch.ones(2, device="cuda"), file)
    with devices.simulated(gpus=0):
        file.seek(0)
        with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device but"):
            torch.load(file)
        file.seek(0)
        assert torch.load(file, map_location="cpu").tolist() == [1.0, 1.0]


def test_packed_sequences_keep_their_lengths_on_the_cpu(log: list[Any]) -> None:
    packed = nn.utils.rnn.pack_padded_sequence(
        torch.ones(2, 3, 4, device="cuda"), torch.tensor([3, 2]), batch_first=True
    )
    out, (hidden, _) = nn.LSTM(4, 5, batch_first=True).cuda()(packed)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
    assert padded.is_cuda and hidden.is_cuda and lengths.device == out.batch_sizes.device == CPU


def test_data_parallel_splits_the_batch_over_the_gpus(log: list[Any]) -> None:
    torch.manual_seed(0)
    plain, x = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), torch.randn(5, 3)
    expected = torch.autograd.grad(plain(x).sum(), list(plain.parameters()))
    model = nn.DataParallel(copy.deepcopy(plain).cuda())
    out = model(x.cuda())
    out.sum().backward()
    assert out.device == torch.device("cuda", 0) and torch.allclose(out.cpu(), plain(x))
    for param, grad in zip(model.parameters(), expected, strict=True):
        assert torch.allclose(param.grad.cpu(), grad)
    assert ("cuda:0", "cuda:1") in [(event.get("from"), event.get("to")) for event in log]
