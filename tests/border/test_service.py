"""The service in the process of submitted code: checks do not depend on each other, and it needs no module by name."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
import torch
from judge_here import ServiceHere

from grader.border.arena import Arena
from grader.border.channel import Channel
from grader.border.failures import ArgumentChanged, MissingName, SubmissionRaised
from grader.border.proxies import SubmissionProxy
from grader.border.service import Service
from grader.testkit import observe, probes, recipes, value_and_grad
from grader.testkit.in_student_process import MODULES


def channel_to(**functions: Callable[..., Any]) -> Channel:
    module = ModuleType("work")
    vars(module).update(functions)
    arena = Arena.local()
    return Channel(ServiceHere(Service(module, frozenset(), modules=MODULES, arena=arena)), arena=arena)


def draws() -> tuple[Any, ...]:
    numpy = pytest.importorskip("numpy")
    return torch.rand(2), random.random(), float(numpy.random.rand())


def seeds() -> None:
    torch.manual_seed(random.randrange(100))
    random.seed(5)


def test_every_check_begins_at_the_same_place_of_the_global_generators() -> None:
    first = channel_to(draws=draws, seeds=seeds)
    at_first = SubmissionProxy(first).draws()
    assert not torch.equal(at_first[0], SubmissionProxy(first).draws()[0])
    SubmissionProxy(first).seeds()
    first.restart()
    for again in (SubmissionProxy(first).draws(), SubmissionProxy(channel_to(draws=draws)).draws()):
        assert torch.equal(again[0], at_first[0])
        assert again[1:] == at_first[1:]


def test_it_answers_when_no_module_of_the_grader_can_be_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise ValueError("no")

    channel = channel_to(f=lambda x: x.add_(1), g=lambda x: (x * x).sum(), fails=fails)
    submission = SubmissionProxy(channel)
    for name in [name for name in sys.modules if name.partition(".")[0] == "grader"]:
        monkeypatch.delitem(sys.modules, name)
    x = torch.ones(2)
    assert submission.f(x).equal(x + 1)
    with pytest.raises(ArgumentChanged):
        channel.check_arguments()
    channel.restart()
    with pytest.raises(SubmissionRaised, match="no"):
        submission.fails()
    with pytest.raises(MissingName):
        submission.nothing()
    model = submission.there(recipes.model, "mlp", 0)
    assert submission.there(probes.state, model).keys()
    for module in ("grader.testkit.watching", "grader.border.failures", "grader.border.proxies"):
        assert module not in sys.modules, f"{module} was imported again"


def test_observations_run_there_without_a_look_up_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    channel = channel_to(g=lambda x: (x * x).sum())
    for name in [name for name in sys.modules if name.startswith("grader.testkit.")]:
        monkeypatch.delitem(sys.modules, name)
    assert observe(SubmissionProxy(channel).g, torch.ones(2)).torch_calls > 0
    assert value_and_grad(SubmissionProxy(channel).g, torch.ones(2)).grads[0] is not None
