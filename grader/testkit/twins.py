"""The far side of a suite's tests: makes real values of their arguments, calls the submission, and describes results.

Runs beside the submission, holds no expected answer and decides nothing. `grader.suites.bridge` is the judge's side.
A tensor that both sides have is a *twin*: its numbers and its gradient are compared before and after each call, and
what has changed is sent. A result with a graph stays here; its gradient is asked for by `differentiate`. A function of
the test is called by a message of its own: the submission waits for the answer in a thread.
"""

import contextlib
import importlib
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from io import StringIO
from typing import Any, Final

import torch
from torch.utils.data._utils import worker as loader_workers

from grader.border.labels import surroundings
from grader.testkit import devices
from grader.testkit.draws import set_state
from grader.testkit.far.arguments import Crossed, written
from grader.testkit.far.callbacks import Thread, wait
from grader.testkit.far.contents import forget, forget_old, released, set_content
from grader.testkit.far.operations import names_of, operation
from grader.testkit.far.results import beside, changed, changed_contents, describe, kept_of, note_read
from grader.testkit.far.side import FarSide, Log, here, pulls, sides, take

_backward, _import = torch.autograd.backward, importlib.import_module
_MOST_CAUSES: Final = 4
_MOST_NAMES: Final = 100
_NOTHING_AROUND: Final = contextlib.nullcontext(contextlib.ExitStack())


def begin(logs: bool) -> None:
    """Forgets the check before. The test and the submission use the GPUs of this machine, unless they are hidden.

    Args:
        logs: whether the test reads logs.
    """
    surroundings.real = devices.real(1)
    while sides:
        sides.pop().end()
    sides.append(FarSide(Log() if logs else None))


def resume(answer: Any, pushes: list[Any], contents: list[tuple[int, Any]]) -> Any:
    """Goes on with the innermost call that waits, whose question has been answered."""
    take(pushes)
    for number, tree in contents:
        _set_content(number, Crossed().build(tree))
    thread = here().waiting[-1]
    thread.answers.put(answer)
    return wait(thread)


def _set_content(number: int, content: Any) -> None:
    if number in here().contents:
        home, name, _ = here().contents[number]
        set_content(number, home, name, content)


def _enter(stack: contextlib.ExitStack, name: str, value: Any) -> None:
    """Makes something around a call be as it is around the test."""
    match name:
        case "grad":
            stack.enter_context(torch.set_grad_enabled(value))
        case "autocast":
            kind, dtype = value
            stack.enter_context(torch.autocast(kind, dtype=dtype))
        case "dtype":
            stack.callback(torch.set_default_dtype, torch.get_default_dtype())
            torch.set_default_dtype(value)
        case "worker":
            info = dict(zip(("id", "num_workers", "seed", "dataset"), value, strict=True))
            stack.callback(setattr, loader_workers, "_worker_info", loader_workers._worker_info)
            loader_workers._worker_info = loader_workers.WorkerInfo(**info)
        case "environ":
            before = {key: os.environ.get(key) for key in value}
            stack.callback(_set_environ, before)
            _set_environ(value)
        case "place":
            stack.callback(os.chdir, os.getcwd())
            value.mkdir(parents=True, exist_ok=True)
            os.chdir(value)
        case "stderr":
            stack.enter_context(contextlib.redirect_stderr(here().complaints))
        case "warnings":
            seen = stack.enter_context(warnings.catch_warnings(record=True))
            warnings.simplefilter(value)
            stack.callback(lambda: here().warned.extend((names_of(one.category), str(one.message)) for one in seen))
        case "content":
            _set_content(*value)
        case "forget":
            forget(value)
        case "patch":
            home, attribute, replaced = value
            owner = _import(home)
            stack.callback(setattr, owner, attribute, getattr(owner, attribute))
            setattr(owner, attribute, replaced)


def _modes() -> tuple[torch.dtype, bool]:
    return torch.get_default_dtype(), torch.is_grad_enabled()


def _set_modes(dtype: torch.dtype, has_grad: bool) -> None:
    torch.set_default_dtype(dtype)
    torch.set_grad_enabled(has_grad)


def _set_environ(values: dict[str, str | None]) -> None:
    for key, value in values.items():
        if value is None:
            os.environ.pop(key, None)
        else:
            os.environ[key] = value


def run(
    name: str,
    target: Any,
    args: Sequence[Any] = (),
    kwargs: Sequence[tuple[str, Any]] = (),
    pushes: Sequence[Any] = (),
    states: Sequence[tuple[int, Any]] = (),
    settings: Sequence[tuple[str, Any]] = (),
    may_ask: bool = False,
    first: Sequence[tuple[Any, ...]] = (),
) -> Any:
    """One operation on the submission.

    Args:
        states: those of random generators that have changed.
        settings: what else is as the test has set it.
        first: operations before it that run no code of the submission: a number for the result or 0, the name, and the
            operands.

    Returns:
        The result with attributes that come along, or the code of an exit. If there are any effects: the arguments,
        then what both sides have, and the twins that were changed, the files that were written, the logs, the warnings,
        how random generators were used, torch's modes, and the arguments that the submission keeps, and keeps no more.
        Or the question to a function of the test.
    """
    take(pushes)
    forget_old(here().contents, [key for key, (_, attribute, _) in here().contents.items() if not attribute])
    call = Crossed()
    for number, earlier, operands in first:
        found = operation(earlier)(*call.many(operands))
        if number:
            here().know(number, found)
    owner, values = call.build(target), [call.build(one) for one in args]
    named_values = {key: call.build(one) for key, one in kwargs}
    around = [(key, call.build(one)) for key, one in settings]
    side = here()
    for number, state in states:
        set_state(number, state) if number in range(3) else side.generators.set(number, state)
    if states:
        side.moment = side.moment.now()
    before = side.moment

    def work() -> tuple[Any, ...]:
        if name == "setattr" and isinstance(owner, type(sys) | type):
            side.replaced.append((owner, values[0], vars(owner).get(values[0], FarSide)))
        is_method, subject, operands = name == "method", owner, values[:]
        used, outside = "call" if is_method else name, _modes()
        call.count()
        try:
            with contextlib.ExitStack() if around else _NOTHING_AROUND as stack:
                for key, value in around:
                    _enter(stack, key, value)
                inside = _modes()
                try:
                    if is_method:  # which the test has read and used for nothing but this call
                        subject = getattr(owner, operands.pop(0))
                    if name == "delattr" and side.put_back(owner, *values):
                        results: list[Any] = [None]
                    else:
                        results = [operation(used)(subject, *operands, **named_values)]
                finally:
                    now = _modes()
                    side.modes = () if now == inside else now  # as the submission leaves them to the test
                    if now != outside:
                        _set_modes(*outside)
        except SystemExit as error:
            return "exits", error.code if type(error.code) in (int, str) else None, *done(changed(call.passed), ())
        except Exception as error:
            traceback.clear_frames(error.__traceback__)  # else they hold the arguments
            side.raised, side.done = error, done(changed(call.passed), call.kept())
            raise
        own = changed(call.passed)  # as the other side reads it: what is new is described once
        described = describe(results[0], call.passed, kept_of(used, results))
        if described[0] == "handle":
            described = "with", described, beside(results[0])
        elif used == "getattr":
            note_read(subject, operands[0])
            described = "with", described, beside(subject, operands[0])
        results.clear()
        return "returned", described, *done(own, call.kept())

    def done(own: Sequence[Any], kept: Sequence[int]) -> tuple[Any, ...]:
        """The effects of the operation beside its result."""
        logged = side.log.take() if side.log is not None else []
        warned, side.warned = side.warned, []
        side.moment = before.now()
        drawn = [*map(tuple, side.seeds.drawn(before, side.moment)), *side.generators.drawn()]
        if complaint := side.complaints.getvalue():
            side.complaints = StringIO()
        shared = [*changed_contents()]
        effects = own, shared, pulls(), written(), logged, warned, drawn, complaint, side.modes, kept, released()
        return tuple(one or None for one in effects) if any(effects) else ()

    return _work(work, may_ask, call)


def _work(work: Callable[[], Any], may_ask: bool, call: Crossed) -> Any:
    """The result, or the question to a function of the test."""
    if not may_ask:
        return here().context().run(work)
    thread = Thread(work, call.share)
    here().waiting.append(thread)
    thread.start()
    return wait(thread)


def _text_of(error: BaseException) -> str:
    with contextlib.suppress(Exception):
        return str(error)
    return ""


def _attributes(error: BaseException) -> dict[str, Any]:
    """The attributes of an exception, with the properties and methods of classes that are not Python's own."""
    names = [name for kind in type.mro(type(error)) if kind.__module__ != "builtins" for name in vars(kind)]
    found = {}
    for name in names if len(names) <= _MOST_NAMES else ():
        if not name.startswith("_"):
            with contextlib.suppress(Exception):
                found[name] = getattr(error, name)
    return found | dict(getattr(error, "__dict__", {}))


def facts_of_raised() -> Any:
    """Of the exception that was raised last, and of its causes: the text, the classes, arguments and attributes; and
    the effects of the operation before it raised, once."""
    error, done = here().raised, here().done
    here().done = ()
    found: list[tuple[Any, ...]] = []
    while error is not None and len(found) < _MOST_CAUSES:
        args, fields = getattr(error, "args", ()), _attributes(error)
        found.append((_text_of(error), names_of(type(error)), describe(args), describe(fields)))
        error = error.__cause__
    return found, done


def saved_for(key: int) -> Any:
    """The values that the function of a graph here has saved for its backward."""
    return [describe(one) for one in getattr(here().graphs[key].grad_fn, "saved_tensors", ())]


def differentiate(
    key: int, grad: Any, pushes: list[Any], keeps_graph: bool, wanted: list[int] | None, may_ask: bool
) -> Any:
    """The gradients that a result with a graph here has with respect to twins; others stay where they are.

    Args:
        keeps_graph: whether they have a graph themselves, for second derivatives.
        wanted: the keys of the only tensors that have gradients, by which none is changed; None means all.
    """
    take(pushes)
    twins = here().twins
    if wanted is None:
        leaves = {number: twin for number, twin in twins.items() if number > 0 and twin.is_leaf}
    else:
        leaves = {number: twins[number] for number in wanted}
    result, call = here().graphs[key], Crossed()
    given = call.build(grad)

    def work() -> Any:
        if keeps_graph or wanted is not None:
            needed = {number: twin for number, twin in leaves.items() if twin.requires_grad}
            settings = {"retain_graph": True, "create_graph": keeps_graph, "allow_unused": True}
            own = torch.autograd.grad(result, [*needed.values()], given, **settings) if needed else ()
            graphs = [(number, describe(one)) for number, one in zip(needed, own, strict=True) if one is not None]
            return "returned", graphs, pulls()
        before = {number: twin.grad for number, twin in leaves.items()}
        for twin in leaves.values():
            twin.grad = None
        _backward(result, given, retain_graph=True)
        found = [(number, ("value", twin.grad)) for number, twin in leaves.items() if twin.grad is not None]
        for number, twin in leaves.items():
            twin.grad = before[number]
        return "returned", found, pulls()

    def work_for_test() -> Any:
        here().differentiating.by_test = True
        try:
            return work()
        finally:
            here().differentiating.by_test = False

    return _work(work_for_test, may_ask, call)
