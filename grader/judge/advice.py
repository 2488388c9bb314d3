"""The first sentence that a student reads about a check that did not pass, made from the cause.

Pure: looks at nothing but the cause, imports no torch, and decides nothing. A sentence says what Python or torch mean,
with the student's own names and shapes. If none is known, it is the exception or the reason itself.
"""

import builtins
import difflib
import functools
import inspect
import itertools
import math
import re
import sys
from collections.abc import Callable, Iterable
from typing import Final

from grader.results import Cause, Frame, SpentTime, TooMuchMemory
from grader.text import counted, with_article

_SIMILAR: Final = 0.72
_LONGEST_NAME: Final = 60
_MOST_COMPARED: Final = 200

Sentence = str | Callable[[re.Match[str]], str]


def advice_on(cause: Cause) -> str:
    """The first sentence; empty if the check's own sentence has to be enough."""
    if cause.stage == "import":
        return _on_import(cause)
    match cause.kind:
        case "exception":
            return on_exception(cause) or f"your code raised {_first_line(with_message(cause))}"
        case "not_simulated":
            why = f"GPUs are simulated here, and {cause.exception_message}: this check fails"
            return f"{why}. Write it another way, or ask your instructor to look at it"
        case "timeout":
            return _used_up(cause.reason, cause.time) if cause.reason else _too_slow(cause)
        case "crash" | "no_answer":
            return f"your code {_crash(cause)}"
        case "assertion":
            return _on_assertion(cause)
        case "grader_fault":
            return _on_fault(cause)
    return cause.reason


def on_exception(cause: Cause) -> str:
    """The meaning of an exception, if it is one that students meet often; else empty."""
    line = cause.frames[-1].text if cause.frames else ""
    raised = with_message(cause, always=True)
    in_any_line = ((pattern, "", sentence) for pattern, sentence in _EXCEPTIONS.items())
    for pattern, in_line, sentence in (*_IN_LINES, *in_any_line):
        if (found := re.search(pattern, raised)) and re.search(in_line, line):
            return sentence if isinstance(sentence, str) else sentence(found)
    signature = re.match(r"([\w.]+)\(\) (?:takes|missing|got)\b", cause.exception_message)
    if signature and cause.exception_type == "TypeError" and not cause.frames:  # it did not even begin
        counts = re.search(r"\w\.\w+\(\) takes (\d+) positional arguments? but (\d+)", cause.exception_message)
        if counts and int(counts[2]) == int(counts[1]) + 1:
            return f"`{signature[1]}` takes one argument too few: is `self` its first one?"
        return f"`{signature[1]}` cannot be called as the check does ({cause.exception_message}): keep the signature"
    if lacks := re.search(r"([\w.]+)\(\) missing \d+ required .*arguments?: (.+)", cause.exception_message):
        return f"`{lacks[1].removesuffix('.__init__')}` is called without {lacks[2]}, which it needs"
    return ""


def with_message(cause: Cause, always: bool = False) -> str:
    """``ValueError: too few``; a colon without a text only if asked for."""
    if cause.exception_message or always:
        return f"{cause.exception_type}: {cause.exception_message}"
    return cause.exception_type


def close_names(name: str, known: Iterable[str]) -> list[str]:
    """The names that are most similar to one that does not exist: at most two."""
    return [] if len(name) > _LONGEST_NAME else list(_closest(name, frozenset(known) - {name}))


@functools.lru_cache(maxsize=256)
def _closest(name: str, known: frozenset[str]) -> list[str]:
    """Compares only with names of similar letters and length, because each comparison takes the judge some time."""
    if same := [one for one in known if one.lower() == name.lower()]:
        return same[:2]
    letters = set(name)
    likely = sorted(known, key=lambda one: (len(letters.symmetric_difference(one)) + abs(len(one) - len(name)), one))
    likely = likely[:_MOST_COMPARED]
    return difflib.get_close_matches(name, sorted(likely), n=2, cutoff=_SIMILAR)


def did_you_mean(names: Iterable[str]) -> str:
    """``: did you mean `x`?`` for one or more names; empty for none."""
    listed = " or ".join(f"`{name}`" for name in names)
    return f": did you mean {listed}?" if listed else ""


def _on_import(cause: Cause) -> str:
    if not cause.exception_type:
        return cause.reason if cause.kind == "timeout" else f"importing {cause.file} {_crash(cause)}"
    return _on_syntax(cause) or f"{cause.file} cannot be imported: {with_message(cause, always=True)}"


def _on_syntax(cause: Cause) -> str:
    """The advice about a file that cannot be imported, if there is any."""
    frame = cause.frames[-1] if cause.frames else Frame("", 0)
    at = f" in {frame.place}" if frame.place else f" in line {frame.line}" if frame.line else ""
    text = frame.text
    message = re.sub(r" \([^()]*, line \d+\)$", "", cause.exception_message)
    if re.search(r"null bytes|codec can't decode|encoding problem|missing encoding|Non-UTF-8", message):
        return f"{cause.file} cannot be imported: it is not saved as UTF-8; save it as UTF-8 in your editor"
    if cause.exception_type == "SyntaxError":
        newer = next((version for version, pattern in _NEWER_SYNTAX if re.search(pattern, text)), None)
        if newer and newer > sys.version_info[:2]:
            here = ".".join(map(str, sys.version_info[:2]))
            needs = f"what is written{at} needs Python {newer[0]}.{newer[1]}, but Python {here} runs here"
            return f"{cause.file} cannot be imported: {needs}"
    if cause.exception_type in ("SyntaxError", "IndentationError", "TabError"):
        return f"{cause.file} cannot be imported: {cause.exception_type}{at}: {message}"
    found = on_exception(cause)
    return f"{cause.file} cannot be imported: {found}" if found else ""


def _on_assertion(cause: Cause) -> str:
    is_none = cause.returned == "None" and cause.expected != "None" and not cause.looked_at
    if is_none and (cause.expected or not cause.reason or "'NoneType'" in cause.reason):
        return "your code returned None: did you forget `return`?"
    if cause.exception_type and not cause.reason:
        return f"your code raised {_first_line(with_message(cause))}"
    repair = next((repair for pattern, repair in _OTHER_TYPES if re.search(pattern, cause.reason)), "")
    return f"{cause.reason}: {repair}" if repair else cause.reason


def _first_line(text: str) -> str:
    """A sentence of a message of several lines, such as all the signatures that a function has."""
    return re.sub(r", but expected one of:$", "", text.partition("\n")[0])


def _on_fault(cause: Cause) -> str:
    if cause.stage == "submission":
        return "The grader failed here; this is not your fault and costs no points."
    return f"{fault_of_check(cause)}. This costs no points; tell your instructor."


def fault_of_check(cause: Cause) -> str:
    """The fault of a check, for whoever wrote it."""
    place = f" ({cause.check_line.file}:{cause.check_line.line})" if cause.check_line else ""
    what = with_message(cause, always=True) if cause.exception_type else cause.reason
    return f"the check itself is wrong{place}: {what}"


def _too_slow(cause: Cause) -> str:
    spent = cause.time
    where = _line(cause.frames[-1]) if cause.frames else ""
    if spent is None:
        return f"no answer in time; it was {where or 'in a line that is not known'}"
    if spent.answered:
        longest = f"{_counted_calls(spent.answered)} answered in {spent.limit:g} s, the slowest in {spent.longest:g} s"
        found = f"too slow: only {longest}; the next one was stopped {where}".rstrip()
    else:
        found = f"no answer in {spent.limit:g} s; it was {where or 'in a line that is not known'}"
    return f"{found} (the topic had no more time left: {_used(spent)})" if spent.used else found


def _counted_calls(count: int) -> str:
    return f"{counted(count, 'call')} {'was' if count == 1 else 'were'}"


def _used_up(reason: str, spent: SpentTime | None) -> str:
    return f"{reason}: {_used(spent)}" if spent and spent.used else reason


def _used(spent: SpentTime) -> str:
    return ", ".join(f"{name or 'the import'} took {seconds:g} s" for name, seconds in spent.used)


def _line(frame: Frame) -> str:
    place = f"at {frame.place}" if frame.place else f"in line {frame.line} of {frame.file}"
    return f"{place}, in {frame.function}" + (f": {frame.text}" if frame.text else "")


def _crash(cause: Cause) -> str:
    """How it crashed; completes "your code …"."""
    if cause.memory is None:
        return cause.reason
    where = f"; it was {_line(cause.frames[-1])}" if cause.frames else ""
    return f"{cause.reason}: {_memory(cause.memory)}{where}"


def _memory(memory: TooMuchMemory) -> str:
    asked = f"torch asked for {_size(memory.asked)} more, and " if memory.asked else ""
    held = f"it held {_size(memory.held)}, and " if memory.held else ""
    return f"{asked or held}the limit is {_size(memory.limit)}"


def _size(count: int) -> str:
    return f"{count / 2**30:.3g} GiB" if count >= 1 << 30 else f"{count / 2**20:.3g} MiB"


def _found(owner: str) -> object:
    """A module that this process has imported, a class or a function of torch or of Python; None if there is none."""
    modules = (sys.modules.get(name) for name in ("torch", *_HOMES, "builtins"))
    homes = (getattr(module, owner, None) for module in modules)
    return sys.modules.get(owner) or next((found for found in homes if callable(found)), None)


def _members(owner: str) -> list[str]:
    """The public names of a module, or of a class of torch or of Python; none if it is not known."""
    found = _found(owner)
    return [] if found is None else [name for name in dir(found) if not name.startswith("_")]


def _parameters(function: str) -> list[str]:
    """The names of a function's or a class's parameters; none if they are not known."""
    try:
        return list(inspect.signature(_found(function.removesuffix(".__init__"))).parameters)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return []


def _no_attribute(found: re.Match[str]) -> str:
    owner, name = found[1], found[2]
    members = _members(owner)
    near = close_names(name, members) or (
        full_names(name) if members else []
    )  # a student's own class has no members here
    return f"{owner} has no `{name}`{did_you_mean(near)}"


def _name(found: re.Match[str]) -> str:
    if line := IMPORTS.get(found[1]):
        return f"`{found[1]}` is not defined: write `{line}` at the top of the file"
    return f"`{found[1]}` is not defined{did_you_mean(full_names(found[1]) or close_names(found[1], dir(builtins)))}"


def full_names(name: str) -> list[str]:
    """How a name is written that torch has, and that is not imported: ``float32`` is ``torch.float32``."""
    homes = (("torch", "torch"), ("nn", "torch.nn"), ("F", "torch.nn.functional"), ("math", "math"))
    if name in IMPORTS:
        return []
    found = ((short, getattr(sys.modules.get(home), name, None)) for short, home in homes)
    return next(([f"{short}.{name}"] for short, one in found if one is not None and not inspect.ismodule(one)), [])


def _sizes(text: str) -> str:
    """``2x3`` or ``[2, 3]`` as a shape: ``(2, 3)``."""
    sizes = re.findall(r"\d+", text)
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"


def _unknown_argument(found: re.Match[str]) -> str:
    function = found[1].removesuffix(".__init__")
    return f"`{function}` has no argument `{found[2]}`{did_you_mean(close_names(found[2], _parameters(function)))}"


def _operands(found: re.Match[str]) -> str:
    operator, *kinds = found[1].removesuffix(" or pow()"), found[2], found[3]
    sentence = f"`{operator}` cannot join {with_article(kinds[0])} and {with_article(kinds[1])}"
    repairs = {
        "torch.return_types": "with a `dim`, `max` and `min` give values and indices: take `.values`, or use `amax`",
        "tuple": "take the value out of the tuple first, as in `x, = ...`",
        "method": "a method needs its brackets `()`",
        "function": "a function needs its brackets `()`",
        "str": "text is no number: convert it by `int` or `float`",
        "list": "make a tensor of the list first",
    }
    known = (repair for part, repair in repairs.items() if any(part in kind for kind in kinds))
    return ": ".join([sentence, *itertools.islice(known, 1)])


def _unpacking(found: re.Match[str]) -> str:
    there = f"there are {found[3]}" if found[3] else "there are more" if found[1] == "too many" else "there are fewer"
    return f"the names on the left take {counted(int(found[2]), 'value')}, and {there}: what does the right side give?"


def _no_parts(found: re.Match[str]) -> str:
    kind = found[1] or found[2]
    repair = ": call it, with `()`" if "method" in kind else ": `range(...)` counts up to it" if kind == "int" else ""
    return f"{with_article(kind)} has no parts to loop over or to take apart{repair}"


def _no_dimension(found: re.Match[str]) -> str:
    low, high, asked = map(int, found.groups())
    dims = "`dim` may be 0 or -1" if high == 0 else f"`dim` may be 0 to {high}, or {low} to -1 from the end"
    return f"this tensor has no dimension {asked}: {dims}"


def _product(found: re.Match[str]) -> str:
    (_, inner), (other, _) = (re.findall(r"\d+", shape) for shape in (found[1], found[2]))
    shapes = f"shapes {_sizes(found[1])} and {_sizes(found[2])} cannot be multiplied"
    return f"{shapes}: the first has {inner} columns, the second {other} rows"


IMPORTS: Final = {
    **{name: f"import {name}" for name in ("math", "os", "random", "copy", "itertools", "functools", "time", "torch")},
    "nn": "from torch import nn",
    "F": "import torch.nn.functional as F",
    "dist": "import torch.distributed as dist",
    "np": "import numpy as np",
    "deepcopy": "from copy import deepcopy",
    "DDP": "from torch.nn.parallel import DistributedDataParallel as DDP",
    **{name: f"from torch.utils.data import {name}" for name in ("DataLoader", "Dataset", "Subset", "TensorDataset")},
}
"""Names of modules and classes that students use without an import, and the line that imports each."""
_FORGOT: Final = "did a function that gives this value forget `return`?"
_NONE: Final = f"there is None where a value is needed: {_FORGOT}"
_SUPER: Final = "call `super().__init__()` first in `__init__`: before it a module can hold no layers and no parameters"


_LOSS: Final = "a loss of `nn` is a layer: make it first, then call it, as `nn.CrossEntropyLoss()(logits, labels)`"


_HOMES: Final = ("torch.nn", "torch.nn.functional", "torch.optim", "torch.utils.data", "torch.Tensor")

_IN_LINES: Final[tuple[tuple[str, str, Sentence], ...]] = (
    (
        r"NoneType",
        r"=.*\b(?:all_reduce|broadcast|reduce|barrier|clip_grad_value_)\(.*\)",
        "what is called here changes tensors in place and returns None: go on with the tensor itself",
    ),
    (
        r"NoneType",
        r"\.grad\b",
        "a `.grad` is None here: a tensor has none before a `backward` reaches it. Ask `is None` first",
    ),
    (r"NoneType", r"\.bias\b", "a `.bias` is None here: a layer may have been made without one. Ask `is None` first"),
    (
        r"NoneType",
        r"\.load_state_dict\(",
        "`load_state_dict` got None: no weights were kept. Was the condition to keep them never true?",
    ),
    (
        r"Boolean value of Tensor",
        r"\.grad\b",
        "this asks whether the numbers of a gradient are true; `.grad is not None` asks whether there is one",
    ),
    (
        r"not enough values to unpack",
        r"\.saved_tensors\b",
        "`ctx.saved_tensors` has less in it than you take out: does `forward` call `ctx.save_for_backward`?",
    ),
    (
        r"values to unpack|iteration over a 0-d",
        r"\bin .*\.parameters\(\)",
        "`parameters()` gives tensors alone: names and tensors come from `named_parameters()`",
    ),
    (
        r": tuple index out of range",
        r"\.shape\[|\.size\(\)\[",
        "the tensor has fewer dimensions than you ask for: its shape has one entry for each",
    ),
    (
        r"^(?:RuntimeError|TypeError|AcceleratorError)",
        r"\bGenerator\([^)\s]",
        "`torch.Generator(...)` takes a device, no seed: write `torch.Generator().manual_seed(seed)`",
    ),
    (
        r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)",
        r"^(?!.*keepdim).*\.(?:sum|mean|amax|amin|std|var|norm)\((?!\))",
        lambda m: (
            f"sizes {m[1]} and {m[2]} do not broadcast: did a sum, a mean or a maximum in this line lose its "
            "dimension? `keepdim=True` keeps it, with size 1"
        ),
    ),
    (
        r"^KeyError: \d+$|^EOFError|UnpicklingError: (?!.*(?:WeightsUnpickler|Unsupported))|PytorchStreamReader failed",
        r"\btorch\.load\(",
        "the file is not a complete file of `torch.save`: was a save interrupted, or is it another file?",
    ),
    (
        r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)",
        r"\w \* \w+\.(?:T\b|mT\b|t\()",
        lambda m: (
            f"`*` multiplies entry by entry, and sizes {m[1]} and {m[2]} do not fit for that: `@` is the matrix product"
        ),
    ),
    (
        r"values to unpack",
        r"\bin .*\bstate(?:_dict\(\))?(?![\w.])",
        "a loop over a dict gives its keys alone: `.items()` gives keys and values",
    ),
    (r"Boolean value of Tensor", r"\w+Loss\([^)]", _LOSS),
    (
        r"outputs must be a Tensor|NoneType",
        r"\(\w+\.backward\(\)\)",
        "`backward` returns None, and here its result is used: call it on what the outer call returns",
    ),
    (
        r": new\(\) received an invalid combination",
        r"\bTensor\(",
        "`torch.Tensor` is a class and takes no such arguments: `torch.tensor(...)` makes a tensor of numbers",
    ),
)
"""As `_EXCEPTIONS`, which come after these; between the two, what the student's line must have in it."""

_OTHER_TYPES: Final = (
    (r"a tensor of shape \(\) where an? (?:float|int|bool) was", "`.item()` makes a Python number of it"),
    (r"\ba function where", "call it, with `()`"),
    (r"\ba tuple where a list was expected", "`list(...)` makes one"),
    (r"\ba list where a tuple was expected", "`tuple(...)` makes one"),
    (r"\ba float where an int was expected", "`//` divides whole numbers, `/` always gives a float"),
    (r"\ba tuple where a tensor", "`max` with a `dim`, for one, gives values and indices: take the part that is asked"),
    (r"\ba list where a tensor", "make a tensor of it"),
    (r"\ba (?:float|int) where a tensor", "leave out `.item()` or `float(...)`, or make a tensor of it"),
    (r"\ba str where an? (?:int|float) was expected", "`int(...)` or `float(...)` makes a number of it"),
    (r"\bnan where", "nan comes of 0 / 0, inf - inf, 0 * inf or the log of a negative number"),
    (r"cannot be used: ValueError: .* values to unpack", "how many values are to be returned?"),
)
"""Reasons, and how what was returned becomes what was expected."""


_EXCEPTIONS: Final[dict[str, Sentence]] = {
    r"name '(\w+)' is not defined": _name,
    r"variable '(\w+)'": lambda m: (
        f"`{m[1]}` is used before it has a value: on some way through the function it is not set"
    ),
    r"before Module\.__init__\(\)": _SUPER,
    r"object has no attribute '_(?:modules|parameters|buffers|backward_hooks)'": _SUPER,
    r"'NoneType' object has no attribute '(\w+)'": lambda m: f"`.{m[1]}` is asked of None: {_FORGOT}",
    r"'NoneType'|not NoneType|but got NoneType": _NONE,
    r"module '([\w.]+)' has no attribute '(\w+)'": _no_attribute,
    r": '(?:function|method|builtin_function_or_method)' object has no attribute '(\w+)'": lambda m: (
        f"`.{m[1]}` is asked of a function itself: call it first, with `()`"
    ),
    r"'\w+Loss' object has no attribute": _LOSS,
    r"'_IncompatibleKeys' object": (
        "`load_state_dict` changes the model and returns the names that did not fit: go on with the model itself"
    ),
    r"'(\w+)' object has no attribute '(\w+)'": _no_attribute,
    r"No module named '([\w.]+)'": lambda m: (
        f"the module `{m[1]}` is not installed here: use only what the exercise's file imports already"
    ),
    r"cannot import name '(\w+)' from '([\w.]+)'": lambda m: (
        f"`{m[2]}` has no `{m[1]}`{did_you_mean(close_names(m[1], _members(m[2])))}"
    ),
    r"shapes cannot be multiplied \((\d+x\d+) and (\d+x\d+)\)": _product,
    r"tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)": lambda m: (
        f"sizes {m[1]} and {m[2]} meet at dimension {m[3]}: they broadcast only if equal, or if one is 1"
    ),
    r"shape '\[([-\d, ]*)\]' is invalid for input of size (\d+)": lambda m: (
        f"{m[2]} elements do not fit the shape ({m[1]})"
    ),
    r"stack expects each tensor to be equal size, but got (\[[\d, ]*\]) at entry \d+ and (\[[\d, ]*\])": lambda m: (
        f"shapes {_sizes(m[1])} and {_sizes(m[2])} cannot be stacked: all tensors must have one shape"
    ),
    r"must match except in dimension (\d+)\. Expected size (\d+) but got size (\d+)": lambda m: (
        f"sizes {m[2]} and {m[3]} cannot be joined along dimension {m[1]}: all other dimensions must agree"
    ),
    r"batch_size \((\d+)\) to match target batch_size \((\d+)\)": lambda m: (
        f"there are {m[1]} predictions for {m[2]} targets: the first dimensions must be equal"
    ),
    r"size for first two dimensions of batch2 tensor to be: (\[[\d, ]*\]) but got: (\[[\d, ]*\])": lambda m: (
        f"the second batch begins with the shape {_sizes(m[2])} where the first one needs {_sizes(m[1])}"
    ),
    r"got input \(\d+\), mat \((\d+x\d+)\), vec \((\d+)\)": lambda m: (
        f"a matrix of shape {_sizes(m[1])} cannot be multiplied by a vector of shape {_sizes(m[2])}"
    ),
    r"expected tensor (\[[\d, ]*\]) and src (\[[\d, ]*\]) to have the same number of elements": lambda m: (
        f"vectors of shapes {_sizes(m[1])} and {_sizes(m[2])} have no dot product: the lengths must be equal"
    ),
    r"view size is not compatible": (
        "`view` needs memory that is in order, and here it is not (after a transpose, say): `reshape` copies then"
    ),
    r"Tensor with (\d+) elements cannot be converted to Scalar": lambda m: (
        f"`.item()` gives the number of a tensor with one element; this one has {m[1]}"
    ),
    r"Boolean value of Tensor with (?:more than one value|no values)": (
        "`if`, `and` and `not` need one truth value, but this tensor has one for each number: `.all()` or `.any()` "
        "make one"
    ),
    r"leaf Variable that requires grad .*in-place": (
        "a tensor that requires grad was changed in place: do that under `torch.no_grad()`, or make a new tensor"
    ),
    r"modified by an inplace operation": (
        "a tensor that the gradient needs was changed in place after it was used: make a new tensor instead"
    ),
    r"does not require grad and does not have a grad_fn": (
        "this value has no graph back to a parameter: was it made under `no_grad`, or by `.item()`, `.detach()` or "
        "`.data`? Or is every parameter frozen?"
    ),
    r"grad can be implicitly created only for scalar outputs": (
        "`backward` starts at one number: make the loss a scalar first, by `.mean()` or `.sum()`"
    ),
    r"backward through the graph a second time": (
        "`backward` runs twice through one graph: compute the loss anew, or keep the graph (`retain_graph=True`)"
    ),
    r"numpy\(\) on Tensor that requires grad": (
        "a tensor that requires grad cannot become NumPy as it is: `.detach()` first"
    ),
    r"on the same device, but (?:found at least two devices, |got \w+ is on )"
    r"([a-z]+(?::\d+)?)(?: and |, different from other tensors on )([a-z]+(?::\d+)?)": lambda m: (
        f"two tensors are on different devices, {m[1]} and {m[2]}: move one of them with `.to(...)`"
    ),
    r"have the same dtype, but got:? (\w[\w ]*?)(?: and | != )(\w[\w ]*)": lambda m: (
        f"the tensors have different dtypes, {m[1]} and {m[2]}: convert one with `.to(...)`"
    ),
    r"expected scalar type (\w+) but found (\w+)": lambda m: (
        f"the dtype is {m[2]} where {m[1]} is needed: convert it with `.to(...)`"
    ),
    r": (\w+)\(\): could not infer output dtype.* Got: (\w+)": lambda m: (
        f"`{m[1]}` needs floating point numbers, and the dtype is {m[2]}: convert with `.float()` first"
    ),
    r"not compiled with CUDA|No CUDA GPUs are available|Found no NVIDIA driver": (
        "there is no CUDA here: stay on the device of the tensors that you are given, instead of `.cuda()`"
    ),
    r": transpose\(\) (?:received an invalid combination|missing)": (
        "`transpose` needs the two dims that change places, such as `x.transpose(0, 1)`; `x.T` turns a matrix"
    ),
    r"No such file or directory: '(?:.*/)?([^/']+)' -> '(?:.*/)?([^/']+)'": lambda m: (
        f"there is no `{m[1]}` to become `{m[2]}`: the file that exists comes first, its new name second"
    ),
    r"No such file or directory: '([^/\\'][^']*)'": lambda m: (
        f"`{m[1]}` is not there while you are graded: only your code is taken along, so make the data in it"
    ),
    r"urlopen error|Network is unreachable|[Nn]ame resolution|Name or service not known": (
        "there is no network while you are graded: make the data in the code"
    ),
    r"([\w.]+)\(\) got an unexpected keyword argument '(\w+)'": _unknown_argument,
    r"unsupported operand type\(s\) for (.+): '([\w.]+)' and '([\w.]+)'": _operands,
    r"(too many|not enough) values to unpack \(expected (?:at least )?(\d+)(?:, got (\d+))?": _unpacking,
    r"Dimension out of range \(expected to be in range of \[(-?\d+), (-?\d+)\], but got (-?\d+)\)": _no_dimension,
    r": '([\w.]+)' object is not callable": lambda m: (
        f"{with_article(m[1])} is called with `()` as if it were a function: leave the brackets out; or has "
        "a value here the name of a function?"
    ),
    r": '([\w.]+)' object is not subscriptable": lambda m: (
        f"`[...]` is asked of {with_article(m[1])}, which has no items: a function needs `()`, and a loader a loop"
    ),
    r": (?:'([\w.]+)' object is not iterable|cannot unpack non-iterable ([\w.]+) object)": _no_parts,
    r": (\w+)\(\) argument must be .*, not '(\w+)'": lambda m: (
        f"`{m[1]}` makes one number of one value, and this is {with_article(m[2])}"
    ),
    r": invalid index of a 0-dim tensor": (
        "the tensor that is indexed here has no dimensions, it is one number: `x.view(-1)[i]` works for any shape"
    ),
    r"Expected floating point type for target with class probabilities": (
        "`cross_entropy` got predictions of the labels' own shape: it takes logits of shape (n, classes), before any "
        "`argmax`"
    ),
    r": (?:len\(\) of|iteration over) a 0-d tensor": (
        "a tensor without dimensions has no `len` and no rows: `.numel()` and `.shape` work for every tensor"
    ),
    r": (\w+)\(\): argument '(\w+)' (?:\(position \d+\) )?must be (.+), not (\w+)$": lambda m: (
        f"`{m[1]}` takes {m[3]} as `{m[2]}`, and this is {with_article(m[4])}"
        f"{f': `math.{m[1]}` takes numbers' if m[4] in ('int', 'float') and hasattr(math, m[1]) else ''}"
    ),
    r": (\w+)\(\) received an invalid combination of arguments - got \((.{0,80}?)\)": lambda m: (
        f"`{m[1]}` does not take these arguments: ({m[2]}). Which does it, and in which order?"
    ),
    r": an object of class (?:function|method|builtin_function_or_method|type) is not": (
        "your code returned a function or a class itself: call it, with `()`"
    ),
    r": str expected, not (\w+)": lambda m: f"the environment holds text only, and this is {with_article(m[1])}",
    r": list indices must be integers or slices, not (\w+)": lambda m: (
        f"a list takes one int as its index, and this is {with_article(m[1])}"
    ),
    r": Module \[(\w+)\] is missing the required \"forward\" function": lambda m: (
        f"`{m[1]}` has no method `forward`: is it misspelled, or indented into another method?"
    ),
    r": \"bitwise_xor": "`^` is no power in Python: write `**`",
    r"log_softmax\w*\" not implemented for 'Long'": (
        "the loss got classes where scores belong: are its arguments swapped?"
    ),
    r"Expected state_dict to be dict-like, got <class '(?:[\w.]+\.)?(\w+)'>": lambda m: (
        f"`load_state_dict` takes a dict of tensors, and this is {with_article(m[1])}: `torch.load` reads a file"
    ),
    r"expected 'f' to be string, path": "`torch.save` takes first what to save, then where: are they swapped?",
    r"assigned grad expected to be a Tensor or None but got grad of type (\w+)": lambda m: (
        f"a `.grad` is a tensor or None, and this is {with_article(m[1])}"
    ),
    r"expected np\.ndarray \(got (\w+)\)": lambda m: (
        f"`from_numpy` takes an array of NumPy, and this is {with_article(m[1])}: `torch.tensor` takes lists"
    ),
    r"object of type '(\w+)' has no len\(\)": lambda m: (
        f"`len` is asked of {with_article(m[1])}, which has none"
        f"{'' if hasattr(builtins, m[1]) else ': a class gets one by its method `__len__`'}"
    ),
    r"'([\w.]+)' object cannot be interpreted as an integer": lambda m: (
        f"one int is needed here, and this is {with_article(m[1])}"
    ),
    r"dictionary (?:keys changed|changed size) during iteration": (
        "a dict was changed while a loop went over it: fill a new dict instead"
    ),
    r"list index out of range": "the index is past the end of its list: n items have the indices 0 to n - 1",
    r"descriptor '__init__' of 'super' object": "`super` itself needs its brackets: `super().__init__()`",
    r"torch\.nn\.[\w.]*?(\w+) is not a Module subclass": lambda m: (
        f"`{m[1]}` is a class and no layer: `nn.{m[1]}()` makes one"
    ),
    r"Invalid rank (\d+), rank should be in the interval \[0, (-?\d+)\]": lambda m: (
        f"there is no rank {m[1]} of {int(m[2]) + 1}: are the rank and the number of ranks swapped?"
    ),
    r"(?:min|max)\(\) arg is an empty sequence|(?:min|max)\(\) iterable argument is empty": (
        "nothing is the least or the largest of no items: treat the empty case first, or give a `default=`"
    ),
    r"list is not a Module subclass": "`nn.Sequential` takes layers one by one: `nn.Sequential(*layers)` for a list",
    r": \"([a-z_]+?)(?:_(?:out|cpu|cuda|frame|impl))*\" not implemented for '(\w+)'": lambda m: (
        f"`{m[1]}` does not work with the dtype {m[2]}: convert with `.to(...)` first"
    ),
    r"at start of device string: (\w+)": lambda m: f"`{m[1]}` is no kind of device: torch says `cpu` and `cuda`",
    r": Invalid device string: '(\w+)'": lambda m: (
        f"the text '{m[1]}' is taken for the name of a device: a dtype has no quotes, as `torch.float32`"
    ),
    r": 1D tensors expected, but got (\d)D and (\d)D": lambda m: (
        f"`dot` takes two vectors, and these have {m[1]} and {m[2]} dimensions: `@` multiplies matrices"
    ),
    r"expected index (\[.*?\]) to be no larger than self (\[.*?\]) apart from dimension (\d+)": lambda m: (
        f"an index of shape {_sizes(m[1])} does not fit a tensor of shape {_sizes(m[2])} along dimension "
        f"{m[3]}: is it the right dimension?"
    ),
    r": Index tensor must have the same number of dimensions": (
        "the index needs as many dimensions as the tensor: `unsqueeze` adds one"
    ),
    r": (\w+)\(\): Expected reduction dim": lambda m: (
        f"`{m[1]}` of no elements at all does not exist: treat an empty tensor first"
    ),
    r": __len__\(\) should return >= 0": "your `__len__` gives a negative number: the least is 0",
    r"expected target dtype to be Long|expected scalar type Long but found|not implemented for 'Float'.*nll": (
        "`cross_entropy` takes the classes as integers: labels of dtype int64"
    ),
    r": Target (-?\d+) is out of bounds": lambda m: (
        f"the label {m[1]} has no column among the logits: there is one for each class, counted from 0"
    ),
    r": tensors used as indices must be long": (
        "an index must be integers or True and False: convert it with `.long()` or `.bool()`"
    ),
    r": result type (\w+) can't be cast to the desired output type (\w+)": lambda m: (
        f"the result is {m[1]}, and is written into a tensor of {m[2]}: make a new tensor instead"
    ),
    r": Error\(s\) in loading state_dict for (\w+):\s+(.{1,120})": lambda m: (
        f"the weights do not fit {m[1]}: {m[2].strip()}"
    ),
    r": optimizer got an empty parameter list": (
        "the optimizer has no parameters: layers in a plain list or a local variable are no part of the model"
    ),
    r": can't optimize a non-leaf": "an optimizer takes parameters, and no tensors computed from them",
    r"environment variable (\w+) expected, but not set": lambda m: (
        f"`init_process_group` looks for {m[1]} in the environment unless you pass `rank` and `world_size`"
    ),
    r": manual_seed\(?\)?:? expected a long, but got (\w+)": lambda m: (
        f"a seed is an int, and this is {with_article(m[1])}: convert it by `int(...)`"
    ),
    r": sampler option is mutually exclusive with shuffle": (
        "a DataLoader takes a sampler or `shuffle`, not both: the sampler shuffles already"
    ),
    r": (?:Default process group has not been initialized|.*make sure to call init_process_group)": (
        "there is no process group yet: `init_process_group` comes first"
    ),
    r"^KeyError: (.{1,60})$": lambda m: (
        f"there is no entry {m[1]}: is it spelled as where it was put in? `.get` gives a default"
    ),
    r"^RecursionError": "your code calls itself without an end: when does it stop?",
    r"^EOFError": "`input()` has nobody to ask while you are graded: use the function's arguments instead",
    r"^BdbQuit": "`breakpoint()` cannot stop while you are graded: print values, or stop there under `grader debug`",
    r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)": lambda m: (
        f"index {m[1]} is asked of dimension {m[2]}, which has size {m[3]}: indices begin at 0"
    ),
}
"""The pattern that ``TypeError: the message`` must match, and the sentence. The first that fits counts."""

_NEWER_SYNTAX: Final = (
    ((3, 12), r"^\s*type\s+\w+.*="),
    ((3, 12), r"^\s*(?:async\s+)?(?:def|class)\s+\w+\s*\["),
    ((3, 12), r"""f"[^"]*\{[^}"]*"[^}]*\}|f'[^']*\{[^}']*'[^}]*\}"""),
    ((3, 11), r"^\s*except\s*\*"),
    ((3, 14), r"^\s*except\s+\w+(?:\s*,\s*\w+)+\s*:"),
    ((3, 14), r"\bt[\"']"),
    ((3, 10), r"^\s*(?:match|case)\s.*:\s*$"),
)
"""Python's versions, and how a line looks that needs them at least."""
