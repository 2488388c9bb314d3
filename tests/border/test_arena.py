"""Memory shared with the judge: whatever a call does to the tensors that it was given is seen, and nothing else is."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from judge_here import ServiceHere
from torch import Tensor

from grader.border import arena as arenas
from grader.border import wire
from grader.border.arena import ARENA_BYTES, Arena
from grader.border.channel import Channel, WatchedArguments
from grader.border.failures import ArgumentChanged
from grader.border.messages import Missing, Request, Returned
from grader.border.proxies import SubmissionProxy
from grader.border.service import Service
from grader.testkit import observe, probes, tensors, value_and_grad
from grader.testkit.in_student_process import MODULES


class There:
    """A submission made of functions, as a check sees it."""

    def __init__(self, student: Arena | None = None, judge: Arena | None = None, **functions: Callable[..., Any]):
        module = ModuleType("work")
        vars(module).update(functions)
        student = student or Arena.local()
        service = Service(module, frozenset(), modules=MODULES, arena=student)
        self.channel = Channel(ServiceHere(service), arena=judge or student)
        self.proxy = SubmissionProxy(self.channel)

    def change(self, use: Callable[[SubmissionProxy], object], may_change: bool = False) -> str:
        """What a check is told that uses the submission; empty when it is told nothing."""
        self.channel.begin_example(may_change)
        use(self.proxy)
        try:
            self.channel.check_arguments()
        except ArgumentChanged as error:
            return str(error)
        return ""


def doubled_in_place(x: Tensor, **_: object) -> Tensor:
    return x.mul_(2)


X = torch.tensor([[0.0, 1.5], [2.0, 3.0]])


def test_the_first_element_that_changed_is_named() -> None:
    there = There(f=doubled_in_place)
    assert there.change(lambda s: s.f(X)) == "changed its first argument in place: element [0, 1] was 1.5 and is 3"
    assert X.equal(torch.tensor([[0.0, 1.5], [2.0, 3.0]])), "the judge's own tensor is another one"
    assert there.channel.last is not None and there.channel.last.name == "f"


def test_an_array_that_changed_is_named_as_a_tensor_is() -> None:
    def negated(x: Any) -> Any:
        return np.negative(x[1], out=x[1])

    x = np.array([[1, 2], [3, 4]], dtype=np.int16)[:, ::2]
    said = There(f=negated).change(lambda s: s.f([0, x]))
    assert said == "changed the tensor at [1] of its first argument in place: element [0, 0] was 1 and is -1"
    assert There(f=lambda x: x + 1).change(lambda s: s.f(x)) == ""


def test_an_exercise_may_be_to_change_its_arguments() -> None:
    assert There(f=doubled_in_place).change(lambda s: s.f(X), may_change=True) == ""


@pytest.mark.parametrize(
    ("use", "name"),
    [
        (lambda s: s.second(1, X), "its second argument"),
        (lambda s: s.named(eps=X), "its argument `eps`"),
        (lambda s: s.nested([(1, X), X], 0), "the tensor at [0][1] of its first argument"),
        (lambda s: s.nested([{"a": 1}, {"b": X, "c": X}], "c"), "the tensor at [1]['c'] of its first argument"),
        (lambda s: observe(s.f, X), "its first argument"),
        (lambda s: observe(s.named, eps=X), "its argument `eps`"),
        (lambda s: s.there(probes.forward_modes, s.through, s.Model(), X), "its second argument"),
        (lambda s: s.Model()(X), "its first argument"),
        (lambda s: s.Later(X)[0], "its first argument"),
    ],
)
def test_the_argument_is_named(use: Callable[[SubmissionProxy], object], name: str) -> None:
    class Model(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.mul_(2)

    class Later:
        def __init__(self, x: Tensor) -> None:
            self.x = x

        def __getitem__(self, index: int) -> float:
            return float(self.x.add_(1).sum())

    def nested(items: list[Any], key: Any) -> None:
        (items[1][key] if key else items[0][1]).add_(1)

    there = There(
        f=doubled_in_place,
        second=lambda n, x: x.mul_(2),
        named=lambda eps: eps.mul_(2),
        nested=nested,
        through=lambda model, x: model(x),
        Model=Model,
        Later=Later,
    )
    assert there.change(use).startswith(f"changed {name} in place: element [0, ")


def test_gradients_are_taken_of_the_very_arguments() -> None:
    def f(x: Tensor, w: Tensor) -> Tensor:
        w.detach().add_(1)
        return (x * w).sum()

    assert There(f=f).change(lambda s: value_and_grad(s.f, X, X)).startswith("changed its second argument in place")
    assert There(f=lambda x: (x * x).sum()).change(lambda s: value_and_grad(s.f, X)) == ""


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda x: x.t_(), "its shape, strides or dtype"),
        (lambda x: x.unsqueeze_(0), "its shape, strides or dtype"),
        (lambda x: x.requires_grad_(True), "its `requires_grad`"),
        (lambda x: setattr(x, "data", x.data + 1), "element [0, 0] was 0 and is 1"),
        (lambda x: x.share_memory_().add_(1), "element [0, 0] was 0 and is 1"),
        (lambda x: x.untyped_storage().share_memory_() and x.add_(1), "element [0, 0] was 0 and is 1"),
        (lambda x: x.numpy().fill(7), "element [0, 0] was 0 and is 7"),
        (lambda x: x.zero_().div_(0), "element [0, 0] was 0 and is nan"),
    ],
)
def test_what_changes_without_a_torch_call_of_its_own(act: Callable[[Tensor], object], words: str) -> None:
    def f(x: Tensor) -> None:
        act(x)

    assert There(f=f).change(lambda s: s.f(X)) == f"changed its first argument in place: {words}"


class Quiet(torch.Tensor):
    """Says of itself that it is as it was."""

    detach = clone = lambda self, *args, **kwargs: torch.zeros(2, 2)  # type: ignore[assignment]
    data_ptr = untyped_storage = storage = lambda self: 0  # type: ignore[assignment]
    stride = lambda self, *args: (2, 1)  # type: ignore[assignment]  # noqa: E731
    shape = property(lambda self: torch.Size((2, 2)))  # type: ignore[assignment]
    requires_grad = property(lambda self: False)  # type: ignore[assignment]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return torch.tensor([[0.0, 1.5], [2.0, 3.0]])


class Loud(torch.Tensor):
    """Raises at every look."""

    shape = dtype = requires_grad = property(lambda self: 1 / 0)  # type: ignore[assignment]

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise RuntimeError("not now")


class Raising(torch.Tensor):
    """Raises below torch's own methods, too."""

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise KeyboardInterrupt if func is torch.ops.aten.mul.Tensor else RuntimeError("not now")


def _attributes(x: Tensor, **values: object) -> None:
    x.data = x.data + 1
    vars(x).update(values)


def _becomes(x: Tensor, kind: Any) -> None:
    x.data = x.data + 1
    x.__class__ = kind


SECRETLY: dict[str, Callable[[Tensor], object]] = {
    "an attribute detach": lambda x: _attributes(x, detach=lambda: torch.tensor([[0.0, 1.5], [2.0, 3.0]])),
    "a detach that raises": lambda x: _attributes(x, detach=lambda: 1 / 0),
    "an attribute data_ptr": lambda x: _attributes(x, data_ptr=functools.partial(int, x.data_ptr())),
    "a data_ptr that raises": lambda x: _attributes(x, data_ptr=lambda: 1 / 0),
    "storages of another tensor": lambda x: _attributes(x, storage=X.storage, untyped_storage=X.untyped_storage),
    "a stride that raises": lambda x: _attributes(x, stride=lambda: 1 / 0),
    "a subclass that lies": lambda x: _becomes(x, Quiet),
    "a subclass that raises": lambda x: _becomes(x, Loud),
    "a tensor of a subclass": lambda x: torch.utils.swap_tensors(x, torch.Tensor._make_subclass(Raising, x + 1)),
}


@pytest.mark.parametrize("how", SECRETLY)
@pytest.mark.parametrize("observed", [False, True])
def test_a_change_is_seen_whatever_the_tensor_says_of_itself(how: str, observed: bool) -> None:
    def f(x: Tensor) -> None:
        SECRETLY[how](x)

    def use(submission: SubmissionProxy) -> None:
        if observed:
            assert observe(submission.f, X).changed == ("0",)
        else:
            submission.f(X)

    assert There(f=f).change(use).startswith("changed its first argument in place: ")


def test_facts_about_a_result_are_not_its_own_to_tell() -> None:
    def shares(x: Tensor) -> Tensor:
        result = x[:1]
        vars(result).update(untyped_storage=torch.ones(1).untyped_storage, is_leaf=False)
        return result

    def has_no_graph(x: Tensor) -> Tensor:
        result = x.detach().clone()
        vars(result).update(sum=lambda: 2 * x.sum())
        return result

    def overrides(x: Tensor) -> Tensor:
        result = (x * x).as_subclass(Quiet)
        vars(result).update(sum=lambda: 7 * x.sum())
        return result

    there = There(shares=shares, has_no_graph=has_no_graph, overrides=overrides)
    assert observe(there.proxy.shares, X).shares == ("0",)
    assert not value_and_grad(there.proxy.has_no_graph, X).has_graph
    (grad,) = value_and_grad(there.proxy.overrides, X).grads
    assert grad is not None and grad.equal(2 * X)


def test_facts_about_a_model_are_not_its_own_to_tell() -> None:
    def lies(model: Any) -> Any:
        for name in ("parameters", "named_parameters", "buffers", "modules", "named_modules", "state_dict"):
            setattr(model, name, lambda *args, **kwargs: iter(()))
        model.register_forward_pre_hook = lambda hook: None
        return model

    class Lying(torch.nn.Linear):
        __class__ = torch.nn.ReLU  # type: ignore[assignment]
        training = property(lambda self: False, lambda self, value: None)  # type: ignore[assignment]

    there = There(lies=lambda: lies(torch.nn.Linear(2, 1)), Lying=lambda: Lying(2, 1), run=lambda model, x: model(x))
    model = there.proxy.lies()
    assert list(there.proxy.there(probes.state, model)) == ["weight", "bias"]
    assert len(there.proxy.there(probes.weights, model)) == 2
    assert there.proxy.there(probes.training_flags, model) == {"": True}
    assert there.proxy.there(probes.model_grads, model) == {"weight": None, "bias": None}
    assert there.proxy.there(probes.forward_modes, there.proxy.run, model, X)["training"] == [True]
    assert not there.proxy.there(probes.is_a, there.proxy.Lying(), "torch.nn.ReLU")


@pytest.mark.parametrize("lie", [lambda: torch.zeros(2), lambda: 1 / 0])
def test_a_copy_and_the_memory_of_a_tensor_are_not_its_own_to_tell(lie: Callable[[], Tensor]) -> None:
    x = torch.ones(2)
    vars(x).update(detach=lie, clone=lie, zero_=lie, untyped_storage=lie)
    assert probes.copied(x).equal(torch.ones(2))
    probes.memory_of(x).zero_()
    assert x.tolist() == [0, 0]


@pytest.mark.parametrize(
    "start", [ARENA_BYTES, ARENA_BYTES - 64, ARENA_BYTES // 2 + 64, 1, -64, 1 << 62, "0", None, True]
)
def test_a_start_that_leaves_no_room_or_was_never_reached_counts_as_a_change(start: Any) -> None:
    watched = WatchedArguments(Arena.local())
    watched.restart(wire.pack(Returned(0)))
    watched.pass_on(Request("call", [["f", "f"], wire.encode(torch.zeros(1 << 20), str)], []), None)
    watched.restart(wire.pack(Returned(start)))
    watched.look_at(watched.pass_on(Request("call", [["f", "f"], wire.encode(X, str)], []), None))
    change = watched.first_change()
    assert change is not None and change.words == "changed the place of its first argument in memory"


@pytest.mark.parametrize("reply", [b"", b"\xff\xff", wire.pack(Missing("forget")), wire.pack(["returned", [1]])])
def test_a_reply_without_a_start_counts_as_a_change(reply: bytes) -> None:
    watched = WatchedArguments(Arena.local())
    watched.restart(reply)
    watched.look_at(watched.pass_on(Request("call", [["f", "f"], wire.encode(X, str)], []), None))
    assert watched.first_change() is not None


@pytest.mark.parametrize(
    "act",
    [
        lambda x: x.add_(1).sub_(1),
        lambda x: x.mul_(-1).abs_(),
        lambda x: setattr(x, "data", x.data.clone()),
        lambda x: x.t(),
        lambda x: x.share_memory_(),
        lambda x: None,
    ],
)
def test_what_is_as_it_was_has_not_changed(act: Callable[[Tensor], object]) -> None:
    def f(x: Tensor) -> None:
        act(x)

    assert There(f=f).change(lambda s: s.f(X)) == ""


DTYPES = (torch.float32, torch.int64, torch.bool, torch.uint8)


@pytest.mark.slow
@given(
    values=st.lists(st.sampled_from(DTYPES).flatmap(lambda dtype: tensors(((0, 4), (0, 4)), dtype=dtype)), max_size=4),
    at=st.data(),
)
def test_both_sides_count_the_same_places(values: list[Tensor], at: st.DataObject) -> None:
    """Any tensors in any nesting, several calls, with strides: only the one that was changed counts as changed."""
    which = at.draw(st.integers(0, 3))

    def f(items: list[Tensor], more: dict[str, Any]) -> None:
        if which < len(items) and items[which].numel():
            last = items[which][-1, -1]
            last.copy_(~last if last.dtype is torch.bool else torch.tensor(77))

    there = There(f=f, same=lambda *args, **kwargs: args)
    there.proxy.same(*values, extra=values)
    expected = which < len(values) and values[which].numel() > 0
    told = there.change(lambda s: s.f(values, {"more": values}))
    assert told.startswith(f"changed the tensor at [{which}] of") if expected else told == ""


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32, torch.uint64, torch.complex64, torch.bfloat16])
def test_dtypes_that_torch_hardly_knows(dtype: torch.dtype) -> None:
    x = torch.tensor([1, 2]).to(dtype)
    told = There(f=lambda x: x.copy_(torch.tensor([1, 3]).to(dtype))).change(lambda s: s.f(x))
    assert told.startswith("changed its first argument in place: element [1] was ")


def test_a_bool_that_is_neither() -> None:
    def f(x: Tensor) -> None:
        x.view(torch.uint8).fill_(2)

    assert There(f=f).change(lambda s: s.f(torch.tensor([True]))) == "changed its first argument in place"


def test_tensors_beyond_the_arena_are_passed_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arenas, "ARENA_BYTES", 1000)
    there = There(f=lambda x: x.add_(1), big=lambda x: x.sum())
    assert there.proxy.big(torch.ones(1000)) == 1000
    assert there.change(lambda s: s.f(X)) == ""


def test_memory_is_not_used_again_while_submitted_code_keeps_a_tensor() -> None:
    kept: list[Tensor] = []

    def remembers(x: Tensor) -> float:
        kept.append(x)
        return float(x.sum())

    there = There(f=remembers)
    for number in range(5):
        there.channel.restart()
        assert there.change(lambda s, n=number: s.f(torch.full((2, 2), float(n)))) == ""
    assert [float(x[0, 0]) for x in kept] == [0.0, 1.0, 2.0, 3.0, 4.0]
    kept.clear()
    for _ in range(2 * ARENA_BYTES // (4 << 20)):
        there.channel.restart()
        there.proxy.f(torch.zeros(1 << 20))
        kept.clear()
    there.channel.restart()
    assert there.channel.arguments is not None and there.channel.arguments._slots.next == 0


def test_the_judge_reads_memory_that_nobody_can_cut_short(tmp_path: Path) -> None:
    for judge, student in _pairs(tmp_path):
        there = There(student, judge, f=doubled_in_place)
        assert there.change(lambda s: s.f(X)).endswith("element [0, 1] was 1.5 and is 3")
        there.channel.restart()
        assert there.change(lambda s: s.f(torch.zeros(3))) == ""
        try:
            os.ftruncate(judge.descriptor, 0)
        except PermissionError:
            continue  # sealed
        assert judge.read(0, 64) == b""
        student.memory = None
        judge.close()
        judge.close()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, files have no seals")
@pytest.mark.parametrize("size", [0, ARENA_BYTES + 1])
def test_submitted_code_cannot_make_the_memory_shorter_or_longer(size: int) -> None:
    judge = Arena.create()
    with pytest.raises(PermissionError):
        os.ftruncate(judge.descriptor, size)
    judge.close()


def _pairs(folder: Path) -> list[tuple[Arena, Arena]]:
    by_descriptor = Arena.create()
    by_path = Arena.create(folder / "arguments")
    return [
        (by_descriptor, Arena.attach(os.dup(by_descriptor.descriptor))),
        (by_path, Arena.attach(folder / "arguments")),
    ]
