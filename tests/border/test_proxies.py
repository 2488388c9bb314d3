"""Proxies: what a check does with a submission happens over there, and only data or handles come back."""

from __future__ import annotations

import io
import itertools
import operator
import random
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from judge_here import ServiceHere
from torch import Tensor

from grader.border import proxies
from grader.border.arena import Arena
from grader.border.channel import Channel
from grader.border.failures import ArgumentChanged, MissingName, SubmissionCrashed, SubmissionRaised
from grader.border.proxies import Remote, SubmissionProxy, maker_of
from grader.border.service import Service
from grader.testkit import observe, printed, recipes, value_and_grad
from grader.testkit.in_student_process import MODULES
from grader.testkit.show import show_call

SUBMITTED = Path(__file__).with_name("answers_of_every_kind.py").read_text(encoding="utf-8")


@pytest.fixture
def submission(tmp_path: Any) -> SubmissionProxy:
    module = ModuleType("work")
    file = tmp_path / "work.py"
    file.write_text(SUBMITTED)
    exec(compile(SUBMITTED, str(file), "exec"), module.__dict__)
    return SubmissionProxy(Channel(ServiceHere(Service(module, frozenset({str(file)}), modules=MODULES))))


def test_values_cross_both_ways_by_value(submission: SubmissionProxy) -> None:
    args, kwargs = submission.echo(1, [2.5, ("x", None)], key={"a": torch.float16})
    assert args == (1, [2.5, ("x", None)])
    assert kwargs == {"key": {"a": torch.float16}}


def test_tensors_arrive_as_copies_that_a_check_may_keep(submission: SubmissionProxy) -> None:
    x = torch.zeros(2)
    result = submission.add_(x)
    assert x.equal(torch.zeros(2))
    assert result.equal(torch.ones(2))
    assert type(result) is Tensor


def test_subclasses_come_back_as_handles_and_win_nothing(submission: SubmissionProxy) -> None:
    for handle, kind in ((submission.half(), "Number"), (submission.special(), "Special")):
        assert type(handle) is Remote
        for use in (operator.eq, operator.ne, operator.add, operator.floordiv, operator.pow, operator.and_):
            for pair in ((handle, 0.5), (0.5, handle)):
                with pytest.raises(AssertionError, match=f"returned a {kind} object where a plain value was expected"):
                    use(*pair)
        assert [handle] != [None]
        assert repr(handle) == f"<{kind}>"


def test_a_handle_is_used_over_there(submission: SubmissionProxy) -> None:
    stack = submission.Stack(10, 20)
    assert len(stack) == 2
    assert stack[1] == 20
    assert list(stack) == [10, 20]
    assert stack.size == 3
    assert stack(4) == 7
    stack.size = 5
    assert stack(4) == 9


def test_the_same_object_is_the_same_handle(submission: SubmissionProxy) -> None:
    stack = submission.Stack()
    assert stack.push(1) == stack
    assert submission.Stack() != stack
    assert submission.same(stack) == stack


def test_handles_and_functions_can_be_arguments(submission: SubmissionProxy) -> None:
    stack = submission.Stack(submission.Stack(1), 2)
    assert len(stack[0]) == 1
    assert submission.there(recipes.normal, (2,), 5).equal(recipes.normal((2,), 5))
    assert submission.echo(submission.same)[0][0] != submission.echo(submission.half)[0][0]


def test_a_handle_has_no_truth_and_no_hash(submission: SubmissionProxy) -> None:
    with pytest.raises(AssertionError, match="returned a Stack object where a plain value was expected"):
        bool(submission.Stack())
    with pytest.raises(TypeError):
        hash(submission.Stack())


def test_iteration_stops_where_it_breaks(submission: SubmissionProxy) -> None:
    seen = []
    with pytest.raises(RuntimeError, match="in the middle"):
        for item in submission.numbers():
            seen.append(item)
    assert len(seen) == 2


def test_an_iterator_of_the_submission_is_stepped_through(submission: SubmissionProxy) -> None:
    numbers = submission.numbers()
    assert next(numbers) == 1
    assert next(numbers).equal(torch.ones(1))
    with pytest.raises(RuntimeError, match="in the middle"):
        next(numbers)
    with pytest.raises(StopIteration):
        next(numbers)
    with pytest.raises(TypeError, match="is not an iterator"):
        next(submission.Stack(1))


def test_one_that_never_ends_is_a_crash(submission: SubmissionProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxies, "MOST_DRAWN", 1000)
    with pytest.raises(SubmissionCrashed, match="gave more than 1000 items, and no end"):
        list(submission.endless())
    assert list(itertools.islice(submission.endless(), 3)) == [1, 1, 1]


@pytest.mark.parametrize(
    "made", [(n * n for n in range(4)), map(abs, [0, -1, 4, 9]), iter([0, 1, 4, 9])], ids=["a", "b", "c"]
)
def test_an_iterator_is_drawn_here_and_is_a_generator_there(submission: SubmissionProxy, made: Any) -> None:
    assert submission.total(made) == [0, 14, "generator"]
    assert show_call(submission._channel.last) == "total(iter([0, 1, 4, 9]))"  # type: ignore[attr-defined]
    assert next(made, "nothing is left") == "nothing is left"
    assert submission.echo([iter("ab")], key=iter(()))[1]["key"] is not None


def test_an_iterator_may_be_observed_and_its_tensors_are_watched() -> None:
    module = ModuleType("work")
    exec(SUBMITTED, module.__dict__)
    arena = Arena.local()
    channel = Channel(ServiceHere(Service(module, frozenset(), modules=MODULES, arena=arena)), arena=arena)
    submission = SubmissionProxy(channel)
    assert observe(submission.total, iter([1, 2])).result == [1, 2, "generator"]
    submission.fill(iter([torch.zeros(2), torch.ones(2)]))
    with pytest.raises(ArgumentChanged, match=r"changed the tensor at \[0\] of its first argument in place"):
        channel.check_arguments()


def test_an_iterator_without_an_end_and_a_file_are_refused(submission: SubmissionProxy) -> None:
    with pytest.raises(TypeError, match="more than 100000 items: take some"):
        submission.total(itertools.count())
    with pytest.raises(TypeError, match="cannot pass a StringIO"):
        submission.total(io.StringIO("a"))


def test_what_a_call_prints_is_a_value(submission: SubmissionProxy, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(submission.greet, "Ada") == "Hello, Ada\nxxxxxxxxxx"
    assert capsys.readouterr().out == "Hello, Ada\nxxxxxxxxxx"  # a failure shows it all the same
    assert printed(submission.Stack(), 1) == ""
    with pytest.raises(ValueError, match="too few"):
        printed(submission.raises, "value")


def test_a_missing_name_is_said_when_it_is_called(submission: SubmissionProxy) -> None:
    function = submission.absent
    with pytest.raises(MissingName) as caught:
        function(1)
    assert caught.value.message == "absent"


@pytest.mark.parametrize(("name", "kind", "text"), [("value", ValueError, "too few"), ("key", KeyError, "'k'")])
def test_exceptions_are_their_builtin_type_and_the_submission_s(
    submission: SubmissionProxy, name: str, kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind) as caught:
        submission.raises(name)
    error = caught.value
    assert isinstance(error, SubmissionRaised)
    assert (error.kind, error.exact, error.message) == (kind.__name__, True, text)


def test_an_exception_class_of_their_own_is_no_builtin_type(submission: SubmissionProxy) -> None:
    with pytest.raises(SubmissionRaised) as caught:
        submission.raises("own")
    assert not isinstance(caught.value, ValueError)
    assert (caught.value.kind, caught.value.exact, caught.value.message) == ("MyError", False, "mine")


def test_exceptions_that_cannot_be_made_here_still_have_their_name(submission: SubmissionProxy) -> None:
    with pytest.raises(SubmissionRaised) as caught:
        submission.raises("unicode")
    assert caught.value.kind == "UnicodeDecodeError"
    assert caught.value.exact


def test_messages_are_bounded_and_unreadable_ones_said_to_be(submission: SubmissionProxy) -> None:
    with pytest.raises(SubmissionRaised) as caught:
        submission.raises("wordy")
    assert len(caught.value.message) == 2000
    with pytest.raises(SubmissionRaised) as caught:
        submission.unreadable()
    assert caught.value.message == "(its message cannot be read)"


@pytest.mark.parametrize("kind", ["exit", "interrupt", "memory"])
def test_what_ends_a_process_is_a_crash_that_no_check_swallows(submission: SubmissionProxy, kind: str) -> None:
    with pytest.raises(SubmissionCrashed) as caught:
        submission.raises(kind)
    assert not isinstance(caught.value, Exception)


def test_frames_are_the_students_own_lines(submission: SubmissionProxy) -> None:
    with pytest.raises(SubmissionRaised) as caught:
        submission.raises("value")
    (frame,) = caught.value.frames
    assert (frame.file, frame.function) == ("work.py", "raises")
    assert frame.line == SUBMITTED[: SUBMITTED.index('    raise {"value"')].count("\n") + 1


def test_too_deep_an_answer_is_a_crash(submission: SubmissionProxy) -> None:
    with pytest.raises(SubmissionCrashed, match="too big to look at"):
        submission.deep()


def test_what_is_no_value_cannot_be_passed(submission: SubmissionProxy) -> None:
    with pytest.raises(TypeError, match="a check cannot pass a Random to a submission"):
        submission.same(random.Random())


def test_observe_reports_what_a_value_cannot_carry(submission: SubmissionProxy) -> None:
    seen = observe(submission.add_, torch.zeros(2), y=[torch.ones(1)], eps=torch.ones(1))
    assert seen.result.equal(torch.ones(2))
    assert (seen.changed, seen.returned, seen.shares) == (("0",), "0", ("0",))
    assert (seen.torch_calls, seen.called) == (1, {"add_": 1})
    assert (seen.requires_grad, seen.is_leaf, seen.rng_used) == (False, True, False)


def test_an_object_is_observed_as_a_function_is(submission: SubmissionProxy) -> None:
    assert observe(submission.Stack(), 4).result == 7


def test_a_torch_function_cannot_be_hidden_from_an_observation(submission: SubmissionProxy) -> None:
    seen = observe(submission.hidden_softmax, torch.ones(3))
    assert seen.called == {"softmax": 1}


@pytest.mark.slow
def test_observing_imports_nothing_that_every_student_process_would_pay_for() -> None:
    code = (
        "import sys, torch; from grader.testkit import observation; before = set(sys.modules); "
        "observation.watch(torch.exp, [torch.ones(2)], {}); print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_observe_sees_the_global_generator_move(submission: SubmissionProxy) -> None:
    with torch.random.fork_rng(devices=[]):
        assert observe(submission.draws).rng_used


def test_gradients_are_taken_over_there(submission: SubmissionProxy) -> None:
    x, w = torch.tensor([2.0]), torch.tensor([5.0])
    seen = value_and_grad(submission.cube, x, w, wrt=(0, 1))
    assert seen.has_graph
    assert [grad is not None and grad.tolist() for grad in seen.grads] == [[60.0], [8.0]]
    part = value_and_grad(submission.with_square, x, part=1)
    assert (part.value.tolist(), [grad is not None and grad.tolist() for grad in part.grads]) == ([4.0], [[4.0]])
    cut = value_and_grad(submission.no_graph, x)
    assert (cut.has_graph, cut.grads) == (False, [None])


class Liar:
    """A transport whose other side sends what it likes."""

    def __init__(self, reply: bytes) -> None:
        self.reply = reply

    def call(self, request: bytes) -> bytes:
        return self.reply


@pytest.mark.parametrize(
    "tree",
    [
        5,
        ["ok"],
        ["ok", ["h", "one", "Linear"]],
        ["ok", ["f", "gram"]],
        ["ok", ["r", "os", "system"]],
        ["ok", 1, 2],
        ["raise", "ValueError", 1, "text", []],
        ["raise", "ValueError", True, "text", [["file"]]],
        ["passed"],
        ["report", "one waits", []],
        {"verdict": "passed"},
    ],
    ids=repr,
)
def test_a_reply_that_is_no_answer_is_a_crash(tree: Any) -> None:
    import msgspec

    submission = SubmissionProxy(Channel(Liar(msgspec.msgpack.encode(tree))))
    with pytest.raises(SubmissionCrashed):
        submission.gram(1)


@pytest.mark.parametrize("length", [-1, "3", True, 2.0])
def test_a_length_that_is_no_length_is_a_crash(length: object) -> None:
    import msgspec

    channel = Channel(Liar(msgspec.msgpack.encode(["ok", length])))
    with pytest.raises(SubmissionCrashed):
        len(Remote(channel, 0, "Stack"))


def test_an_object_of_a_recipe_knows_the_line_that_made_it(submission: SubmissionProxy) -> None:
    made = maker_of(submission.there(recipes.mlp, (4, 3), seed=1))
    assert made is not None and (made.name, made.args, made.kwargs) == ("recipes.mlp", ((4, 3),), {"seed": 1})
    stack = submission.Stack(10, 20)
    made = maker_of(stack)
    assert made is not None and (made.name, made.args) == ("Stack", (10, 20))
