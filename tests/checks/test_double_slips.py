"""Two mistakes at once: the first sentence about the failure names at least one of them, with its line.

The answers are made from the solutions: each mistake that a misconception says to see in code is a small change of the
syntax tree, and two such changes of one function, one after the other, make a submission.
"""

from __future__ import annotations

import ast
import functools
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from answer_files import course_at
from shared import WarmUp, as_nightly

from grader.course import Misconception, misconceptions_of
from grader.intake.submission import Submission
from grader.reports.feedback import what_happened
from grader.sandbox import kernel

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not kernel.SUPPORTED, reason="the sandbox needs Linux on x86_64 or aarch64"),
]

Change = Callable[[ast.AST], ast.AST | list[ast.stmt] | None]


def _text(node: ast.AST) -> str:
    return ast.unparse(node)


def _parsed(text: str) -> Any:
    return ast.parse(text, mode="eval").body


def _without(word: str) -> Change:
    """Leaves out statements that are a call with this name."""
    return lambda node: None if isinstance(node, ast.Expr) and f"{word}(" in _text(node) else node


def _unblocked(word: str) -> Change:
    """Leaves out the with statement, whose body stays."""
    return lambda node: node.body if isinstance(node, ast.With) and word in _text(node.items[0]) else node


def _flags_left(node: ast.AST) -> ast.AST | list[ast.stmt] | None:
    """Keeps no flags, and restores none."""
    if isinstance(node, ast.Try) and "training" in _text(node.finalbody[0]):
        return node.body
    return None if isinstance(node, ast.Assign) and ".training" in _text(node.value) else node


def _never_in_eval(node: ast.AST) -> ast.AST | list[ast.stmt] | None:
    left = _flags_left(node)
    return _without("eval")(left) if left is node else left


def _in_call(function: str, change: Callable[[ast.Call], None]) -> Change:
    def changed(node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Call) and _text(node.func).rpartition(".")[2] == function:
            change(node)
        return node

    return changed


def _with_keyword(function: str, name: str, value: str) -> Change:
    def change(call: ast.Call) -> None:
        call.keywords = [*(one for one in call.keywords if one.arg != name), ast.keyword(name, _parsed(value))]

    return _in_call(function, change)


def _without_keyword(function: str, name: str) -> Change:
    def change(call: ast.Call) -> None:
        call.keywords = [one for one in call.keywords if one.arg != name]

    return _in_call(function, change)


def _over_the_first_dim(call: ast.Call) -> None:
    call.args = [one for one in call.args if not isinstance(one, ast.Constant)]
    call.keywords = [ast.keyword("dim", ast.Constant(0))]


def _softmax(call: ast.Call) -> None:
    call.args[0] = _parsed(f"{_text(call.args[0])}.softmax(dim=1)")


def _forward(node: ast.AST) -> ast.AST:
    return _parsed(f"model.forward({_text(node.args[0])})") if _text(node).startswith("model(") else node  # type: ignore[attr-defined]


def _uncopied(node: ast.AST) -> ast.AST:
    match node:
        case ast.Call(ast.Attribute(ast.Name("copy"), "deepcopy"), [value]):
            return value
        case ast.Call(ast.Attribute(value, "clone"), []):
            return value
    return node


def _means_of_batches(node: ast.AST) -> ast.AST:
    match node:
        case ast.BinOp(left, ast.Mult(), ast.Call(ast.Name("len"))):
            return left
        case ast.BinOp(left, ast.Div(), ast.Name("count")):
            return _parsed(f"{_text(left)} / len(loader)")
    return _without_keyword("cross_entropy", "reduction")(node)  # type: ignore[return-value]


def _on_cuda(node: ast.AST) -> ast.AST:
    return _in_call("to", lambda call: setattr(call, "args", [ast.Constant("cuda")]))(node)  # type: ignore[return-value]


CHANGES: dict[str, tuple[str, Change]] = {
    "softmax_before_loss": ("cross_entropy(", _in_call("cross_entropy", _softmax)),
    "no_zero_grad": ("backward(", _without("zero_grad")),
    "no_train": ("", _without("train")),
    "no_eval": ("", _never_in_eval),
    "stays_in_eval": ("eval(", _flags_left),
    "no_no_grad": ("", _unblocked("no_grad")),
    "reads('forward')": ("forward", _forward),
    "no_copy": ("state_dict", _uncopied),
    "mean_of_batch_means": ("len(loader)", _means_of_batches),
    "hard_coded_cuda": ("'cuda'", _on_cuda),
    "keyword('momentum')": ("momentum", _with_keyword("SGD", "momentum", "0.9")),
    "keyword('weight_decay')": ("weight_decay", _with_keyword("SGD", "weight_decay", "0.1")),
    "passes('sum', 'reduction')": ("sum", _with_keyword("cross_entropy", "reduction", "'sum'")),
    "dim('argmax', 0)": ("argmax", _in_call("argmax", _over_the_first_dim)),
    "dim('softmax', 0)": ("softmax", _in_call("softmax", _over_the_first_dim)),
    "passes(True, 'pin_memory')": ("pin_memory", _with_keyword("DataLoader", "pin_memory", "True")),
    "keyword('drop_last')": ("drop_last", _with_keyword("DataLoader", "drop_last", "True")),
    "lacks('drop_last', 'batch_sampler', at='DataLoader')": (
        "DataLoader(",
        _without_keyword("DataLoader", "drop_last"),
    ),
    "lacks('num_workers', at='DataLoader')": ("DataLoader(", _without_keyword("DataLoader", "num_workers")),
    "lacks('drop_last', at='DistributedSampler')": ("Sampler(", _without_keyword("DistributedSampler", "drop_last")),
    "lacks('set_epoch', at='backward')": ("backward(", _without("set_epoch")),
    "lacks('map_location', at='load')": ("load(", _without_keyword("load", "map_location")),
}
"""For what a misconception says to see: words of the line where it is, and the change that makes the mistake."""


def _change_of(seen: str, function: ast.AST) -> Change:
    is_block = any(isinstance(one, ast.Yield) for one in ast.walk(function))
    return (
        _without("eval") if seen == "no_eval" and is_block else CHANGES[seen][1]
    )  # a block's flags are put back anyway


class _Changed(ast.NodeTransformer):
    def __init__(self, change: Change) -> None:
        self.change = change

    def visit(self, node: ast.AST) -> Any:
        return self.change(self.generic_visit(node))


def with_slips(topic: str, part: str, *seen: str) -> str:
    """The solution with these mistakes in one of its functions."""
    tree = ast.parse(course_at(None).solution_file(topic).read_bytes())
    changed = _part_with_slips(topic, part, *seen)
    assert changed is not None
    tree.body = [ast.parse(changed).body[0] if _is_part(node, part) else node for node in tree.body]
    return ast.unparse(tree)


def _part_with_slips(topic: str, part: str, *seen: str) -> str | None:
    """The function alone; None if one of the changes finds nothing to change."""
    text = _part_of(topic, part)
    for one in seen:
        tree = ast.parse(text)
        tree.body = [_Changed(_change_of(one, tree.body[0])).visit(tree.body[0])]
        before, text = text, ast.unparse(ast.fix_missing_locations(tree))
        if text == before:
            return None
    return text


@functools.cache
def _part_of(topic: str, part: str) -> str:
    tree = ast.parse(course_at(None).solution_file(topic).read_bytes())
    return next(ast.unparse(node) for node in tree.body if _is_part(node, part))


def _is_part(node: ast.stmt, part: str) -> bool:
    return isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == part


def pairs() -> Iterator[tuple[Misconception, Misconception]]:
    """The pairs of misconceptions of one function whose mistakes can be made together."""
    for topic in course_at(None).topics:
        known: dict[tuple[str, str], Misconception] = {}
        for one in misconceptions_of(course_at(None), topic.name):
            if one.seen in CHANGES:
                known.setdefault((one.exercise, one.seen), one)
        for one, other in itertools.combinations(known.values(), 2):
            orders = ((one.seen, other.seen), (other.seen, one.seen))
            is_one_function = one.exercise == other.exercise and one.part == other.part
            if is_one_function and all(_part_with_slips(topic.name, one.part, *order) for order in orders):
                yield one, other


ALWAYS = (
    ("softmax_before_cross_entropy", "no_zero_grad"),
    ("evaluate_leaves_eval_mode", "evaluate_with_softmax"),
    ("loss_is_a_mean_of_means", "evaluates_without_no_grad"),
    ("mean_of_batch_means", "never_back_to_train"),
    ("model_to_cuda", "sgd_with_momentum"),
)
"""Pairs that are in the ordinary suite."""
CASES = list(pairs())


def _case(pair: tuple[Misconception, Misconception]) -> Any:
    is_ordinary = any({one.name for one in pair} == {*names} for names in ALWAYS)
    return pair if is_ordinary else as_nightly(pair)


def test_there_are_many_pairs() -> None:
    assert len(CASES) > 50
    names = [{one.name for one in pair} for pair in CASES]
    assert all(set(pair) in names for pair in ALWAYS)


@pytest.mark.parametrize(
    ("one", "other"),
    [_case(pair) for pair in CASES],
    ids=[f"{one.exercise}-{one.name}-{other.name}" for one, other in CASES],
)
def test_the_first_sentence_names_one_of_two_mistakes(warm: WarmUp, one: Misconception, other: Misconception) -> None:
    course, topic = course_at(None), one.topic
    source = with_slips(topic, one.part, one.seen, other.seen)
    needed = {need.partition(".")[0] for each in course.topic(topic).exercises for need in each.needs}
    files = {f"{name}.py": course.solution_file(name).read_bytes() for name in needed}
    result = warm().of(Submission("two slips", files | {f"{topic}.py": source.encode()}), one.exercise)
    (exercise,) = [each for each in result.exercises if each.name == one.exercise]
    failing = [check for check in exercise.checks if check.verdict != "passed"]
    assert failing, source
    cause = failing[0].cause
    assert cause is not None
    if exercise.misconception or (cause.kind == "exception" and cause.frames):  # something certain is known
        return
    said = what_happened(exercise, failing[0])
    found = re.match(r"line (\d+): ", said)
    assert found, said
    line = source.splitlines()[int(found[1]) - 1]
    told = {" ".join(each.tell.split()): CHANGES[each.seen][0] for each in (one, other)}
    named = [words for tell, words in told.items() if said.startswith(f"{found[0]}{tell}")]
    assert named and named[0] in line, (said, line)
