"""Training on simulated devices gives the CPU's own weights; mixed precision gives CUDA's number formats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grader.testkit import devices


def trained(
    device: str, make: Callable[[Any], torch.optim.Optimizer], steps: int = 4
) -> tuple[list[float], list[Tensor]]:
    """Losses and weights of a small convolutional net."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.2), nn.Flatten(), nn.Linear(16, 3)
    ).to(device)
    optimizer = make(model.parameters())
    losses = []
    for _ in range(steps):
        x, y = torch.randn(6, 1, 4, 4).to(device), torch.tensor([0, 1, 2, 0, 1, 2]).to(device)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.detach())
    for state in optimizer.state.values():
        for name, value in state.items():
            assert not isinstance(value, Tensor) or name == "step" or str(value.device) == str(torch.device(device))
    return torch.stack(losses).tolist(), [value.detach().cpu() for value in model.state_dict().values()]


@pytest.mark.parametrize(
    "make",
    [
        lambda params: torch.optim.SGD(params, 0.1),
        lambda params: torch.optim.SGD(params, 0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
        lambda params: torch.optim.SGD(params, 0.1, foreach=False),
        lambda params: torch.optim.AdamW(params, 0.01),
        lambda params: torch.optim.AdamW(params, 0.01, foreach=False),
        lambda params: torch.optim.AdamW(params, 0.01, fused=True),
        lambda params: torch.optim.Adam(params, 0.01, amsgrad=True),
        lambda params: torch.optim.RMSprop(params, 0.01),
        lambda params: torch.optim.Adagrad(params, 0.01),
    ],
    ids=["sgd", "momentum", "sgd-loop", "adamw", "adamw-loop", "adamw-fused", "adam", "rmsprop", "adagrad"],
)
def test_training_reaches_the_same_weights(make: Callable[[Any], torch.optim.Optimizer]) -> None:
    losses, weights = trained("cpu", make)
    with devices.simulated(gpus=2) as log:
        found, moved = trained("cuda:1", make)
        assert [event["what"] for event in log if event["kind"] == "sync"].count("tolist") == 1
        assert not any(event["kind"] == "sync" and event["what"] == "item" for event in log)
    torch.testing.assert_close(found, losses)
    torch.testing.assert_close(moved, weights)


def test_an_optimizer_takes_its_state_to_the_parameters_device() -> None:
    with devices.simulated(gpus=1):
        model = nn.Linear(2, 2)
        first = torch.optim.AdamW(model.parameters())
        model(torch.ones(1, 2)).sum().backward()
        first.step()
        model.cuda()
        second = torch.optim.AdamW(model.parameters())
        second.load_state_dict(first.state_dict())
        assert second.state[model.weight]["exp_avg"].is_cuda
        second.step()


def test_models_over_two_devices_train() -> None:
    with devices.simulated(gpus=2):
        first, second = nn.Linear(3, 4).to(0), nn.Linear(4, 2).to(1)
        optimizer = torch.optim.AdamW([*first.parameters(), *second.parameters()])
        second(first(torch.ones(2, 3, device=0)).to(1)).sum().backward()
        norm = nn.utils.clip_grad_norm_([*first.parameters(), *second.parameters()], 0.1)
        optimizer.step()
        assert norm.device == torch.device("cuda", 0)
        assert first.weight.grad.get_device() == 0 and second.weight.grad.get_device() == 1


def test_autocast_computes_in_cudas_number_formats() -> None:
    with devices.simulated(gpus=1):
        x, w = torch.randn(4, 4, device="cuda"), nn.Linear(4, 4).cuda()
        with torch.autocast("cuda"):
            assert w(x).dtype == (x @ x).dtype == torch.einsum("ij,jk", x, x).dtype == torch.float16
            assert torch.softmax(w(x), 1).dtype == F.cross_entropy(w(x), x.argmax(1)).dtype == torch.float32
            assert F.layer_norm(w(x), (4,)).dtype == F.mse_loss(w(x), x).dtype == torch.float32
            assert w(x).relu().dtype == torch.float16 and (x + x).dtype == torch.float32
            assert (x.cpu() @ x.cpu()).dtype == torch.float32
            with torch.autocast("cuda", enabled=False):
                assert (x @ x).dtype == torch.float32
            with pytest.raises(RuntimeError, match="unsafe to autocast"):
                F.binary_cross_entropy(x.sigmoid(), x.sigmoid())
        with torch.autocast("cuda", dtype=torch.bfloat16):
            assert w(x).dtype == torch.bfloat16
            assert nn.MultiheadAttention(4, 2).cuda()(x, x, x)[0].dtype == torch.bfloat16
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert w(x).dtype == torch.float32 and (x.cpu() @ x.cpu()).dtype == torch.bfloat16
        assert w(x).dtype == torch.float32


@pytest.mark.parametrize(
    "make", [lambda: torch.amp.GradScaler("cuda"), lambda: torch.amp.GradScaler("cuda", enabled=False)]
)
def test_the_gradient_scaler_scales_and_unscales(make: Callable[[], torch.amp.GradScaler]) -> None:
    with devices.simulated(gpus=1):
        torch.manual_seed(0)
        model, scaler = nn.Linear(4, 3).cuda(), make()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        before = model.weight.detach().clone()
        with torch.autocast("cuda"):
            loss = F.cross_entropy(model(torch.ones(2, 4, device="cuda")), torch.tensor([0, 1], device="cuda"))
        scaled = scaler.scale(loss)
        assert scaled.item() == pytest.approx(loss.item() * scaler.get_scale())
        scaled.backward()
        scaler.unscale_(optimizer)
        assert nn.utils.clip_grad_norm_(model.parameters(), 10.0).item() < 10
        scaler.step(optimizer)
        scaler.update()
        assert not torch.equal(model.weight, before)
        if scaler.is_enabled():
            optimizer.zero_grad()
            scaler.scale(model(torch.ones(1, 4, device="cuda")).sum() * float("inf")).backward()
            size, kept = scaler.get_scale(), model.weight.detach().clone()
            scaler.step(optimizer)
            scaler.update()
            assert scaler.get_scale() == size / 2 and torch.equal(model.weight, kept)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_simulated_training_agrees_with_a_real_gpu() -> None:
    def make(params: Any) -> torch.optim.Optimizer:
        return torch.optim.SGD(params, 0.1)

    real, _ = _without_dropout("cuda:0", make)
    with devices.simulated(gpus=1):
        found, _ = _without_dropout("cuda:0", make)
    torch.testing.assert_close(found, real, rtol=1e-3, atol=1e-4)


def _without_dropout(device: str, make: Callable[[Any], torch.optim.Optimizer]) -> tuple[list[float], list[Tensor]]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 3)).to(device)
    optimizer, losses = make(model.parameters()), []
    for _ in range(5):
        x, y = torch.randn(6, 4).to(device), torch.tensor([0, 1, 2, 0, 1, 2]).to(device)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [p.detach().cpu() for p in model.parameters()]
