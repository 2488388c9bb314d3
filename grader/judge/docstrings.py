"""The examples in docstrings: what they are, and, of a stub, as one more check of each exercise.

Such a check runs the lines of the stub's docstring with the submission's function. What comes back is compared here;
what is written below a line never leaves the judge. A right answer may round, print on the way, or return a
``torch.Size`` for a tuple: values are compared as checks do it, and text but for its white space and last digits.

These examples are no check, because right answers may differ in them or fail by another exercise's fault: those that
draw random numbers themselves, or use an exercise that theirs does not need, or a name that the stub does not have. A
command after ``$`` (``transcript``) is none either.
"""

import ast
import builtins
import doctest
import math
import re
from collections.abc import Collection, Iterator
from typing import Any, Final, NamedTuple

import msgspec
import torch

from grader.border.channel import channel_of
from grader.border.failures import MissingName, NotSimulatedHere, SubmissionRaised
from grader.border.proxies import Call, RemoteFunction, SubmissionProxy
from grader.border.wire import plain
from grader.course import Course, Exercise
from grader.course.source import names_bound_by, names_in, parse
from grader.testkit import devices
from grader.testkit.compare import assert_close
from grader.testkit.written_examples import begin, enter

PARSER: Final = doctest.DocTestParser()
CHECKER: Final = doctest.OutputChecker()
_GPUS: Final = re.compile(r"\bwith (\d+) GPUs?\b")
_RANDOM: Final = re.compile(
    r"(?:^|\.)(?:rand\w*|manual_seed|Generator|normal_?|uniform_?|bernoulli_?|multinomial|default_rng)$"
    r"|\.(?:shuffle|sample|choices?)$"
)
"""Functions that draw random numbers, or say which come next."""
_NUMBER: Final = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?")
_HISTORY: Final = re.compile(r", (?:grad_fn=<\w+>|requires_grad=True)")
"""What the text of a tensor says beside its values."""
_CLOSE: Final = 1.01e-4
"""One unit of the last digit that torch prints."""
_EXACT: Final = 2**53
"""From here on, not each int is a float."""
_LONGEST: Final = 160
"""Characters of a value in a sentence."""


class Docstring(msgspec.Struct, frozen=True):
    """A docstring; ``name`` is that of its function or class, with its class: ``Cube.forward``."""

    name: str
    text: str
    line: int

    def statements(self) -> list[doctest.Example]:
        """The statements after ``>>>``.

        Raises:
            ValueError: they are indented in a way that cannot be read.
        """
        return PARSER.get_examples(self.text)

    @property
    def gpus(self) -> int:
        """On how many simulated GPUs they run; 0 means that nothing is simulated."""
        *_, above = ("", *filter(str.strip, self.text.partition(">>>")[0].splitlines()))
        found = _GPUS.search(above)
        return int(found[1]) if found else 0


class Written(msgspec.Struct, frozen=True):
    """The examples of one docstring.

    Attributes:
        exercise: the exercise's name, without its topic.
        imports: the stub's own imports of names that they use.
        names: the names of the submission that they use.
    """

    exercise: str
    gpus: int
    imports: str
    names: tuple[str, ...]
    statements: tuple[doctest.Example, ...]


def docstrings_of(node: ast.Module | ast.FunctionDef | ast.ClassDef, name: str = "") -> Iterator[Docstring]:
    """The docstrings of a module, of its functions and classes, and of the methods of these."""
    match node.body:
        case [ast.Expr(ast.Constant(str(text)) as constant), *_]:
            yield Docstring(name, text, constant.lineno)
    for one in node.body if not isinstance(node, ast.FunctionDef) else ():
        if isinstance(one, ast.FunctionDef | ast.ClassDef):
            yield from docstrings_of(one, f"{name}.{one.name}" if name else one.name)


def written_examples(course: Course, exercise: Exercise) -> list[Written]:
    """The examples of a stub's exercise that are a check of it; none if the course wants none."""
    file = course.stub_file(exercise.topic)
    if not course.examples or not file.is_file():
        return []
    tree = parse(file)
    needed = course.with_needs([exercise.full_name])
    others = {one.name for one in course.topic(exercise.topic).exercises if one.full_name not in needed}
    found = [_written(tree, one, exercise.name, others) for one in docstrings_of(tree)]
    return [one for one in found if one is not None]


def _written(tree: ast.Module, docstring: Docstring, exercise: str, others: Collection[str]) -> Written | None:
    if docstring.name.partition(".")[0] != exercise:
        return None
    try:
        statements = docstring.statements()
        lines = ast.parse("".join(one.source for one in statements))
    except (ValueError, SyntaxError):  # `verify` reports it
        return None
    used = names_in(lines)
    own = {name for one in lines.body for name in names_bound_by(one)}
    own |= {one.arg for one in ast.walk(lines) if isinstance(one, ast.arg)}
    wanted = used - own - set(dir(builtins)) - {"torch"}
    imported = [one for one in tree.body if isinstance(one, ast.Import | ast.ImportFrom)]
    imports = {name: f"{ast.unparse(one)}\n" for one in imported for name in names_bound_by(one)}
    defined = {name for one in tree.body for name in names_bound_by(one)} - imports.keys()
    drawn = any(_RANDOM.search(ast.unparse(one.func)) for one in ast.walk(lines) if isinstance(one, ast.Call))
    if exercise not in used or drawn or wanted & set(others) or not wanted <= imports.keys() | defined:
        return None
    return Written(
        exercise=exercise,
        gpus=docstring.gpus,
        imports="".join(dict.fromkeys(imports[name] for name in sorted(wanted & imports.keys()))),
        names=tuple(sorted(wanted & defined)),
        statements=tuple(statements),
    )


# ---------------------------------------------------------------- as a check


def check_examples(submission: SubmissionProxy, examples: Collection[Written]) -> None:
    """Runs examples with a submission's functions.

    Raises:
        AssertionError: a line gives something else than what is written.
        SubmissionRaised: a line raises, and nothing of that is written.
    """
    for example in examples:
        _check(submission, example)


def _check(submission: SubmissionProxy, example: Written) -> None:
    channel = channel_of(getattr(submission, example.exercise))
    if example.gpus:
        submission.there(devices.start, example.gpus)
    names = [RemoteFunction(channel, name) for name in example.names]  # values stay over there
    try:
        prompt = channel.request("call", (begin, example.imports, list(example.names), *names), {}, None)
    except MissingName as error:
        if error.message == example.exercise:
            raise
        return  # a function beside the exercise, which the student may have named anew
    for statement in example.statements:
        line = " ".join(statement.source.split())
        channel.show(Call(example.exercise, (), {}, line=line))
        try:
            reply = channel.request("call", (enter, prompt, statement.source), {}, None)
        except SubmissionRaised as error:
            _check_raised(error, statement)
            continue
        if statement.exc_msg is not None:
            raise AssertionError(
                f"the example in the docstring raises nothing where {_short(statement.exc_msg)} is written"
            )
        if statement.want and not _fits(statement, came := _reply(reply)):
            shown = _short(came.shown or came.printed) or "nothing"
            words = f"the example in the docstring gives {shown} where {_short(statement.want)} is written"
            raise AssertionError(words)


class _Reply(NamedTuple):
    """What a line gave."""

    printed: str
    """All that was printed, also by the student's code."""
    prints: list[tuple[str, object]]
    """What the line itself has printed: the text, and the value that it is of."""
    shown: str
    """The text of its value."""
    value: object


def _reply(reply: object) -> _Reply:
    match reply:
        case (str(printed), list(prints), str(shown), value):
            return _Reply(printed, [(str(text), item) for text, item in prints], shown, value)
    raise AssertionError("this answer cannot be used")


def _check_raised(error: SubmissionRaised, statement: doctest.Example) -> None:
    """Fails unless the exception is of the type that is written: its words are for other checks to ask."""
    if statement.exc_msg is None or isinstance(error, NotSimulatedHere) or error.kind == "NotImplementedError":
        raise error
    kind, _, _ = statement.exc_msg.strip().partition(":")
    if error.kind != kind.rpartition(".")[2]:
        came = _short(f"{error.kind}: {error.message}")
        words = f"the example in the docstring raises {came} where {_short(statement.exc_msg)} is written"
        raise AssertionError(words) from error


def _fits(statement: doctest.Example, reply: _Reply) -> bool:
    """Whether what a line gave is what is written: as text, or as values."""
    rules = sum(rule for rule, is_on in statement.options.items() if is_on) | doctest.NORMALIZE_WHITESPACE
    wanted = statement.want
    lines = wanted.splitlines(keepends=True)
    own = "".join(text for text, _ in reply.prints)
    last = "".join(reply.printed.splitlines(keepends=True)[-len(lines) :])  # a student may print on the way
    for came in (reply.shown, own, last, reply.printed + reply.shown):
        if CHECKER.check_output(wanted, came, rules) or _same_text(came, wanted):
            return True
    if reply.shown:
        return _same_value(reply.value, wanted)
    if len(reply.prints) != len(lines):
        return False
    return all(
        _same_text(text, line) or _same_value(value, line)
        for (text, value), line in zip(reply.prints, lines, strict=True)
    )


def _same_value(value: object, wanted: str) -> bool:
    try:
        expected = eval(wanted, dict(_NAMES))  # the course's own text
        assert_close(_with_tuples(value), _with_tuples(expected), _CLOSE, _CLOSE)
    except Exception:  # it is no value, or another one
        return False
    return True


def _with_tuples(value: object) -> object:
    """The same value with a tuple for each list, and floats for ints: which of them it is, other checks ask."""
    value = plain(value)
    if type(value) is int and abs(value) < _EXACT:
        return float(value)
    if isinstance(value, list | tuple):
        return tuple(map(_with_tuples, value))
    return {key: _with_tuples(one) for key, one in value.items()} if isinstance(value, dict) else value


_NAMES: Final[dict[str, Any]] = {
    "torch": torch,
    "tensor": torch.tensor,
    "device": torch.device,
    "inf": math.inf,
    "nan": math.nan,
}
"""The names in the text of values."""


def _same_text(came: str, wanted: str) -> bool:
    """Whether two texts are equal but for white space and the last digits of their numbers."""
    one, other = (_HISTORY.sub("", text.replace("<BLANKLINE>", "")) for text in (came, wanted))
    if _squeezed(_NUMBER.sub("0", one)) != _squeezed(_NUMBER.sub("0", other)):
        return False
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return all(_same_number(*pair) for pair in pairs)


def _same_number(one: str, other: str) -> bool:
    if one.lstrip("+-").isdigit() and other.lstrip("+-").isdigit():
        return one == other
    return math.isclose(float(one), float(other), rel_tol=_CLOSE, abs_tol=_CLOSE)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _short(text: str) -> str:
    line = " ".join(text.split()).replace("[ ", "[").replace("( ", "(")
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
