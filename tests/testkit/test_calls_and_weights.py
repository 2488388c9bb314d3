"""Calls of torch that are counted, and weights that are put into a student's module: what a check asserts of both."""

from __future__ import annotations

from types import ModuleType

import pytest
import torch
from judge_here import ServiceHere

from grader.border.channel import Channel
from grader.border.proxies import SubmissionProxy
from grader.border.service import Service
from grader.testkit import assert_calls, load_weights, observe, probes
from grader.testkit.in_student_process import MODULES

SUBMITTED = """
import torch
from torch import nn

def exp_twice(x):
    return x.exp() * x.exp()

def total(numbers, settings):
    settings["seen"] = [*settings["seen"], len(numbers)]
    return sum(numbers.pop() for _ in range(len(numbers)))

def largest(numbers, settings):
    numbers[0] = float(numbers[0])
    return max(sorted(numbers), **settings)

class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(3, 2, bias=False)
        self.out = nn.ParameterDict({"bias": torch.zeros(2)})

class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.head = nn.Embedding(4, 2), nn.Linear(2, 4, bias=False)
        self.head.weight = self.tokens.weight
"""


@pytest.fixture
def submission() -> SubmissionProxy:
    module = ModuleType("work")
    exec(SUBMITTED, module.__dict__)
    return SubmissionProxy(Channel(ServiceHere(Service(module, frozenset(), modules=MODULES))))


@pytest.mark.parametrize(
    ("names", "at_most", "message"),
    [
        ((), 2, "3 calls of torch functions, where 2 are enough"),
        (("exp",), 0, "torch's exp was called: this exercise is done without it"),
        (("sin", "exp"), 1, "torch's exp ran 2 times, where at most 1 time is allowed"),
    ],
)
def test_too_many_calls_are_said_in_a_sentence(
    submission: SubmissionProxy, names: tuple[str, ...], at_most: int, message: str
) -> None:
    seen = observe(submission.exp_twice, torch.ones(3))
    with pytest.raises(AssertionError) as info:
        assert_calls(seen, *names, at_most=at_most)
    assert str(info.value) == message


def test_calls_within_their_limit_are_fine(submission: SubmissionProxy) -> None:
    seen = observe(submission.exp_twice, torch.ones(3))
    assert_calls(seen, at_most=3)
    assert_calls(seen, "exp", "mul", at_most=2)
    assert_calls(seen, "softmax", at_most=0)


def test_lists_and_dicts_that_a_call_changes_are_seen(submission: SubmissionProxy) -> None:
    assert observe(submission.total, [1, 2], {"seen": []}).changed == ("0", "1")
    assert observe(submission.largest, [1.0, 2.0], {}).changed == ()


SIZES = {"query.weight": (2, 3), "out.bias": (2,)}


def numbers(shapes: dict[str, tuple[int, ...]]) -> dict[str, torch.Tensor]:
    return {name: torch.full(shape, float(place + 1)) for place, (name, shape) in enumerate(shapes.items())}


@pytest.mark.parametrize("by_name", [True, False])
def test_weights_are_loaded_by_name_or_in_order(submission: SubmissionProxy, by_name: bool) -> None:
    module, weights = submission.Attention(), numbers(SIZES)
    load_weights(submission, module, weights if by_name else list(weights.values()))
    found = submission.there(probes.weights, module)
    assert all(map(torch.equal, found, weights.values()))
    assert len(found) == 2


def test_a_shared_weight_is_loaded_by_any_of_its_names(submission: SubmissionProxy) -> None:
    for name in ("head.weight", "tokens.weight"):
        module = submission.Tied()
        load_weights(submission, module, numbers({name: (4, 2)}))
        assert submission.there(probes.weights, module)[0].equal(torch.ones(4, 2))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({**SIZES, "quary.weight": (2, 3)}, "the module has no parameter `quary.weight`; did you mean `query.weight`?"),
        ({"query.weight": (2, 3)}, "the module has a parameter `out.bias`, which is one too many"),
        ({**SIZES, "out.bias": (3,)}, "`out.bias` has the shape (2,), where (3,) was expected"),
    ],
)
def test_other_parameters_are_said_in_a_sentence(
    submission: SubmissionProxy, weights: dict[str, tuple[int, ...]], message: str
) -> None:
    module = submission.Attention()
    with pytest.raises(AssertionError) as info:
        load_weights(submission, module, numbers(weights))
    assert str(info.value) == message


def test_too_few_weights_are_said_in_a_sentence(submission: SubmissionProxy) -> None:
    with pytest.raises(AssertionError, match="the module has 2 parameters where 1 was expected"):
        load_weights(submission, submission.Attention(), [torch.ones(2, 3)])
