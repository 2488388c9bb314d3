"""Simulated devices: what a student may write, what torch would say, and what is recorded."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from grader.border.labels import surroundings
from grader.judge.in_process import LocalHost
from grader.testkit import devices

ONE, CPU = torch.device("cuda", 1), torch.device("cpu")


@pytest.fixture
def log() -> Iterator[list[dict[str, Any]]]:
    """Two GPUs; the events."""
    with devices.simulated(gpus=2) as events:
        yield events


def moves(log: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(event["from"], event["to"]) for event in log if event["kind"] == "transfer"]


def waits(log: list[dict[str, Any]]) -> list[str]:
    return [event["what"] for event in log if event["kind"] == "sync"]


# ---------------------------------------------------------------- naming and moving


@pytest.mark.parametrize("name", ["cuda:1", ONE, 1])
def test_every_way_to_name_a_device_means_the_same(log: list[Any], name: Any) -> None:
    x = torch.ones(2)
    for moved in (x.to(name), x.to(device=name), x.cuda(name), torch.ones(2, device=name), x.to(name, torch.float64),
                  torch.tensor([1.0], device=name), torch.zeros_like(x, device=name), x.new_zeros(2, device=name),
                  torch.as_tensor(x, device=name), torch.arange(3, device=name), x.to(torch.zeros(1, device=name)),
                  nn.Linear(1, 1).to(name).weight, nn.Linear(1, 1).cuda(name).bias,
                  nn.Linear(1, 1, device=name).weight):  # fmt: skip
        assert moved.device == ONE and moved.get_device() == 1 and moved.is_cuda
    assert x.device == CPU and x.get_device() == -1 and not x.is_cuda


def test_cuda_without_a_number_is_the_current_device(log: list[Any]) -> None:
    assert torch.zeros(1, device="cuda").device == torch.zeros(1).cuda().device == torch.device("cuda", 0)
    torch.cuda.set_device(1)
    assert torch.zeros(1, device="cuda").device == torch.zeros(1).cuda().device == ONE
    with torch.cuda.device(0):
        assert torch.cuda.current_device() == 0 == torch.zeros(1).cuda().get_device()
    assert torch.cuda.current_device() == torch.accelerator.current_device_index() == 1


def test_a_tensor_that_is_there_already_is_returned_itself(log: list[Any]) -> None:
    x = torch.ones(2, device="cuda:1")
    assert x.to("cuda:1") is x and x.cuda(1) is x and x.to(x) is x and x.to(torch.float32) is x
    assert x.to("cuda:1", copy=True) is not x
    assert moves(log) == []


def test_moves_copy_and_are_recorded_in_order(log: list[Any]) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    there = x.pin_memory().to("cuda", non_blocking=True)
    there.add_(1)
    back = there.cuda(1).cpu()
    assert back.tolist() == (x + 1).tolist()
    assert log == [
        {"kind": "transfer", "from": "cpu", "to": "cuda:0", "shape": (2, 3), "nbytes": 24, "non_blocking": True,
         "pinned": True, "what": "to"},
        {"kind": "transfer", "from": "cuda:0", "to": "cuda:1", "shape": (2, 3), "nbytes": 24, "non_blocking": False,
         "pinned": False, "what": "cuda"},
        {"kind": "transfer", "from": "cuda:1", "to": "cpu", "shape": (2, 3), "nbytes": 24, "non_blocking": False,
         "pinned": False, "what": "cpu"},
        {"kind": "sync", "what": "cpu", "device": "cuda:1"},
    ]  # fmt: skip


def test_reading_a_value_is_a_synchronisation(log: list[Any]) -> None:
    x = torch.ones(2, device="cuda")
    x.sum().item(), float(x[0]), bool(x[0] > 0), x.tolist(), x.nonzero(), x[x > 0], repr(x), f"{x[0]:.1f}"
    torch.cuda.synchronize()
    torch.cuda.current_stream().synchronize()
    assert waits(log) == ["item", "float", "bool", "tolist", "nonzero", "index", "print", "print", "synchronize",
                          "Stream.synchronize"]  # fmt: skip


def test_a_default_device_and_a_device_block_place_what_is_made_there(log: list[Any]) -> None:
    with torch.device("cuda:1"):
        assert nn.Linear(2, 2).weight.device == torch.zeros(2).device == torch.tensor([1.0]).device == ONE
        assert torch.zeros(2, device="cpu").device == CPU
    torch.set_default_device("cuda:1")
    assert torch.randn(2).device == ONE and torch.get_default_device() == ONE
    torch.set_default_device(None)
    assert torch.zeros(2).device == CPU


def test_a_generator_belongs_to_a_device(log: list[Any]) -> None:
    seeded = torch.Generator(device="cuda").manual_seed(1)
    assert torch.rand(2, generator=seeded, device="cuda").is_cuda
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"):
        torch.rand(2, generator=torch.Generator(), device="cuda")


def test_views_and_copies_stay_on_their_device(log: list[Any]) -> None:
    x = torch.ones(4, 4, device="cuda:1")
    for other in (x[0], x.T, x.view(-1), x.detach(), x.data, x.clone(), copy.deepcopy(x), nn.Parameter(x), x.real):
        assert other.device == ONE
    y = torch.zeros(2)
    y.data = x
    assert y.device == ONE


def test_what_a_gpu_tensor_shows(log: list[Any]) -> None:
    assert repr(torch.ones(2, device="cuda")) == "tensor([1., 1.], device='cuda:0')"
    assert repr(torch.ones(1, device="cuda").half()) == "tensor([1.], device='cuda:0', dtype=torch.float16)"
    assert str(nn.Parameter(torch.ones(1, device="cuda:1"))).endswith(
        "tensor([1.], device='cuda:1', requires_grad=True)"
    )
    assert torch.ones(1, device="cuda").type() == "torch.cuda.FloatTensor"


# ---------------------------------------------------------------- devices that meet


def test_a_0_dim_cpu_tensor_may_meet_a_gpu_tensor(log: list[Any]) -> None:
    x, half = torch.ones(2, device="cuda"), torch.tensor(0.5)
    assert (x * half).device == (half * x).device == torch.where(x > 0, x, half).device == x.device
    with pytest.raises(RuntimeError, match="cuda:0 and cpu!"):
        half.add_(x[0])
    with pytest.raises(RuntimeError, match="cpu and cuda:0!"):
        torch.ones(2) + x[0]
    with pytest.raises(RuntimeError, match="same device"):
        torch.stack([x[0], half])


def test_indices_may_be_on_the_cpu(log: list[Any]) -> None:
    x, index = torch.arange(4.0, device="cuda:1"), torch.tensor([2, 0])
    assert x[index].device == x[index.cuda(1)].device == ONE
    x[index] = 5.0
    x[1:2] = torch.tensor([7.0])
    assert x.tolist() == [5.0, 7.0, 5.0, 3.0]
    with pytest.raises(RuntimeError, match=r"indices should be either on cpu or on the same device .* \(cpu\)"):
        torch.ones(4)[index.cuda()]
    with pytest.raises(RuntimeError, match="same device"):
        x[index] = torch.ones(2)


@pytest.mark.parametrize(
    ("kind", "text", "run"),
    [
        (RuntimeError, "found at least two devices, cuda:0 and cpu!", lambda x: x + torch.ones(2)),
        (RuntimeError, "found at least two devices, cuda:0 and cuda:1!", lambda x: x + torch.ones(2, device=1)),
        (RuntimeError, "found at least two devices", lambda x: torch.add(x, x, out=torch.ones(2))),
        (TypeError, "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy", lambda x: x.numpy()),
        (TypeError, "can't convert cuda:0 device type tensor to numpy", lambda x: __import__("numpy").asarray(x)),
        (RuntimeError, "CUDA error: invalid device ordinal", lambda x: x.to("cuda:2")),
        (RuntimeError, "CUDA error: invalid device ordinal", lambda x: torch.ones(1, device=7)),
        (RuntimeError, "CUDA error: invalid device ordinal", lambda x: torch.cuda.set_device(2)),
        (RuntimeError, "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same",
         lambda x: nn.Conv1d(1, 1, 1).cuda()(torch.ones(1, 1, 2))),
        (RuntimeError, "found input tensor at cpu and parameter tensor at cuda:0",
         lambda x: nn.LSTM(2, 2).cuda()(torch.ones(1, 2))),
        (RuntimeError, "attempting to assign a gradient with device type 'cpu'",
         lambda x: setattr(x.requires_grad_(), "grad", torch.ones(2))),
        (RuntimeError, "only dense CPU tensors can be pinned", lambda x: x.pin_memory()),
        (RuntimeError, "not linked with support for mps", lambda x: x.to("mps")),
        (devices.NotSimulated, "a sparse GPU tensor is not simulated", lambda x: x.to_sparse()),
        (devices.NotSimulated, "torch.cuda.CUDAGraph is not simulated", lambda x: torch.cuda.CUDAGraph()),
        (devices.NotSimulated, "a torch.func transform is not simulated", lambda x: torch.vmap(lambda row: row * 2)(x)),
    ],
)  # fmt: skip
def test_what_torch_says(log: list[Any], kind: type[Exception], text: str, run: Any) -> None:
    with pytest.raises(kind) as raised:
        run(torch.ones(2, device="cuda"))
    assert text in str(raised.value)


def test_a_machine_without_gpus_says_so() -> None:
    with devices.simulated(gpus=0):
        assert not torch.cuda.is_available() and torch.cuda.device_count() == 0 and not torch.accelerator.is_available()
        for run in (lambda: torch.ones(1, device="cuda"), lambda: torch.ones(1).cuda(), lambda: nn.Linear(1, 1).to(0),
                    torch.cuda.current_device, torch.cuda.synchronize, torch.ones(1).pin_memory):  # fmt: skip
            with pytest.raises(RuntimeError, match="Found no NVIDIA driver on your system"):
                run()
        assert (torch.ones(2) + 1).sum().item() == 4 and torch.cuda.memory_allocated() == 0


def test_an_apple_gpu() -> None:
    with devices.simulated(gpus=0, mps=True) as log:
        assert torch.backends.mps.is_available() and not torch.cuda.is_available()
        x = torch.ones(2, device="mps")
        assert x.device == torch.device("mps", 0) and x.is_mps and (x @ x).item() == 2
        assert torch.accelerator.current_accelerator() == torch.device("mps")
        with pytest.raises(TypeError, match="doesn't support float64"):
            torch.ones(2, dtype=torch.float64).to("mps")
        torch.mps.synchronize()
        assert waits(log) == ["item", "synchronize"]


# ---------------------------------------------------------------- torch.cuda and its relatives


def test_torch_cuda_answers(log: list[Any]) -> None:
    assert torch.cuda.is_available() and torch.cuda.device_count() == torch.accelerator.device_count() == 2
    assert torch.cuda.get_device_name(1) and torch.cuda.get_device_properties(0).total_memory > 0
    assert torch.cuda.memory_allocated() == torch.cuda.max_memory_allocated() == 0
    assert torch.accelerator.is_available() and torch.accelerator.current_accelerator().type == "cuda"
    torch.cuda.empty_cache(), torch.cuda.manual_seed(1), torch.manual_seed(1), torch.cuda.reset_peak_memory_stats()
    assert torch.get_device_module("cuda") is torch.cuda and torch.cuda.is_bf16_supported()


def test_streams_and_events_do_nothing_but_keep_time(log: list[Any]) -> None:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    stream = torch.cuda.Stream()
    start.record()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        x = torch.ones(2).to("cuda", non_blocking=True)
        x.record_stream(stream)
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) >= 0 and end.query() and x.is_cuda


def test_events_keep_the_time_of_their_own_gpu_and_must_be_waited_for(log: list[Any]) -> None:
    devices.keep_time(lambda device: {"cuda:0": 1.0, "cuda:1": 7.5}[device])
    first, other, last = (torch.cuda.Event(enable_timing=True) for _ in range(3))
    first.record()
    with torch.cuda.device(1):
        other.record()
    last.record(torch.cuda.current_stream(torch.device("cuda", 1)))
    with pytest.raises(RuntimeError, match="device not ready"):
        first.elapsed_time(last)
    torch.cuda.synchronize(0)
    with pytest.raises(RuntimeError, match="device not ready"):
        first.elapsed_time(last)
    other.synchronize()
    assert first.elapsed_time(last) == 6500.0 and other.elapsed_time(last) == 0.0


def test_how_torch_was_built_says_nothing_about_the_machine() -> None:
    with devices.simulated(gpus=0):
        assert torch.backends.cuda.is_built() and torch.backends.mps.is_built() and torch.version.cuda
        assert not torch.cuda.is_available() and not torch.backends.mps.is_available()


def test_names_that_were_imported_before_answer_too() -> None:
    from torch.accelerator import current_accelerator
    from torch.cuda import Event, current_device, device_count, is_available, synchronize

    with devices.simulated(gpus=3):
        event = Event(enable_timing=True)
        event.record()
        synchronize()
        assert event.elapsed_time(event) == 0
        assert is_available() and device_count() == 3 and current_device() == 0
        assert current_accelerator() == torch.device("cuda")


def test_everything_is_as_before_afterwards() -> None:
    before = {
        name: value
        for module in (torch.cuda, torch._C, torch, torch.accelerator)
        for name, value in vars(module).items()
    }
    with devices.simulated():
        torch.set_default_device("cuda")
        kept = torch.ones(1)
    after = {
        name: value
        for module in (torch.cuda, torch._C, torch, torch.accelerator)
        for name, value in vars(module).items()
    }
    assert all(after[name] is value for name, value in before.items()) and after.keys() == before.keys()
    assert torch.get_default_device() == CPU and torch.zeros(1).device == kept.device == CPU
    assert threading.Thread.run.__module__ == "threading"
    assert devices.device_of(kept) == "cuda:0"


def test_threads_see_the_same_devices(log: list[Any]) -> None:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(torch.ones(1, device="cuda:1").device))
    thread.start()
    thread.join()
    assert found == [ONE]


# ---------------------------------------------------------------- real ones beside them


def test_the_machines_own_gpus_are_counted_before_others_are_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """`start` itself runs on the machine of the check before it: torch must not count that one's GPUs."""
    monkeypatch.setattr(devices, "_chosen", ["real"])
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    devices._own_gpus.cache_clear()
    try:
        found = []
        for gpus in (2, 2, 1, 5, 1, 0):
            with surroundings.enter():
                devices.start(gpus=gpus)
            found.append(surroundings.real)
        assert found == [False, False, True, False, True, False]
    finally:
        devices.stop()
        devices._own_gpus.cache_clear()


def test_a_default_device_that_was_set_on_real_gpus_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_chosen", ["real"])
    monkeypatch.setattr(devices, "_own_gpus", lambda: 1)
    devices.start(gpus=1)
    with surroundings.enter():
        torch.set_default_device("meta")
    devices.start(gpus=1)
    after = torch.get_default_device()
    devices.stop()
    assert surroundings.real is False and after == torch.get_default_device() == torch.device("cpu")


def test_devices_of_the_reference_are_not_left_to_the_judge(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The solution runs in the judge's process: what arrives of a student afterwards may be on a simulated GPU."""
    monkeypatch.setattr(devices, "_chosen", ["real"])
    monkeypatch.setattr(devices, "_own_gpus", lambda: 1)
    (tmp_path / "work.py").write_text("")
    topic = LocalHost(tmp_path).open_topic("work", {"work.py": b""}, None)
    process = topic.start_afresh()
    assert process.finish_import(topic.deadline(20.0)) is None
    devices.start(gpus=1)
    assert surroundings.real
    process.end()
    assert not surroundings.real
