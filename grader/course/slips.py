"""Mistakes that are seen in the text of an answer, as the ``seen`` of a misconception names them.

Reads the syntax tree and never runs a line of it. A matcher answers with the line of the mistake, or with 0; it must
answer 0 for every right answer, however that is written, so it answers 0 where it cannot know.
"""

import ast
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from grader.course.source import Misconception

_MOST_NODES: Final = 20_000
"""Nodes of an answer and its helpers that are looked at; of a longer one nothing is said."""
_KNOWN: Final = frozenset(sys.stdlib_module_names) | {"torch", "numpy"}
"""Modules whose functions do nothing to a model that their names do not say."""
_LOOPS: Final = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_COLLECTIVES: Final = frozenset(
    ["barrier", "monitored_barrier", "all_reduce", "reduce", "broadcast", "broadcast_object_list", "scatter", "gather", "scatter_object_list", "all_gather", "all_gather_object", "all_gather_into_tensor", "gather_object", "reduce_scatter"]
)

Node = ast.AST
Matcher = Callable[..., int]


@dataclass(frozen=True)
class Place:
    """A node of an answer, and the nodes that it is inside of, outermost first, those of a helper's call included."""

    node: Node
    inside: tuple[Node, ...]

    @property
    def line(self) -> int:
        """Its line in the file."""
        return getattr(self.node, "lineno", 0)

    @property
    def loops(self) -> list[Node]:
        """The loops that it is in."""
        return [one for one in self.inside if isinstance(one, _LOOPS)]


class Answer:
    """A function or a class at the top of a file, with all that it uses of the same file, in the order of its running.

    Args:
        tree: the file.
        name: the name of the function or class.

    Attributes:
        places: its nodes; a helper's come where its name is used.
        is_closed: whether nothing that it uses has its code elsewhere: then what it lacks, it does not do.
    """

    def __init__(self, tree: ast.Module, name: str) -> None:
        self.places: list[Place] = []
        self.is_closed = True
        self._defined: dict[str, Node] = {}
        self._elsewhere: set[str] = set()
        for one in tree.body:
            self._define(one)
        own = self._defined.get(name)
        self.own = own if isinstance(own, (*_FUNCTIONS, ast.ClassDef)) else None
        if self.own is not None:
            try:
                self._walk(self.own, ())
            except RecursionError:
                self.places = []
        if len(self.places) >= _MOST_NODES:
            self.places = []

    def _define(self, node: Node) -> None:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                self._defined[name] = node
            case ast.Assign([ast.Name(name)], value):
                self._defined[name] = value
            case ast.Import(names) | ast.ImportFrom(names=names):
                for alias in names:
                    module = (getattr(node, "module", None) or alias.name).partition(".")[0]
                    if module not in _KNOWN or getattr(node, "level", 0):
                        self._elsewhere.add((alias.asname or alias.name).partition(".")[0])

    def _walk(self, node: Node, inside: tuple[Node, ...]) -> None:
        if len(self.places) >= _MOST_NODES:
            return
        parts: list[Node]
        if isinstance(node, _FUNCTIONS):
            decorators = [
                one for one in node.decorator_list if not _is_named(getattr(one, "func", one), ["misconception"])
            ]
            parts = [*decorators, *node.args.defaults, *node.body]  # annotations run nothing
        elif isinstance(node, ast.ClassDef):
            parts = [*node.bases, *node.body]
        else:
            parts = [*ast.iter_child_nodes(node)]
        for part in parts:
            if isinstance(part, _FUNCTIONS) and not isinstance(node, ast.ClassDef):
                self._define(part)  # it runs where its name is used
            else:
                self._walk(part, (*inside, node))
        if isinstance(node, ast.Import | ast.ImportFrom):
            self._define(node)
        self.places.append(Place(node, inside))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            self.is_closed &= node.id not in self._elsewhere
            used = self._defined.get(node.id)
            if used is not None and used not in inside:
                self._walk(used, (*inside, node))

    def calls(self, *names: str) -> list[Place]:
        """The calls of functions or methods with these names, such as ``backward`` or ``torch.manual_seed``."""
        return [one for one in self.places if isinstance(one.node, ast.Call) and _is_named(one.node.func, names)]

    def mentions(self, *names: str) -> bool:
        """Whether any of these names occurs: as a variable, an attribute, a keyword, or a text."""
        return any(not _names_of(one.node).isdisjoint(names) for one in self.places)

    def first_call(self) -> int:
        """The line of the first call of an argument, such as the model; else that of the definition."""
        arguments = (
            {one.arg for part in ast.walk(self.own) if isinstance(part, ast.arguments) for one in part.args}
            if self.own
            else set()
        )
        lines = [
            one.line for one in self.places if isinstance(one.node, ast.Call) and dotted(one.node.func) in arguments
        ]
        return next(iter(lines), self.own.lineno if self.own else 0)

    def origin(self, expression: Node, until: int | None = None) -> Iterator[Node]:
        """The nodes of an expression, and of what its names stand for: values given before a place, helpers' results.

        Args:
            until: the index of the place.
        """
        seen: set[str] = set()
        todo = [expression]
        while todo:
            for node in ast.walk(todo.pop()):
                yield node
                if isinstance(node, ast.Name) and node.id not in seen:
                    seen.add(node.id)
                    todo += _values(self.places[:until], node.id)
                    used = self._defined.get(node.id)
                    if isinstance(used, _FUNCTIONS):
                        todo += [one.value for one in ast.walk(used) if isinstance(one, ast.Return) and one.value]


def dotted(node: Node) -> str:
    """A name with those in front of it: ``torch.optim.SGD``; ``?`` stands for any other expression."""
    match node:
        case ast.Name(name):
            return name
        case ast.Attribute(owner, name):
            return f"{dotted(owner)}.{name}"
    return "?"


def _is_named(node: Node, names: Collection[str]) -> bool:
    """Whether it ends with one of the names; one with dots must be all of it, or its last part alone."""
    text = dotted(node)
    last = text.rpartition(".")[2]
    return any(text in (name, name.rpartition(".")[2]) if "." in name else last == name for name in names)


def _names_of(node: Node) -> set[str]:
    match node:
        case ast.Name(name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)) | ast.Constant(str(name)):
            return {name}
        case ast.Import(names) | ast.ImportFrom(names=names):
            return {one.name for one in names}
    return set()


def _values(places: list[Place], name: str) -> list[Node]:
    """The values that a name was given, or that were put into it."""
    found: list[Node] = []
    for one in places:
        match one.node:
            case ast.Assign(targets, value):
                for target in targets:
                    pairs = [(target, value)]
                    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                        pairs = [*zip(target.elts, value.elts, strict=False)]
                    found += [
                        part for to, part in pairs if name in {n.id for n in ast.walk(to) if isinstance(n, ast.Name)}
                    ]
            case (
                ast.AugAssign(ast.Name(to), _, value)
                | ast.AnnAssign(ast.Name(to), value=ast.expr() as value)
                | ast.NamedExpr(ast.Name(to), value)
                | ast.Call(ast.Attribute(ast.Name(to), "append" | "add_"), [value])
            ) if to == name:
                found.append(value)
    return found


# ---------------------------------------------------------------- matchers for any mistake


def calls(answer: Answer, *names: str, unless: Collection[str] = ()) -> int:
    """One of the functions or methods is called; silent if one of the names in `unless` occurs."""
    found = () if answer.mentions(*unless) else answer.calls(*names)
    return next((one.line for one in found), 0)


def lacks(answer: Answer, *names: str, at: str | tuple[str, ...] = ()) -> int:
    """None of the names occurs. With `at`, functions of which one must be called: that call's line is named."""
    if not answer.places or not answer.is_closed or answer.mentions(*names):
        return 0
    return (
        next((one.line for one in answer.calls(*([at] if isinstance(at, str) else at))), 0)
        if at
        else answer.first_call()
    )


def passes(answer: Answer, value: object, *names: str, unless: Collection[str] = ()) -> int:
    """A call has just this value as an argument, one with a name among `names` if there are any."""
    for one in () if answer.mentions(*unless) else answer.places:
        given = [*one.node.args, *(each.value for each in one.node.keywords)] if isinstance(one.node, ast.Call) else []
        if names and isinstance(one.node, ast.Call):
            given = [each.value for each in one.node.keywords if each.arg in names]
        for each in given:
            if isinstance(each, ast.Constant) and type(each.value) is type(value) and each.value == value:
                return one.line
    return 0


def keyword(answer: Answer, *names: str) -> int:
    """A call has one of these keywords, with another value than 0, None or False."""
    for one in answer.places:
        for each in one.node.keywords if isinstance(one.node, ast.Call) else ():
            if each.arg in names and not (isinstance(each.value, ast.Constant) and not each.value.value):
                return one.line
    return 0


def reads(answer: Answer, *names: str) -> int:
    """A variable or an attribute with one of the names is read."""
    return next(
        (
            one.line
            for one in answer.places
            if isinstance(one.node, ast.Name | ast.Attribute) and _names_of(one.node) & {*names}
        ),
        0,
    )


def divides_by(answer: Answer, *names: str) -> int:
    """Something is divided by an expression in which one of the names occurs."""
    for one in answer.places:
        match one.node:
            case ast.BinOp(op=ast.Div(), right=by) | ast.AugAssign(op=ast.Div(), value=by):
                if any(_names_of(node) & {*names} for node in answer.origin(by)):
                    return one.line
    return 0


def hard_coded_cuda(answer: Answer) -> int:
    """A device is a text, such as "cuda", or ``.cuda()`` is called: as an argument, not where devices are compared."""
    texts = (passes(answer, text) for text in ("cuda", "cuda:0"))
    return next(filter(None, texts), 0) or next((one.line for one in answer.calls("cuda")), 0)


def multiplies_by(answer: Answer, number: int) -> int:
    """Something is multiplied by this number."""
    for one in answer.places:
        match one.node:
            case ast.BinOp(left, ast.Mult(), right) if number in (_literal(left), _literal(right)):
                return one.line
    return 0


def asserts(answer: Answer) -> int:
    """There is an assert statement."""
    return next((one.line for one in answer.places if isinstance(one.node, ast.Assert)), 0)


def dim(answer: Answer, name: str, *wrong: int | None) -> int:
    """A function such as argmax or softmax gets one of these dims; None stands for no dim."""
    for one in answer.calls(name):
        assert isinstance(one.node, ast.Call)
        is_method = isinstance(one.node.func, ast.Attribute) and dotted(one.node.func.value) not in ("torch", "F")
        given = [each.value for each in one.node.keywords if each.arg in ("dim", "axis")]
        given = given or one.node.args[0 if is_method else 1 :][:1]
        value = _literal(given[0]) if given else None
        if value in wrong and (not given or value is not None):
            return one.line
    return 0


def dropped(answer: Answer, *names: str) -> int:
    """The result of a method is not used; a module's ``to`` works in place, so names of modules are left out."""
    for one in answer.places:
        match one.node:
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(owner), method))) if method in names:
                if owner not in ("self", "model", "module", "net", "network", "layer"):
                    return one.line
    return 0


def _literal(node: Node) -> Any:
    try:
        return ast.literal_eval(node)  # type: ignore[arg-type]
    except (ValueError, TypeError):
        return node


# ---------------------------------------------------------------- matchers for mistakes of training


def softmax_before_loss(answer: Answer) -> int:
    """What the cross-entropy gets went through softmax, sigmoid or exp, and not through a logarithm."""
    made = [to for to in ("criterion", "loss_fn", "loss_function", "ce") if answer.mentions("CrossEntropyLoss")]
    for index, one in enumerate(answer.places):
        if isinstance(one.node, ast.Call) and one.node.args:
            is_made = isinstance(one.node.func, ast.Call) and _is_named(one.node.func.func, ["CrossEntropyLoss"])
            if is_made or _is_named(one.node.func, ("cross_entropy", *made)):
                names = {name for node in answer.origin(one.node.args[0], index) for name in _names_of(node)}
                if names & {"softmax", "Softmax", "sigmoid", "Sigmoid", "exp"} and not names & {"log", "log_softmax"}:
                    return one.line
    return 0


def zero_grad_before_step(answer: Answer) -> int:
    """Gradients are cleared between backward and step, in the same loop."""
    last: Place | None = None
    cleared: Place | None = None
    for one in answer.calls("backward", "zero_grad", "step"):
        name = dotted(one.node.func).rpartition(".")[2] if isinstance(one.node, ast.Call) else ""
        if name == "step" and cleared and last and last.loops == cleared.loops == one.loops:
            return cleared.line
        last = one if name == "backward" else last
        cleared = one if name == "zero_grad" and last else None
    return 0


def comes_before(answer: Answer, first: str, second: str) -> int:
    """The first call of `first` comes before the first one of `second`, in the same loop."""
    found = answer.calls(first, second)
    others = [one for one in found if isinstance(one.node, ast.Call) and _is_named(one.node.func, [second])]
    is_early = bool(others) and found[0] is not others[0] and found[0].loops == others[0].loops
    return found[0].line if is_early else 0


def zero_grad_outside_loop(answer: Answer) -> int:
    """Gradients are cleared outside of the loop that steps, and nowhere else."""
    clears, steps = answer.calls("zero_grad"), answer.calls("step")
    if not answer.is_closed or not clears or not steps or answer.mentions("grad", "grads", "closure"):
        return 0
    is_outside = all(len(one.loops) < len(step.loops) for one in clears for step in steps)
    return clears[0].line if is_outside else 0


def zero_grad_in_loop(answer: Answer) -> int:
    """Gradients are cleared in the same loop as backward, though the loop adds them up."""
    clears, backwards = answer.calls("zero_grad"), answer.calls("backward")
    return next(
        (one.line for one in clears for other in backwards if one.loops and one.inside[:-1] == other.inside[:-1]), 0
    )


def call_in_loop(answer: Answer, *names: str) -> int:
    """One of the functions is called in a loop."""
    return next((one.line for one in answer.calls(*names) if one.loops), 0)


def mean_of_batch_means(answer: Answer) -> int:
    """A sum of means, of which none was multiplied by the size of its batch, is divided by the number of batches."""
    given = {one.arg for place in answer.places for one in getattr(getattr(place.node, "args", None), "args", ())}

    def is_over_batches(loop: Node) -> bool:
        loops = loop.generators if isinstance(loop, ast.ListComp | ast.GeneratorExp) else [loop]
        return any(
            isinstance(each, ast.Name) and each.id in given
            for one in loops
            for each in ast.walk(getattr(one, "iter", one))
        )

    batches = {
        dotted(one.node.iter) for one in answer.places if isinstance(one.node, ast.For | ast.comprehension)
    } & given
    filled = set()
    for one in answer.places:
        match one.node:
            case ast.Call(ast.Attribute(ast.Name(name), "append")) if one.loops and is_over_batches(one.loops[-1]):
                filled.add(name)
            case ast.Assign([ast.Name(name)], ast.ListComp() as value) if is_over_batches(value):
                filled.add(name)

    def is_count(node: Node) -> bool:
        match node:
            case ast.Call(ast.Name("len"), [of]):
                return dotted(of) in batches | filled
            case ast.Call(ast.Name("max"), [_, of]) | ast.Call(ast.Name("max"), [of, _]):
                return is_count(of)
            case ast.Name(name):
                values = [*_values(answer.places, name)]
                counts = [_literal(each) for each in values]
                return (1 in counts and all(isinstance(each, int) for each in counts)) or any(map(is_count, values))
        return False

    for one in answer.places:
        match one.node:
            case ast.BinOp(left, ast.Div(), right) if is_count(right) and _is_unweighted(answer, left):
                return one.line
            case ast.AugAssign(left, ast.Div(), right) if is_count(right) and _is_unweighted(answer, left):
                return one.line
            case ast.Call(func, args) if _is_named(func, ("mean", "fmean")):
                whole = [*args, func]
                names = {dotted(node) for each in whole for node in ast.walk(each)}
                if names & filled and _is_unweighted(answer, whole[0]):
                    return one.line
    return 0


def _is_unweighted(answer: Answer, total: Node) -> bool:
    nodes = [*answer.origin(total)]
    names = {name for node in nodes if dotted(node) != "sum" for name in _names_of(node)}  # the built-in sum adds means
    is_weighted = any(isinstance(node, ast.Mult) for node in nodes)
    many = {"sum", "none", "cat", "extend", "len", "size", "numel", "shape", "fsum", "dot", "count_nonzero"}
    return (
        bool(names & {"cross_entropy", "CrossEntropyLoss", "loss_fn", "criterion", "train_step", "mean"})
        and not is_weighted
        and not names & many
    )


# ---------------------------------------------------------------- matchers for modes, graphs and ranks


def recording_stays_off(answer: Answer) -> int:
    """The recording of gradients is switched by a call, not for the time of a with statement, and only off."""
    found = [one for one in answer.calls("set_grad_enabled") if isinstance(one.inside[-1], ast.Expr)]
    return found[0].line if len(found) == 1 else 0


def always_back_to_train(answer: Answer) -> int:
    """After eval, the whole model is switched to training mode whatever it was before, or by one flag."""
    if answer.mentions("deepcopy", "named_modules") or any(one.loops for one in answer.calls("train")):
        return 0
    is_in_eval = False
    for one in answer.calls("eval", "train"):
        assert isinstance(one.node, ast.Call)
        if _is_named(one.node.func, ["eval"]):
            is_in_eval = True
        elif is_in_eval and not one.node.args and not any(isinstance(each, ast.If | ast.IfExp) for each in one.inside):
            return one.line if not answer.mentions("training") else 0
    return 0


def stays_in_eval(answer: Answer) -> int:
    """The model is switched to eval mode, and nothing is ever switched back."""
    return lacks(answer, "train", "training", "deepcopy", "__setattr__", "setattr", at="eval")


def outermost_flag_only(answer: Answer) -> int:
    """``model.training`` is set, and no module's but the outermost one's."""
    if answer.mentions("eval", "train", "modules", "children", "apply"):
        return 0
    stores = (
        one for one in answer.places if isinstance(one.node, ast.Attribute) and isinstance(one.node.ctx, ast.Store)
    )
    return next((one.line for one in stores if one.node.attr == "training" and not one.loops), 0)  # type: ignore[attr-defined]


def cuts_the_graph(answer: Answer) -> int:
    """What is returned went through item, detach, data, tolist, numpy or torch.tensor."""
    for one in answer.places:
        if isinstance(one.node, ast.Return) and one.node.value:
            for node in answer.origin(one.node.value):
                match node:
                    case (
                        ast.Call(ast.Attribute(attr="item" | "detach" | "tolist" | "numpy"))
                        | ast.Attribute(attr="data")
                    ):
                        return node.lineno
                    case ast.Call(func, [ast.expr()]) if dotted(func) == "torch.tensor":
                        return node.lineno
    return 0


def collective_on_one_rank(answer: Answer) -> int:
    """A collective is called under a condition on the rank, or after others have returned by one."""
    is_left = False
    for one in answer.places:
        if isinstance(one.node, ast.Call) and _is_named(one.node.func, _COLLECTIVES):
            if is_left or any(_is_of_one_rank(each, one.node) for each in one.inside):
                return one.line
        elif (
            isinstance(one.node, ast.If)
            and _asks_for_rank(one.node)
            and not one.node.orelse
            and not _collectives(one.node.body)
        ):
            is_left |= isinstance(one.node.body[-1], ast.Return)
    return 0


def _is_of_one_rank(node: Node, call: Node) -> bool:
    """Whether a node is a condition on the rank, of whose two branches only one has a collective."""
    return (
        isinstance(node, ast.If)
        and _asks_for_rank(node)
        and not (_collectives(node.body) and _collectives(node.orelse))
    )


def _asks_for_rank(node: ast.If) -> bool:
    return any("rank" in name for each in ast.walk(node.test) for name in _names_of(each))


def _collectives(body: list[ast.stmt]) -> list[Node]:
    nodes = (node for one in body for node in ast.walk(one))
    return [node for node in nodes if isinstance(node, ast.Call) and _is_named(node.func, _COLLECTIVES)]


MATCHERS: Final[Mapping[str, Matcher]] = {
    one.__name__: one
    for one in (
        calls, lacks, passes, keyword, reads, divides_by, hard_coded_cuda, multiplies_by, asserts, dim, dropped, recording_stays_off, softmax_before_loss, zero_grad_before_step, comes_before,
        zero_grad_outside_loop, zero_grad_in_loop, call_in_loop, mean_of_batch_means, always_back_to_train, stays_in_eval,
        outermost_flag_only, cuts_the_graph, collective_on_one_rank,
    )
}  # fmt: skip
"""The matchers that a misconception may name."""


def parsed_call(seen: str) -> tuple[str, list[Any], dict[str, Any]]:
    """The name and the arguments of a matcher: of ``"no_eval"``, or of ``"calls('Adam', 'AdamW')"``.

    Raises:
        ValueError: if it is neither.
    """
    try:
        match ast.parse(seen, mode="eval").body:
            case ast.Name(name):
                return name, [], {}
            case ast.Call(ast.Name(name), args, keywords):
                return (
                    name,
                    [*map(ast.literal_eval, args)],
                    {str(one.arg): ast.literal_eval(one.value) for one in keywords},
                )
    except SyntaxError:
        pass
    raise ValueError(f"{seen!r} is no name of a matcher, and no call of one with literals")


def line_of(seen: str, answer: Answer, own: Mapping[str, Matcher]) -> int:
    """The line where an answer has a mistake, by the matcher that `seen` names, of a course's `own` or of these; or 0."""
    name, args, options = parsed_call(seen)
    matcher = own.get(name) or MATCHERS[name]
    return matcher(answer, *args, **options) if answer.places else 0


def found_in(
    tree: ast.Module, misconceptions: Iterable[Misconception], own: Mapping[str, Matcher] = {}
) -> Iterator[tuple[int, Misconception]]:
    """The misconceptions that are seen in a file, each with its line, in their order: one for each matcher and line."""
    answers: dict[str, Answer] = {}
    found: set[tuple[str, int]] = set()
    for one in misconceptions:
        if one.part not in answers:
            answers[one.part] = Answer(tree, one.part)
        line = line_of(one.seen, answers[one.part], own)
        if line and (one.seen, line) not in found:
            found.add((one.seen, line))
            yield line, one
