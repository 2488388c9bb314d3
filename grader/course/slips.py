"""Mistakes that are seen in the text of an answer, as the ``seen`` of a misconception names them. Runs nothing of it.

A matcher returns the line of the mistake, or 0. It must return 0 for every right answer, however that is written, and
so wherever it cannot know. A course may have more of them, as functions in its ``checks/slips.py``.
"""

import ast
import contextlib
import functools
import importlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from grader.course.answer_code import AnswerCode, PlacedNode, dotted, is_named, names_of
from grader.course.model import Course
from grader.course.source import Misconception, names_in
from grader.errors import did_you_mean

Matcher = Callable[..., int]

_COLLECTIVES: Final = (
    *("barrier", "monitored_barrier", "all_reduce", "reduce", "broadcast", "broadcast_object_list", "scatter"),
    *("gather", "all_gather", "all_gather_object", "all_gather_into_tensor", "gather_object", "scatter_object_list"),
)
_VIEWS: Final = ("flatten", "ravel", "reshape", "view", "T", "mT", "t", "transpose", "permute")
"""What gives the dims of a tensor another meaning."""
_MODULES: Final = ("self", "model", "module", "net", "network", "layer")
"""Names of what ``to`` moves in place."""


# ---------------------------------------------------------------- of any mistake


def calls(answer: AnswerCode, *names: str, unless: Collection[str] = ()) -> int:
    """One of the functions or methods is called, and none of the names in `unless` occurs."""
    return 0 if answer.mentions(*unless) else _first(answer.calls(*names))


def call_in_loop(answer: AnswerCode, *names: str) -> int:
    """One of the functions is called in a loop."""
    return _first(one for one in answer.calls(*names) if one.loops)


def reads(answer: AnswerCode, *names: str) -> int:
    """A variable or an attribute with one of the names occurs."""
    kinds = (ast.Name, ast.Attribute)
    return _first(one for one in answer.places if isinstance(one.node, kinds) and names_of(one.node) & {*names})


def lacks(answer: AnswerCode, *names: str, at: str = "") -> int:
    """None of the names occurs. With `at`, a function that must be called: the line of its first call."""
    if not answer.is_closed or answer.mentions(*names):
        return 0
    return _first(answer.calls(at)) if at else answer.first_call


def passes(answer: AnswerCode, value: object, *names: str, unless: Collection[str] = ()) -> int:
    """A call has just this value as an argument; if there are names, as the keyword argument of one of them."""
    for one in () if answer.mentions(*unless) else answer.places:
        if isinstance(one.node, ast.Call):
            given = [each.value for each in one.node.keywords if not names or each.arg in names]
            for each in [*given, *(() if names else one.node.args)]:
                if isinstance(each, ast.Constant) and (type(each.value), each.value) == (type(value), value):
                    return one.line
    return 0


def keyword(answer: AnswerCode, name: str) -> int:
    """A call has this keyword, with another value than 0, None or False."""
    for one in answer.places:
        for each in one.node.keywords if isinstance(one.node, ast.Call) else ():
            if each.arg == name and _value(each.value):
                return one.line
    return 0


def dim(answer: AnswerCode, name: str, wrong: int | None) -> int:
    """A function such as argmax or softmax gets this dim, not of another view of a tensor; None stands for no dim."""
    for one in answer.calls(name):
        assert isinstance(one.node, ast.Call)
        if any(isinstance(each, ast.Attribute) and each.attr in _VIEWS for each in ast.walk(one.node)):
            continue
        is_method = isinstance(one.node.func, ast.Attribute) and dotted(one.node.func.value) not in ("torch", "F")
        given = [each.value for each in one.node.keywords if each.arg in ("dim", "axis")]
        given = given or one.node.args[0 if is_method else 1 :][:1]
        if wrong is None and dotted(getattr(one.node.func, "value", one.node)) in _round_names(one):
            continue  # of a row, which has no other dim
        if [_value(each) for each in given] == ([] if wrong is None else [wrong]):
            return one.line
    return 0


def _round_names(place: PlacedNode) -> set[str]:
    """The names that get another value in each round of a loop that a place is in."""
    loops = [part for loop in place.loops for part in getattr(loop, "generators", [loop])]
    return {name for loop in loops if hasattr(loop, "target") for name in names_in(loop.target)}


def divides_by(answer: AnswerCode, name: str, just: bool = False) -> int:
    """Something is divided by an expression in which the name occurs; with `just`, by it alone, or by a call of it."""
    for one in answer.places:
        match one.node:
            case ast.BinOp(op=ast.Div(), right=by) | ast.AugAssign(op=ast.Div(), value=by):
                nodes = [getattr(by, "func", by)] if just else answer.origin(by)
                if any(name in names_of(node) for node in nodes):
                    return one.line
    return 0


def first_group_only(answer: AnswerCode) -> int:
    """Something is set in the first group of an optimizer, and in no other group by its number."""
    found: dict[Any, int] = {}
    for one in answer.places:
        match one.node:
            case ast.Subscript(ast.Subscript(ast.Attribute(attr="param_groups"), index), ctx=ast.Store()):
                found[_value(index)] = one.line
    return found[0] if [*found] == [0] else 0


def multiplies_by(answer: AnswerCode, number: int) -> int:
    """Something is multiplied by this number."""
    for one in answer.places:
        match one.node:
            case ast.BinOp(left, ast.Mult(), right) if number in (_value(left), _value(right)):
                return one.line
    return 0


def asserts(answer: AnswerCode) -> int:
    """There is an assert statement."""
    return _first(one for one in answer.places if isinstance(one.node, ast.Assert))


def dropped(answer: AnswerCode, *names: str) -> int:
    """The result of a method of a tensor is not used."""
    for one in answer.places:
        match one.node:
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(owner), method))) if (
                method in names and owner not in _MODULES
            ):
                return one.line
    return 0


def comes_before(answer: AnswerCode, first: str, second: str) -> int:
    """In a function the first call of `first` comes before the first one of `second`, in the same loop."""
    in_function: dict[int, list[PlacedNode]] = {}
    for one in answer.calls(first, second):
        function = next((each for each in reversed(one.inside) if isinstance(each, ast.FunctionDef)), answer)
        in_function.setdefault(id(function), []).append(one)
    for early, *others in in_function.values():
        late = next((one for one in others if _called(one) == second.rpartition(".")[2]), None)
        if late and _called(early) == first.rpartition(".")[2] and early.loops == late.loops:
            return early.line
    return 0


# ---------------------------------------------------------------- of training


def softmax_before_loss(answer: AnswerCode) -> int:
    """The input of the cross-entropy went through softmax, sigmoid or exp, and not through a logarithm."""
    made = [one for one in ("criterion", "loss_fn", "loss_function", "ce") if answer.mentions("CrossEntropyLoss")]
    for index, one in enumerate(answer.places):
        if isinstance(one.node, ast.Call) and one.node.args:
            func = one.node.func
            if is_named(func, ["cross_entropy", *made]) or is_named(getattr(func, "func", func), ["CrossEntropyLoss"]):
                names = {name for node in answer.origin(one.node.args[0], index) for name in names_of(node)}
                if names & {"softmax", "Softmax", "sigmoid", "Sigmoid", "exp"} and not names & {"log", "log_softmax"}:
                    return one.line
    return 0


def zero_grad_before_step(answer: AnswerCode) -> int:
    """Gradients are cleared between backward and step, in the same loop."""
    last = cleared = None
    for one in answer.calls("backward", "zero_grad", "step"):
        name = _called(one)
        if name == "step" and last and cleared and last.loops == cleared.loops == one.loops:
            return cleared.line
        last = one if name == "backward" else last
        cleared = one if name == "zero_grad" and last else None
    return 0


def zero_grad_outside_loop(answer: AnswerCode) -> int:
    """Gradients are cleared outside of the loop that steps, and nowhere else."""
    clears, steps = answer.calls("zero_grad"), answer.calls("step")
    if not answer.is_closed or not steps or answer.mentions("grad", "grads", "closure"):
        return 0
    is_outside = all(len(one.loops) < len(step.loops) for one in clears for step in steps)
    return _first(clears) if is_outside else 0


def zero_grad_in_loop(answer: AnswerCode) -> int:
    """Gradients are cleared in each round of the loop of backward, which should add them up."""
    clears, backwards = answer.calls("zero_grad"), answer.calls("backward")
    beside = [one.inside[:-1] for one in backwards]
    return _first(one for one in clears if one.loops and one.inside[:-1] in beside)


def backward_of_a_whole_sum(answer: AnswerCode) -> int:
    """In a loop, backward is called on what was not divided or multiplied, and the gradients are not scaled either."""
    scaling = "grad grads div div_ mul mul_ truediv true_divide gradient weight autograd"
    if not answer.is_closed or answer.mentions(*scaling.split()):
        return 0
    changes = [one.node.op for one in answer.places if isinstance(one.node, ast.AugAssign)]
    for index, one in enumerate(answer.places):
        match one.node:
            case ast.Call(ast.Attribute(loss, "backward"), [], []) if one.loops:
                parts = [*answer.origin(loss, index), *changes]
                if not any(isinstance(part, ast.Div | ast.Mult | ast.MatMult) for part in parts):
                    return one.line
    return 0


def mean_of_batch_means(answer: AnswerCode) -> int:
    """A sum of means, of which none was multiplied by the size of its batch, is divided by the number of batches."""
    arguments = answer.arguments
    batches: set[str] = set()
    filled: set[str] = set()
    for one in answer.places:
        match one.node:
            case ast.For(iter=over) | ast.comprehension(iter=over):
                batches |= {dotted(over)} & arguments
            case ast.Call(ast.Attribute(ast.Name(name), "append")) if one.loops:
                filled |= {name} if names_in(getattr(one.loops[-1], "iter", one.node)) & arguments else set()
            case ast.Assign([ast.Name(name)], ast.ListComp(generators=[ast.comprehension(iter=over)])):
                filled |= {name} if names_in(over) & arguments else set()

    def is_count(node: ast.AST) -> bool:
        match node:
            case ast.Call(ast.Name("len"), [of]):
                return dotted(of) in batches | filled
            case ast.Call(ast.Name("max"), numbers):
                return any(map(is_count, numbers))
            case ast.Name(name):
                values = [*answer.values(name)]
                counts = [_value(each) for each in values]
                return (1 in counts and all(type(each) is int for each in counts)) or any(map(is_count, values))
        return False

    for one in answer.places:
        match one.node:
            case ast.BinOp(left, ast.Div(), right) | ast.AugAssign(left, ast.Div(), right) if is_count(right):
                if _is_unweighted(answer, left):
                    return one.line
            case ast.Call(func, args) if is_named(func, ("mean", "fmean")):
                of = args[0] if args else func
                if names_in(of) & filled and _is_unweighted(answer, of):
                    return one.line
    return 0


def _is_unweighted(answer: AnswerCode, total: ast.AST) -> bool:
    """Whether a total consists of means of batches, as they are."""
    nodes = [*answer.origin(total)]
    names = {name for node in nodes if dotted(node) != "sum" for name in names_of(node)}  # the built-in adds means
    is_weighted = any(isinstance(node, ast.Mult) for node in nodes) or bool(
        names & {"sum", "none", "cat", "extend", "len", "size", "numel", "shape", "fsum", "dot", "count_nonzero"}
    )
    means = {"cross_entropy", "CrossEntropyLoss", "loss_fn", "criterion", "train_step", "mean"}
    return not is_weighted and not names.isdisjoint(means)


# ---------------------------------------------------------------- of modes, graphs, devices and ranks


def recording_stays_off(answer: AnswerCode) -> int:
    """The recording of gradients is switched by a call, not for the time of a with statement, and only once."""
    found = [one for one in answer.calls("set_grad_enabled") if isinstance(one.inside[-1], ast.Expr)]
    return _first(found) if len(found) == 1 else 0


def always_back_to_train(answer: AnswerCode) -> int:
    """After eval, the whole model is switched to training mode whatever it was before."""
    if answer.mentions("deepcopy", "named_modules", "training") or call_in_loop(answer, "train"):
        return 0
    is_in_eval = False
    for one in answer.calls("eval", "train"):
        is_in_eval |= _called(one) == "eval"
        is_asked = any(isinstance(each, ast.If | ast.IfExp) for each in one.inside)
        if is_in_eval and _called(one) == "train" and not is_asked and not getattr(one.node, "args", ()):
            return one.line
    return 0


def outermost_flag_only(answer: AnswerCode) -> int:
    """``model.training`` is set, and no other module's."""
    if answer.mentions("eval", "train", "modules", "children", "apply"):
        return 0
    for one in answer.places:
        match one.node:
            case ast.Attribute(attr="training", ctx=ast.Store()) if not one.loops:
                return one.line
    return 0


def cuts_the_graph(answer: AnswerCode) -> int:
    """The returned value went through item, detach, data, tolist, numpy or torch.tensor."""
    for one in answer.places:
        for node in answer.origin(one.node.value) if isinstance(one.node, ast.Return) and one.node.value else ():
            match node:
                case ast.Call(ast.Attribute(attr="item" | "detach" | "tolist" | "numpy")) | ast.Attribute(attr="data"):
                    return node.lineno
                case ast.Call(ast.Attribute(ast.Name("torch"), "tensor"), [_]):
                    return node.lineno
    return 0


def hard_coded_cuda(answer: AnswerCode) -> int:
    """A call gets "cuda" as an argument, or ``.cuda()`` is called; texts that are compared do not count."""
    return passes(answer, "cuda") or passes(answer, "cuda:0") or calls(answer, "cuda")


def collective_on_one_rank(answer: AnswerCode) -> int:
    """A collective is called under a condition on the rank, or after other ranks have returned."""
    is_left = False
    for one in answer.places:
        if isinstance(one.node, ast.Call) and is_named(one.node.func, _COLLECTIVES):
            if is_left or any(_is_of_one_rank(each) for each in one.inside):
                return one.line
        elif isinstance(one.node, ast.If) and _asks_for_rank(one.node) and not one.node.orelse:
            is_left |= isinstance(one.node.body[-1], ast.Return) and not _has_collective(one.node.body)
    return 0


def _is_of_one_rank(node: ast.AST) -> bool:
    """Whether a node is a condition on the rank, of whose two branches only one has a collective."""
    if not isinstance(node, ast.If) or not _asks_for_rank(node) or isinstance(node.body[-1], ast.Return):
        return False  # after a return, the other branch is what follows
    return not (_has_collective(node.body) and _has_collective(node.orelse))


def _asks_for_rank(node: ast.If) -> bool:
    return any("rank" in name for each in ast.walk(node.test) for name in names_of(each))


def _has_collective(body: list[ast.stmt]) -> bool:
    nodes = (node for one in body for node in ast.walk(one))
    return any(isinstance(node, ast.Call) and is_named(node.func, _COLLECTIVES) for node in nodes)


def _first(places: Iterable[PlacedNode]) -> int:
    """The line of the first of some places; 0 if there is none."""
    return next((one.line for one in places), 0)


def _called(place: PlacedNode) -> str:
    """The last name of the function that is called."""
    return dotted(getattr(place.node, "func", place.node)).rpartition(".")[2]


def _value(node: Any) -> Any:
    """The value of a literal; the node itself if it is none."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        return node


def _with(matcher: Matcher, *args: str, **options: Any) -> Matcher:
    """A matcher with these arguments."""
    return lambda answer: matcher(answer, *args, **options)


_SEVERAL: Final = (
    *(calls, call_in_loop, reads, lacks, passes, keyword, dim, divides_by, multiplies_by, asserts, dropped),
    *(comes_before, softmax_before_loss, zero_grad_before_step, zero_grad_outside_loop, zero_grad_in_loop),
    *(mean_of_batch_means, recording_stays_off, always_back_to_train, outermost_flag_only, cuts_the_graph),
    *(hard_coded_cuda, collective_on_one_rank, backward_of_a_whole_sum, first_group_only),
)
_RECORDING: Final = ("no_grad", "inference_mode", "set_grad_enabled", "detach_", "requires_grad_", "requires_grad")
_COPIES: Final = ("clone", "deepcopy", "copy", "copy_", "save", "tensor", "numpy", "snapshot")
_STATES: Final = ("fork_rng", "get_rng_state", "set_rng_state", "get_state")
MATCHERS: Final[Mapping[str, Matcher]] = {one.__name__: one for one in _SEVERAL} | {
    "no_zero_grad": _with(lacks, "zero_grad", "grad", "grads", "set_to_none", at="backward"),
    "no_eval": _with(lacks, "eval", "train", "training"),
    "no_train": _with(lacks, "train", "training"),
    "stays_in_eval": _with(lacks, "train", "training", "deepcopy", "setattr", at="eval"),
    "no_no_grad": _with(lacks, *_RECORDING),
    "no_copy": _with(lacks, *_COPIES, at="state_dict"),
    "seeds_the_global_stream": _with(calls, "torch.manual_seed", unless=_STATES),
}
"""The matchers that every course has, by the names that a misconception uses."""


def parsed_call(seen: str) -> tuple[str, list[Any], dict[str, Any]]:
    """The name and the arguments of a matcher: of ``"no_eval"``, or of ``"calls('Adam', 'AdamW')"``.

    Raises:
        ValueError: if it is neither.
    """
    try:
        match ast.parse(seen, mode="eval").body:
            case ast.Name(name):
                return name, [], {}
            case ast.Call(ast.Name(name), args, words):
                options = {str(one.arg): ast.literal_eval(one.value) for one in words}
                return name, [*map(ast.literal_eval, args)], options
    except (SyntaxError, ValueError):
        pass
    raise ValueError(f"`{seen}` must be the name of a matcher, or a call of one with literals")


def matchers_of(course: Course) -> Mapping[str, Matcher]:
    """A course's own matchers: the functions in its ``checks/slips.py``, by name. Checks can be imported already."""
    is_there = (course.checks_dir / "slips.py").is_file()
    return vars(importlib.import_module("checks.slips")) if is_there else {}


def found_in(
    tree: ast.Module, misconceptions: Iterable[Misconception], own: Mapping[str, Matcher] = {}
) -> Iterator[tuple[int, Misconception]]:
    """The misconceptions that are seen in a file, each with its line, in their order; each matcher speaks once.

    Args:
        own: the course's own matchers, by name.
    """
    code_of = functools.cache(lambda name: AnswerCode(tree, name))
    spoken: set[str] = set()
    for one in misconceptions:
        line = 0
        with contextlib.suppress(Exception):  # a matcher decides nothing, and must cost nobody their result
            line = line_in(code_of(one.part), one.seen, own) if one.seen and one.seen not in spoken else 0
        if line:
            spoken.add(one.seen)
            yield line, one


def line_in(answer: AnswerCode, seen: str, own: Mapping[str, Matcher] = {}) -> int:
    """The line where an answer has the mistake that `seen` says; 0 if it has not.

    Raises:
        ValueError: if `seen` names no matcher.
    """
    name, args, options = parsed_call(seen)
    matcher = own.get(name) or MATCHERS.get(name)
    if matcher is None:
        raise ValueError(f"there is no matcher `{name}`{did_you_mean(name, [*own, *MATCHERS])}")
    return matcher(answer, *args, **options) if answer.places else 0
