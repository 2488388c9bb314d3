"""The judge's side of a suite's tests: arguments cross to the submission as data, and so do results.

`grader.testkit.twins` is the far side, which explains twins. Nothing that comes from there is unpickled or run:
a result is a tree of tagged values, and whatever is no value stays there, as a handle.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import os
import re
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MethodType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch
from torch import nn

from grader.border import tables, wire
from grader.border.bounds import WireError
from grader.border.channel import Channel
from grader.border.failures import BadReply, MissingName, NoAnswer, SubmissionRaised
from grader.border.labels import surroundings
from grader.border.proxies import Call, FarObject, maker_of
from grader.suites import named_tuples
from grader.suites.attributes import Attributes
from grader.suites.contents import Contents
from grader.suites.exceptions import Exceptions, Exited, named, text_of
from grader.suites.graphs import leaves_of, with_graph
from grader.suites.passing import Passing
from grader.suites.sources import Variable
from grader.suites.surroundings import AroundTest
from grader.suites.twins import Twins
from grader.testkit import devices, twins
from grader.testkit.draws import Moment, draw
from grader.testkit.far.callbacks import tensors_in
from grader.testkit.far.contents import MUTABLE, is_shared
from grader.testkit.far.files import Beside
from grader.testkit.far.side import detached
from grader.testkit.generators import Generators
from grader.testkit.rebuilt import rebuilt

if TYPE_CHECKING:
    from grader.suites.handles import Handles

_NO_NAME: Final = re.compile(r"module '([\w.]+)' has no attribute '(?!__)(\w+)'")
_ITERATING: Final = ("next", "anext", "await")
_MOST_HELD: Final = 64
_MOST_CAUSES: Final = 4
_MOST_NAME: Final = 200
_MOST_PATH: Final = 4096
_MOST_SAID: Final = 1_000_000
_UNREADABLE: Final = (TypeError, ValueError, LookupError, AttributeError, RuntimeError, OSError, ArithmeticError)
running: Final[list[Bridge]] = []
"""The bridges of the checks that run; the innermost is the last. Without any, the suite is being collected."""


class Bridge:
    """The exchanges of one check of a suite with a submission.

    Args:
        root: the folder of the course: only files in it, and temporary ones of the test, are sent.
        handles: the proxies of objects that stay on the far side.
        exceptions: of the submission, as its tests know them.
        temporary: the folder of pytest, with one in it for each test.
        forwards_prints, forwards_logs: whether the test reads prints, or logs.

    Attributes:
        twins: tensors that both sides have.
        generators: random ones that both sides have.
        is_waiting: whether an answer has not come: then the process cannot be asked anything else.
        made: values that the suite has made of the submission's functions before there was a check, by their id.
        changed: kinds of arguments of the test that the submission has changed in place, and other uses that it `may`.
        keeps_arguments: whether the submission `may` do no more of that than the course's solution.
        by_solution: what this does.
        paths: those of the test that the submission has been given.
        beside: the current folder.
        stamps: the files at each when both sides last had the same.
        set_names: attributes that the test has set or deleted, of whatever object: one may be no method any more.
        signed: functions of the test whose parameters the submission knows.
        functions: the places of functions and classes in modules that the test has read.
        harmful: what a test was last refused to do: see `grader.suites.harm`.
        said: the texts that the submission has answered with, which may be paths.
        contents: what both sides may change.
        attributes: of objects of the submission, which need no exchange.
        classes: those of the test that were sent, by their whole names over there.
        has_functions: whether the submission has a function of the test, which an object of its may call later.
        endless: the numbers of iterators of the test whose end has not come yet.
    """

    def __init__(
        self,
        channel: Channel,
        root: Path,
        handles: Handles,
        exceptions: Exceptions,
        temporary: Path,
        forwards_prints: bool = False,
        forwards_logs: bool = False,
    ) -> None:
        self.channel = channel
        self.is_waiting = False
        self.made: dict[int, Any] = {}
        self.changed: set[str] = set()
        self.keeps_arguments = False
        self.by_solution: frozenset[str] = frozenset()
        self.root = root
        self.handles = handles
        self.twins = Twins(self.may)
        self.generators = Generators()
        self.set_names: set[object] = set()
        self.functions: set[Any] = set()
        self.signed: set[Any] = set()
        self.exceptions = exceptions
        self._forwards_prints = forwards_prints
        self._functions: dict[int, Callable[..., Any]] = {}
        self._methods: dict[tuple[int, Any], MethodType] = {}
        self.has_functions = False
        self.endless: set[int] = set()
        self._kinds_of_names: dict[Any, str] = {}
        self._kept: dict[int, object] = {}
        self._named_tuples: dict[Any, Any] = {}
        self._places: tuple[Path, ...] = (temporary.resolve(),)
        self._of_others = frozenset(self._places[0].iterdir())
        self.paths: dict[int, Path] = {}
        self.stamps: dict[int, dict[str, object]] = {}
        self.said: set[str] = set()
        self.classes: dict[str, type] = {}
        self.harmful: Exception | None = None
        self._raised: BaseException | None = None
        self._forwards_logs = forwards_logs
        self._moment: Moment | None = None
        self._surroundings = AroundTest()
        self._variables: dict[tuple[str, int], Variable] = {}
        self.contents = Contents(self._kept)
        self._released: list[int] = []
        self.wanted: dict[int, torch.Tensor | None] | None = None
        self.results: dict[int, tuple[torch.Tensor, list[torch.Tensor]]] = {}
        self.attributes = Attributes()
        self._turn = threading.RLock()

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """The suite's proxies speak to this submission meanwhile."""
        running.append(self)
        self.beside = Beside()
        self._stdout, self._stderr = sys.stdout, sys.stderr
        were_real, surroundings.real = surroundings.real, devices.real(1)
        try:
            self._ask(twins.begin, self._forwards_logs)  # before the test patches anything
            self.channel.record.clear()  # a test that skips itself now has asked nothing
            with self._surroundings.watching(), tempfile.TemporaryDirectory() as place:
                before, tempfile.tempdir = tempfile.tempdir, place  # the test's own files
                self._places = Path(place).resolve(), self._places[-1]
                try:
                    yield
                finally:
                    tempfile.tempdir = before
        finally:
            running.pop()
            surroundings.real = were_real
            self.exceptions.end()

    def may(self, operation: str) -> bool:
        """Whether something counts by which a submission has a say in the verdict of the test.

        It is a kind of argument that it changes in place, or an operation of its objects. First it does count. If the
        solution does not do so in this test, the test is run again, and then it does not.
        """
        self.changed.add(operation)
        return not self.keeps_arguments or operation in self.by_solution

    # ---------------------------------------------------------------- operations

    def run(self, operation: str, target: object, /, *args: object, _shown: Call | None = None, **kwargs: Any) -> Any:
        """The result of an operation on something of the submission.

        Raises:
            Exception: the submission's code has raised: a built-in exception, which `submissions` knows, or a
                `SubmissionRaised`.
        """
        with self._turn:  # of the test's threads
            return self._run(operation, target, *args, _shown=_shown, **kwargs)

    def read(self, method: Any) -> None:
        """Reads a method that was known to be one, because it is used for something else than a call."""
        late = method._late
        found = self.run("found", late) if type(late) is int else self.run("getattr", *late)
        self.handles.note_read(method, found)

    def _run(self, operation: str, target: Any, /, *args: object, _shown: Call | None, **kwargs: object) -> Any:
        for method in self.handles.to_find(target if operation == "call" else None):
            self.attributes.waiting.append((number := self.keep(method), "getattr", method._late))
            object.__setattr__(method, "_late", number)
        if operation == "call" and (late := self.handles.unread(target)):
            operation, target, args = "method", late[0], (late[1], *args)
        if operation in ("setattr", "delattr"):
            self.set_names.add(args[0])
        self.contents.forget_old()
        passing = Passing(self)
        waiting = self.attributes.waiting
        first = [(number, name, [passing.tree(one) for one in operands]) for number, name, operands in waiting]
        trees = passing.tree(target), [passing.tree(one) for one in args]
        named = [(name, passing.tree(one)) for name, one in kwargs.items()]
        settings = [*self._surroundings.changes(passing), *(("path", one) for one in passing.changed_paths())]
        settings += [("content", ("tuple", [("value", one), tree])) for one, tree in self._changed_here(passing)]
        settings += [("forget", ("value", one)) for one in self.contents.forgotten()]
        if self._reads_errors():
            settings.append(("stderr", ("value", None)))
        states = self._states()
        waiting.clear()
        if _shown is not None:
            self.channel.show(_shown)
        request = [operation, *trees, named, self.twins.pushes(), states, settings, self._may_ask(), first]
        while not request[-1]:  # as most of it is in most exchanges
            request.pop()
        try:
            reply = self._answered(passing, twins.run, *request)
        except SubmissionRaised as error:
            self._forward_prints()
            own, self._raised = self._raised, None
            known = self._as_known(error, passing)
            self._release()
            if own is not None and (text_of(own)[:200] == error.message[:200] or isinstance(own, AssertionError)):
                raise own from None  # the test's own function has raised it
            if isinstance(known, StopIteration) and operation not in _ITERATING and not self.may("StopIteration"):
                raise AssertionError("raises StopIteration, which would only end the test's loop") from None
            raise known from known.__cause__
        self._forward_prints()
        if isinstance(self._raised, AssertionError):  # and the submission has caught it
            own, self._raised = self._raised, None
            raise own
        with _reading:
            how, described, *done = reply
            if how == "exits":
                self._take(done, passing)
                raise Exited(described)
            result = self._take(done, passing, lambda: self._with_attributes(described, passing, target))
            self._release()  # also a list that the result has made known
        if _shown is not None:
            _shown.result, _shown.answered = _as_returned(result), True
            if isinstance(result, FarObject) and maker_of(result) is None:  # else a method that returns its own object
                object.__setattr__(result, "_made", _shown)
        return result

    def _release(self) -> None:
        while self._released:
            self.contents.release(self._released.pop())

    def _with_attributes(self, described: Any, passing: Passing, target: object) -> Any:
        """A result; the attributes that came along are its own, or others of the object that it is one of."""
        if described[0] != "with":
            return self._value(described, passing)
        result = self._value(described[1], passing)
        if described[2] is not None:
            attributes = {str(name): self._value(one, passing) for name, one in described[2]}
            self.attributes.know(result if isinstance(result, FarObject) else target, attributes)
        return result

    def _take(self, done: Sequence[Any], passing: Passing, read: Callable[[], Any] = lambda: None) -> Any:
        """Takes over the effects of an operation over there; its result is read before what may have it, too."""
        if not done:
            return read()
        changed, shared, pulls, written, logged, warned, drawn, complaint, modes, kept, released = (
            one or () for one in done
        )
        if complaint and self._reads_errors():
            sys.stderr.write(passing.local(str(complaint)))
        self._draw(drawn)
        self.twins.pull(pulls)
        for name, level, message in logged if self._forwards_logs else ():
            _logger(name).log(level, "%s", passing.local(message))
        for classes, message in warned:
            self._warn(classes, str(message))
        for number in kept:
            self.contents.share(number, passing.original(number))
        for number, now in changed:
            passing.change(number, self._value(now, passing))
        result = read()
        self._change(shared, passing)
        self._released += released
        passing.write(written)
        if modes and self.may("modes"):
            dtype, has_grad = modes
            torch.set_default_dtype(dtype)
            torch.set_grad_enabled(has_grad)
        return result

    def _ask(self, function: Callable[..., Any], *args: object) -> Any:
        self.is_waiting = True
        self.attributes.know(None, None)
        try:
            with self._surroundings.undone():
                answer = self.channel.request("call", (function, *args), {}, None)
        except (SubmissionRaised, NoAnswer, TypeError, WireError):  # the last two: nothing was sent
            self.is_waiting = False
            raise
        self.is_waiting = False  # an alarm of the test's own does not get here
        return answer

    def _states(self) -> list[tuple[int, Any]]:
        """The random generators that the test has used or seeded since the last exchange."""
        before, self._moment = self._moment, self._moment.now() if self._moment else Moment()
        numbers = range(3) if before is None else self._moment.changed_since(before)
        return [*((number, self._moment.sent(number)) for number in numbers), *self.generators.changed()]

    def _draw(self, drawn: Sequence[Any]) -> None:
        """Takes as many numbers from the test's random generators as the submission has taken from its own."""
        drawn = [*{one[0]: one for one in drawn}.values()]  # each once, whatever the submission says
        of_process = [one for one in drawn if one[0] in range(3)]
        self.generators.draw(drawn[len(of_process) :])
        if of_process and self._moment is not None and not Moment(self._moment).changed_since(self._moment):
            for one in of_process:
                draw(*one)
            self._moment = Moment()

    def _warn(self, classes: Sequence[str], message: str) -> None:
        kind = next(
            (one for name in classes if (one := self.exceptions.kind_of(name)) and issubclass(one, Warning)),
            UserWarning,
        )
        warnings.warn(kind(message), stacklevel=2)

    def _as_known(self, error: SubmissionRaised, passing: Passing) -> BaseException:
        """An exception as the test knows it: the built-in one itself, or one of a class of that name."""
        missing = _NO_NAME.fullmatch(error.message) if error.kind == "AttributeError" and not error.frames else None
        if missing and missing[1].partition(".")[0] not in sys.stdlib_module_names:
            return MissingName(missing[2], f"{missing[1].replace('.', '/')}.py")
        known: Any = None
        with _reading:
            facts, done = self._ask(twins.facts_of_raised)
            self._take(done, passing)
            facts = facts or [(error.message, [f"builtins.{error.kind}"], ("value", None), ("value", None))]
            for place, (text, classes, *given) in [*enumerate(facts[:_MOST_CAUSES])][::-1]:
                error.message = passing.local(error.message)
                one = SubmissionRaised(passing.local(str(text))) if place else error
                args, fields = (self._value(tree, Passing(self)) for tree in given)
                cause, known = known, self.exceptions.known(one, classes, args, fields)
                known.__cause__ = cause
        return error if known is None else known

    def _answer(self, asked: Sequence[Any], passing: Passing) -> tuple[str, Any]:
        """The answer of a function of the test, which the submission has called."""
        with _reading:
            number, args, kwargs, pulls, gone, shared, changed, has_grad = asked
            self.twins.pull(pulls)
            for one in gone:
                self.contents.release(one)
            for one in shared:
                self.contents.share(one, passing.original(one))
            self._change(changed, passing)
            values = [self._value(one, passing) for one in args]
            keywords = {str(name): self._value(one, passing) for name, one in kwargs}
            if number < 0:
                return "returned", ("value", self._gradients(-number, *values))
            function = self._functions[number]
        try:
            with torch.set_grad_enabled(bool(has_grad)):  # as around the call
                result = function(*values, **keywords)
            if number in self.endless and result == ():  # it is never asked again
                self.endless.remove(number)
            if inspect.iscoroutine(result):  # the test's own loop may be running in this thread
                with ThreadPoolExecutor(1) as thread:
                    result = thread.submit(asyncio.run, result).result()
            if isinstance(result, torch.Tensor) and result.grad_fn is not None and torch.is_grad_enabled():
                inputs = [one for one in tensors_in((values, keywords)) if one.requires_grad]
                key = self.twins.new_key()
                self.results[key] = result, inputs
                return "returned", ("graphed", key, detached(result))
            return "returned", passing.tree(result)
        except Exception as error:
            if not isinstance(self._raised, AssertionError):  # the first one counts
                self._raised = error
            return "raised", (*named(error), self.keep(error))

    def _gradients(self, number: int, grad: torch.Tensor) -> Any:
        """Gradients of a result of the test's own function, or of its loss: of its arguments, and of others by their
        key."""
        result, inputs = self.results[number]
        leaves = {key: one for key, one in self.twins.leaves() if not any(one is other for other in inputs)}
        own = [one for one in leaves_of(result) if not self.twins.has(one)]  # no business of the submission
        if own:
            torch.autograd.backward(result, grad, inputs=own, retain_graph=True)
        unknown = [*inputs, *leaves.values()]
        before, self.wanted = self.wanted, {}  # what is the submission's own has its gradients by now
        try:
            found = torch.autograd.grad(result, unknown, grad, retain_graph=True, allow_unused=True) if unknown else ()
        finally:
            self.wanted = before
        given, others = list(found[: len(inputs)]), zip(leaves, found[len(inputs) :], strict=True)
        return given, {key: one for key, one in others if one is not None}

    def differentiate(
        self, key: int, grad: torch.Tensor, inputs: Sequence[torch.Tensor], wanted: list[int] | None
    ) -> dict[int, torch.Tensor]:
        """Gradients of a result whose graph is on the far side, by the keys of twins.

        Args:
            inputs: the tensors that the gradients depend on, if they are to be differentiated again.
            wanted: the keys of the only tensors that have gradients; they are not added to theirs.
        """
        if self.attributes.waiting:
            self.run("get", None)
        passing = Passing(self)
        given = passing.tree(grad) if inputs else ("value", detached(grad))
        passing.inputs += inputs
        ask = (twins.differentiate, key, given, self.twins.pushes(), bool(inputs), wanted, self._may_ask())
        found, pulls = self._answered(passing, *ask)[1:]
        with _reading:
            self.twins.pull(pulls)
            return {number: self._value(one, passing) for number, one in found}

    def _may_ask(self) -> bool:
        """Whether the submission may call a function of the test: then it runs in a thread, which can wait."""
        return self.has_functions or bool(self.endless)

    def _answered(self, passing: Passing, *question: Any) -> Any:
        """The answer, after those of functions of the test that the submission has called."""
        reply = self._ask(*question)
        while reply[0] == "asks":
            answer = self._answer(reply[1:], passing)
            reply = self._ask(twins.resume, answer, self.twins.pushes(), self._changed_here(passing))
        return reply

    def saved_for(self, key: int) -> tuple[Any, ...]:
        """The values that a function with its graph on the far side has saved for its backward."""
        reply = self._ask(twins.saved_for, key)
        with _reading:
            return tuple(self._value(one, Passing(self)) for one in reply)

    def _reads_errors(self) -> bool:
        return self._forwards_prints or sys.stderr is not self._stderr

    def _forward_prints(self) -> None:
        if self._forwards_prints or sys.stdout is not self._stdout:
            sys.stdout.write(Passing(self).local(getattr(self.channel.transport, "take_prints", str)()))

    def kind_of(self, named: Any) -> str:
        """The name of the class of something by its name in a module over there; a class is of `type`."""
        if named._place not in self._kinds_of_names:
            try:
                self._kinds_of_names[named._place] = str(self.run("class", named))
            except SubmissionRaised:
                return ""
        return self._kinds_of_names[named._place]

    # ---------------------------------------------------------------- what both sides know

    def keep(self, value: object, function: Callable[..., Any] | None = None) -> int:
        """A number for an object, which is kept alive while the check runs, and for the function called by it."""
        if isinstance(value, MethodType):  # Python makes it anew each time
            value = self._methods.setdefault((id(value.__self__), value.__func__), value)
        self._kept[id(value)] = value
        if function or callable(value):
            self._functions[id(value)] = function or value  # type: ignore[assignment]
        return id(value)

    def kept(self, number: int) -> Any:
        """The object of this number."""
        return self._kept[number]

    def keep_changing(self, value: Any) -> int:
        """A number for an object or a variable of the test that both sides may change from now on."""
        if isinstance(value, Variable):
            value = self._variables.setdefault((value.name, id(value.home)), value)
        self.contents.have(number := self.keep(value))
        return number

    def _changed_here(self, passing: Passing) -> list[tuple[int, Any]]:
        """What the test has changed since both sides last had the same."""
        found = []
        for number, content in self.contents.changed():
            if not isinstance(self.kept(number), (Variable, *MUTABLE)):
                content = {name: one for name, one in content.items() if passing.can_cross(one)}
            if passing.can_cross(content):
                found.append((number, passing.tree(content)))
        return found

    def _change(self, changed: Sequence[Any], passing: Passing) -> None:
        """Takes over what both sides have as the submission has changed it."""
        for number, now in changed:
            value = self._value(now, passing)
            if self.contents.has(number):
                passing.change_shared(number, value)
                self.contents.have(number)
            elif isinstance(own := self._kept.get(number), nn.Module):
                passing.change_module(own, value)

    def folder_of(self, path: Path) -> Path | None:
        """The temporary folder, or file, of this test that a path is in; those of other tests are not its business."""
        whole = path.resolve()
        for place in self._places:
            inside = whole.relative_to(place).parts if whole.is_relative_to(place) else ()
            if inside and place / inside[0] not in self._of_others:
                return place / inside[0]
        return None

    # ---------------------------------------------------------------- results

    def _shared(self, number: int, value: Any) -> Any:
        """A list, set, dict or array of the submission: both sides keep it the same from now on."""
        if number >= 0 or number in self._kept or not is_shared(value):
            raise ValueError("no such number")
        self.contents.share(number, value)
        return value

    def _note_paths(self, values: Iterable[Any]) -> None:
        for one in values:
            if type(one) in (str, bytes) and len(one) < _MOST_PATH and len(self.said) < _MOST_SAID:
                self.said.add(os.fsdecode(one))

    def _value(self, tree: Any, passing: Passing) -> Any:
        """The value of a tree, as the far side describes results: its data alone is used."""
        tag, *rest = tree
        match tag:
            case "value":
                value = rest[0]
                self._note_paths(value.values() if type(value) is dict else (value,))
                if type(value) is str:
                    return str(passing.path(value)) if value[:1] == os.sep else passing.local(value)
                return value
            case "twin":
                return self.twins.value(rest[0])
            case "view":
                return passing.view(*rest)
            case "argument":
                return passing.original(rest[0])
            case "object":
                return self._kept[rest[0]]
            case "graph":
                return with_graph(self, rest[0], rest[1], passing.inputs)
            case "new":
                return self.twins.new_tensor(*rest)
            case "list" | "tuple":
                made = (self._value(one, passing) for one in rest[0])
                return list(made) if tag == "list" else tuple(made)
            case "set" | "frozenset":
                items = _hashed([self._value(one, passing) for one in rest[0]])
                return set(items) if tag == "set" else frozenset(items)
            case "dict":
                keys, values = ([self._value(one, passing) for one in part] for part in rest)
                return dict(zip(_hashed(keys), values, strict=True))
            case "shared":
                return self._shared(rest[0], self._value(rest[1], passing))
            case "rebuilt":
                return rebuilt(rest[0], [self._value(one, passing) for one in rest[1]])
            case "path":
                self._note_paths(rest)
                return passing.path(rest[0])
            case "handle":
                proxy = self.handles.proxy(*rest)
                return (self.exceptions.kind_of(str(rest[3])) or proxy) if len(rest) > 3 else proxy
            case "named":
                name, fields, special, parts = str(rest[0]), (*map(str, rest[1]),), (*map(str, rest[2]),), rest[3]
                if (kind := self._named_tuples.get((name, fields, special))) is None:
                    kind = self._named_tuples[name, fields, special] = named_tuples.class_of(
                        self, name, fields, special
                    )
                return kind(*(self._value(one, passing) for one in parts))
        raise ValueError("an unknown tag")


class _Reading:
    """An answer that cannot be read ends the process over there."""

    def __enter__(self) -> None:
        """Nothing is to be done before."""

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, _UNREADABLE):
            raise BadReply(f"sent an answer that cannot be read ({type(error).__name__})") from error


_reading: Final = _Reading()


def _logger(name: str) -> logging.Logger:
    """The test's logger of that name; for another name one that is not kept, below the nearest that there is.

    Raises:
        ValueError: the name is too long.
    """
    if len(name) > _MOST_NAME:
        raise ValueError("a long name")
    known, above = logging.root.manager.loggerDict, name
    while above:
        if isinstance(found := known.get(above), logging.Logger):
            break
        above = above.rpartition(".")[0]
    nearest = found if above and isinstance(found, logging.Logger) else logging.root
    if above == name:
        return nearest
    made = logging.Logger(name)
    made.parent = nearest
    return made


def _hashed(keys: list[Any]) -> list[Any]:
    """The keys of a dict or set.

    Raises:
        ValueError: so many have the same hash that to make it takes long.
    """
    if len(keys) > _MOST_HELD and wire.have_one_hash(keys):
        raise ValueError("many keys with the same hash")
    return keys


def _as_returned(value: Any) -> Any:
    """A result for messages: its arrays are copies, which a test does not change."""
    if isinstance(value, np.ndarray) or tables.is_table(value):
        return value.copy()
    if type(value) not in (list, tuple, dict) or len(value) > _MOST_HELD:
        return value
    items = map(_as_returned, value.values() if type(value) is dict else value)
    return dict(zip(value, items, strict=True)) if type(value) is dict else type(value)(items)
