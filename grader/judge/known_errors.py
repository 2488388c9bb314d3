"""The meaning of exceptions that students meet often, with their own names and shapes, and repairs for other mistakes.

Looks at texts, and for similar names at the modules that this process has imported anyway. Decides nothing.
"""

import builtins
import difflib
import functools
import inspect
import math
import re
import sys
from collections.abc import Iterable
from typing import Final

from grader.results import Cause
from grader.text import counted, with_article

_SIMILAR: Final = 0.72
_LONGEST_NAME: Final = 60
_MOST_COMPARED: Final = 200


def with_message(cause: Cause) -> str:
    """``ValueError: too few``; the type alone if the exception says nothing."""
    return ": ".join(filter(None, (cause.exception_type, cause.exception_message)))


def on_exception(cause: Cause) -> str:
    """The meaning of an exception, if it is a known one; else empty."""
    line = cause.frames[-1].text if cause.frames else ""
    subject = f"{cause.exception_type}: {cause.exception_message}\n{line}"
    for pattern, sentence in zip(_EXCEPTIONS[::2], _EXCEPTIONS[1::2], strict=True):
        if found := re.search(pattern, subject):
            return repaired(sentence.format(*(_Part(found, number) for number in range(found.re.groups + 1))))
    return ""


class _Part:
    """A group of a pattern in a sentence: ``{1}`` as it is, ``{1:an}`` with its article, ``{1:shape}`` as a shape.

    ``{1:value}`` is a number with a noun, and ``{1:next}`` the number after it. ``{2:member 1}`` offers names of the
    first group that are similar to the second, ``{2:argument 1}`` its arguments, and ``{1:unknown}`` is a sentence.
    """

    def __init__(self, found: re.Match[str], number: int) -> None:
        self._found = found
        self._text = found[number] or ""

    def __format__(self, form: str) -> str:
        match form.split():
            case []:
                return self._text
            case ["an"]:
                return with_article(self._text)
            case ["shape"]:  # of `2x3` or `[2, 3]`
                sizes = re.findall(r"\d+", self._text)
                return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
            case ["next"]:
                return str(int(self._text) + 1)
            case ["unknown"]:
                return unknown_name(self._text)
            case ["member", owner]:  # a student's own class has none here
                members = _members(self._found[int(owner)])
                near = close_names(self._text, members) or (_full_names(self._text) if members else [])
                return did_you_mean(near)
            case ["argument", function]:
                return did_you_mean(close_names(self._text, _parameters(self._found[int(function)])))
        return counted(int(self._text), form)


def repaired(sentence: str) -> str:
    """A sentence about something that does not fit, and how it is made to fit, if that is known."""
    repairs = [repair for pattern, repair in _REPAIRS if re.search(pattern, sentence)]
    return ": ".join([sentence, *repairs[:1]])


# ---------------------------------------------------------------- similar names


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
    return difflib.get_close_matches(name, sorted(likely[:_MOST_COMPARED]), n=2, cutoff=_SIMILAR)


def did_you_mean(names: Iterable[str]) -> str:
    """``: did you mean `x`?`` for one or more names; empty for none."""
    listed = " or ".join(f"`{name}`" for name in names)
    return f": did you mean {listed}?" if listed else ""


def unknown_name(name: str, known: Iterable[str] = ()) -> str:
    """The sentence about a name that is not defined, beside Python's own names and others that are known."""
    if line := _IMPORTS.get(name):
        return f"`{name}` is not defined: write `{line}` at the top of the file"
    near = _full_names(name) or close_names(name, {*known, *dir(builtins)})
    return f"`{name}` is not defined{did_you_mean(near)}"


def _full_names(name: str) -> list[str]:
    """How a name is written that torch has, and that is not imported: ``float32`` is ``torch.float32``."""
    homes = (("torch", "torch"), ("nn", "torch.nn"), ("F", "torch.nn.functional"), ("math", "math"))
    found = ((short, getattr(sys.modules.get(home), name, None)) for short, home in homes)
    return next(([f"{short}.{name}"] for short, one in found if one is not None and not inspect.ismodule(one)), [])


def _members(owner: str) -> list[str]:
    """The public names of a module, or of a class of torch or of Python; none if it is not known."""
    found = _found(owner)
    return [] if found is None else [name for name in dir(found) if not name.startswith("_")]


def _found(owner: str) -> object:
    """A module that this process has imported, a class or a function of torch or of Python; None if there is none."""
    homes = ("torch", "torch.nn", "torch.nn.functional", "torch.optim", "torch.utils.data", "torch.Tensor", "builtins")
    values = (getattr(sys.modules.get(home), owner, None) for home in homes)
    return sys.modules.get(owner) or next((value for value in values if callable(value)), None)


def _parameters(function: str) -> list[str]:
    """The names of a function's or a class's parameters; none if they are not known."""
    try:
        return list(inspect.signature(_found(function)).parameters)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return []


# ---------------------------------------------------------------- tables

_IMPORTS: Final = {
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

_REPAIRS: Final = (
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
    (r"method\w* has no parts to loop over", "call it, with `()`"),
    (r"^an int has no parts to loop over", "`range(...)` counts up to it"),
    (
        r"cannot join .*torch\.return_types",
        "with a `dim`, `max` and `min` give values and indices: take `.values`, or use `amax`",
    ),
    (r"cannot join .*tuple", "take the value out of the tuple first, as in `x, = ...`"),
    (r"cannot join .*method", "a method needs its brackets `()`"),
    (r"cannot join .*function", "a function needs its brackets `()`"),
    (r"cannot join .*str", "text is no number: convert it by `int` or `float`"),
    (r"cannot join .*list", "make a tensor of the list first"),
)
"""The mistake in a sentence, and how it is made right. The first that fits counts."""

_FORGOT: Final = "did a function that gives this value forget `return`?"
_SUPER: Final = "call `super().__init__()` first in `__init__`: before it a module can hold no layers and no parameters"
_LOSS: Final = "a loss of `nn` is a layer: make it first, then call it, as `nn.CrossEntropyLoss()(logits, labels)`"
_OF_MATH: Final = "|".join(name for name in dir(math) if not name.startswith("_"))

_EXCEPTIONS: Final = (
    # Exceptions whose meaning depends on the student's line.
    r"(?s)NoneType.*\n.*=.*\b(?:all_reduce|broadcast|reduce|barrier|clip_grad_value_)\(.*\)",
    "what is called here changes tensors in place and returns None: go on with the tensor itself",
    r"(?s)NoneType.*\n.*\.grad\b",
    "a `.grad` is None here: a tensor has none before a `backward` reaches it. Ask `is None` first",
    r"(?s)NoneType.*\n.*\.bias\b",
    "a `.bias` is None here: a layer may have been made without one. Ask `is None` first",
    r"(?s)NoneType.*\n.*\.load_state_dict\(",
    "`load_state_dict` got None: no weights were kept. Was the condition to keep them never true?",
    r"(?s)Boolean value of Tensor.*\n.*\.grad\b",
    "this asks whether the numbers of a gradient are true; `.grad is not None` asks whether there is one",
    r"(?s)not enough values to unpack.*\n.*\.saved_tensors\b",
    "`ctx.saved_tensors` has less in it than you take out: does `forward` call `ctx.save_for_backward`?",
    r"(?s)(?:values to unpack|iteration over a 0-d).*\n.*\bin .*\.parameters\(\)",
    "`parameters()` gives tensors alone: names and tensors come from `named_parameters()`",
    r"(?s): tuple index out of range.*\n.*(?:\.shape\[|\.size\(\)\[)",
    "the tensor has fewer dimensions than you ask for: its shape has one entry for each",
    r"(?s)^(?:RuntimeError|TypeError|AcceleratorError).*\n.*\bGenerator\([^)\s]",
    "`torch.Generator(...)` takes a device, no seed: write `torch.Generator().manual_seed(seed)`",
    r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)"
    r"(?s:.*)\n(?!.*keepdim).*\.(?:sum|mean|amax|amin|std|var|norm)\((?!\))",
    "sizes {1} and {2} do not broadcast: did a sum, a mean or a maximum in this line lose its dimension? "
    "`keepdim=True` keeps it, with size 1",
    r"(?:^KeyError: \d+\n|^EOFError|UnpicklingError: (?!.*(?:WeightsUnpickler|Unsupported))"
    r"|PytorchStreamReader failed)(?s:.*)\btorch\.load\(",
    "the file is not a complete file of `torch.save`: was a save interrupted, or is it another file?",
    r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)(?s:.*)\n.*\w \* \w+\.(?:T\b|mT\b|t\()",
    "`*` multiplies entry by entry, and sizes {1} and {2} do not fit for that: `@` is the matrix product",
    r"(?s)values to unpack.*\n.*\bin .*\bstate(?:_dict\(\))?(?![\w.])",
    "a loop over a dict gives its keys alone: `.items()` gives keys and values",
    r"(?s)Boolean value of Tensor.*\n.*\w+Loss\([^)]",
    _LOSS,
    r"(?s)(?:outputs must be a Tensor|NoneType).*\n.*\(\w+\.backward\(\)\)",
    "`backward` returns None, and here its result is used: call it on what the outer call returns",
    r"(?s): new\(\) received an invalid combination.*\n.*\bTensor\(",
    "`torch.Tensor` is a class and takes no such arguments: `torch.tensor(...)` makes a tensor of numbers",
    # Any line.
    r"name '(\w+)' is not defined",
    "{1:unknown}",
    r"variable '(\w+)'",
    "`{1}` is used before it has a value: on some way through the function it is not set",
    r"before Module\.__init__\(\)|object has no attribute '_(?:modules|parameters|buffers|backward_hooks)'",
    _SUPER,
    r"'NoneType' object has no attribute '(\w+)'",
    f"`.{{1}}` is asked of None: {_FORGOT}",
    r"'NoneType'|not NoneType|but got NoneType",
    f"there is None where a value is needed: {_FORGOT}",
    r"module '([\w.]+)' has no attribute '(\w+)'",
    "{1} has no `{2}`{2:member 1}",
    r": '(?:function|method|builtin_function_or_method)' object has no attribute '(\w+)'",
    "`.{1}` is asked of a function itself: call it first, with `()`",
    r"'\w+Loss' object has no attribute",
    _LOSS,
    r"'_IncompatibleKeys' object",
    "`load_state_dict` changes the model and returns the names that did not fit: go on with the model itself",
    r"'(\w+)' object has no attribute '(\w+)'",
    "{1} has no `{2}`{2:member 1}",
    r"No module named '([\w.]+)'",
    "the module `{1}` is not installed here: use only what the exercise's file imports already",
    r"cannot import name '(\w+)' from '([\w.]+)'",
    "`{2}` has no `{1}`{1:member 2}",
    r"shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)",
    "shapes ({1}, {2}) and ({3}, {4}) cannot be multiplied: the first has {2} columns, the second {3} rows",
    r"tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)",
    "sizes {1} and {2} meet at dimension {3}: they broadcast only if equal, or if one is 1",
    r"shape '\[([-\d, ]*)\]' is invalid for input of size (\d+)",
    "{2} elements do not fit the shape ({1})",
    r"stack expects each tensor to be equal size, but got (\[[\d, ]*\]) at entry \d+ and (\[[\d, ]*\])",
    "shapes {1:shape} and {2:shape} cannot be stacked: all tensors must have one shape",
    r"must match except in dimension (\d+)\. Expected size (\d+) but got size (\d+)",
    "sizes {2} and {3} cannot be joined along dimension {1}: all other dimensions must agree",
    r"batch_size \((\d+)\) to match target batch_size \((\d+)\)",
    "there are {1} predictions for {2} targets: the first dimensions must be equal",
    r"size for first two dimensions of batch2 tensor to be: (\[[\d, ]*\]) but got: (\[[\d, ]*\])",
    "the second batch begins with the shape {2:shape} where the first one needs {1:shape}",
    r"got input \(\d+\), mat \((\d+x\d+)\), vec \((\d+)\)",
    "a matrix of shape {1:shape} cannot be multiplied by a vector of shape {2:shape}",
    r"expected tensor (\[[\d, ]*\]) and src (\[[\d, ]*\]) to have the same number of elements",
    "vectors of shapes {1:shape} and {2:shape} have no dot product: the lengths must be equal",
    r"view size is not compatible",
    "`view` needs memory that is in order, and here it is not (after a transpose, say): `reshape` copies then",
    r"Tensor with (\d+) elements cannot be converted to Scalar",
    "`.item()` gives the number of a tensor with one element; this one has {1}",
    r"Boolean value of Tensor with (?:more than one value|no values)",
    "`if`, `and` and `not` need one truth value, but this tensor has one for each number: `.all()` or `.any()` make "
    "one",
    r"leaf Variable that requires grad .*in-place",
    "a tensor that requires grad was changed in place: do that under `torch.no_grad()`, or make a new tensor",
    r"modified by an inplace operation",
    "a tensor that the gradient needs was changed in place after it was used: make a new tensor instead",
    r"does not require grad and does not have a grad_fn",
    "this value has no graph back to a parameter: was it made under `no_grad`, or by `.item()`, `.detach()` or "
    "`.data`? Or is every parameter frozen?",
    r"grad can be implicitly created only for scalar outputs",
    "`backward` starts at one number: make the loss a scalar first, by `.mean()` or `.sum()`",
    r"backward through the graph a second time",
    "`backward` runs twice through one graph: compute the loss anew, or keep the graph (`retain_graph=True`)",
    r"numpy\(\) on Tensor that requires grad",
    "a tensor that requires grad cannot become NumPy as it is: `.detach()` first",
    r"on the same device, but (?:found at least two devices, |got \w+ is on )([a-z]+(?::\d+)?)"
    r"(?: and |, different from other tensors on )([a-z]+(?::\d+)?)",
    "two tensors are on different devices, {1} and {2}: move one of them with `.to(...)`",
    r"have the same dtype, but got:? (\w[\w ]*?)(?: and | != )(\w[\w ]*)",
    "the tensors have different dtypes, {1} and {2}: convert one with `.to(...)`",
    r"expected scalar type (\w+) but found (\w+)",
    "the dtype is {2} where {1} is needed: convert it with `.to(...)`",
    r": (\w+)\(\): could not infer output dtype.* Got: (\w+)",
    "`{1}` needs floating point numbers, and the dtype is {2}: convert with `.float()` first",
    r"not compiled with CUDA|No CUDA GPUs are available|Found no NVIDIA driver",
    "there is no CUDA here: stay on the device of the tensors that you are given, instead of `.cuda()`",
    r": transpose\(\) (?:received an invalid combination|missing)",
    "`transpose` needs the two dims that change places, such as `x.transpose(0, 1)`; `x.T` turns a matrix",
    r"No such file or directory: '(?:.*/)?([^/']+)' -> '(?:.*/)?([^/']+)'",
    "there is no `{1}` to become `{2}`: the file that exists comes first, its new name second",
    r"No such file or directory: '([^/\\'][^']*)'",
    "`{1}` is not there while you are graded: only your code is taken along, so make the data in it",
    r"urlopen error|Network is unreachable|[Nn]ame resolution|Name or service not known",
    "there is no network while you are graded: make the data in the code",
    r"([\w.]+?)(?:\.__init__)?\(\) got an unexpected keyword argument '(\w+)'",
    "`{1}` has no argument `{2}`{2:argument 1}",
    r"unsupported operand type\(s\) for (.+?)(?: or pow\(\))?: '([\w.]+)' and '([\w.]+)'",
    "`{1}` cannot join {2:an} and {3:an}",
    r"values to unpack \(expected (?:at least )?(\d+), got (\d+)",
    "the names on the left take {1:value}, and there are {2}: what does the right side give?",
    r"too many values to unpack \(expected (?:at least )?(\d+)",
    "the names on the left take {1:value}, and there are more: what does the right side give?",
    r"not enough values to unpack \(expected (?:at least )?(\d+)",
    "the names on the left take {1:value}, and there are fewer: what does the right side give?",
    r"Dimension out of range \(expected to be in range of \[-?\d+, 0\], but got (-?\d+)\)",
    "this tensor has no dimension {1}: `dim` may be 0 or -1",
    r"Dimension out of range \(expected to be in range of \[(-?\d+), (-?\d+)\], but got (-?\d+)\)",
    "this tensor has no dimension {3}: `dim` may be 0 to {2}, or {1} to -1 from the end",
    r": '([\w.]+)' object is not callable",
    "{1:an} is called with `()` as if it were a function: leave the brackets out; or has a value here the name of a "
    "function?",
    r": '([\w.]+)' object is not subscriptable",
    "`[...]` is asked of {1:an}, which has no items: a function needs `()`, and a loader a loop",
    r": (?:'|cannot unpack non-iterable )([\w.]+)(?:' object is not iterable| object\n)",
    "{1:an} has no parts to loop over or to take apart",
    r": (\w+)\(\) argument must be .*, not '(\w+)'",
    "`{1}` makes one number of one value, and this is {2:an}",
    r": invalid index of a 0-dim tensor",
    "the tensor that is indexed here has no dimensions, it is one number: `x.view(-1)[i]` works for any shape",
    r"Expected floating point type for target with class probabilities",
    "`cross_entropy` got predictions of the labels' own shape: it takes logits of shape (n, classes), before any "
    "`argmax`",
    r": (?:len\(\) of|iteration over) a 0-d tensor",
    "a tensor without dimensions has no `len` and no rows: `.numel()` and `.shape` work for every tensor",
    rf": ({_OF_MATH})\(\): argument '(\w+)' (?:\(position \d+\) )?must be (.+), not (int|float)\n",
    "`{1}` takes {3} as `{2}`, and this is {4:an}: `math.{1}` takes numbers",
    r": (\w+)\(\): argument '(\w+)' (?:\(position \d+\) )?must be (.+), not (\w+)\n",
    "`{1}` takes {3} as `{2}`, and this is {4:an}",
    r": (\w+)\(\) received an invalid combination of arguments - got \((.{0,80}?)\)",
    "`{1}` does not take these arguments: ({2}). Which does it, and in which order?",
    r": an object of class (?:function|method|builtin_function_or_method|type) is not",
    "your code returned a function or a class itself: call it, with `()`",
    r": str expected, not (\w+)",
    "the environment holds text only, and this is {1:an}",
    r": list indices must be integers or slices, not (\w+)",
    "a list takes one int as its index, and this is {1:an}",
    r": Module \[(\w+)\] is missing the required \"forward\" function",
    "`{1}` has no method `forward`: is it misspelled, or indented into another method?",
    r": \"bitwise_xor",
    "`^` is no power in Python: write `**`",
    r"log_softmax\w*\" not implemented for 'Long'",
    "the loss got classes where scores belong: are its arguments swapped?",
    r"Expected state_dict to be dict-like, got <class '(?:[\w.]+\.)?(\w+)'>",
    "`load_state_dict` takes a dict of tensors, and this is {1:an}: `torch.load` reads a file",
    r"expected 'f' to be string, path",
    "`torch.save` takes first what to save, then where: are they swapped?",
    r"assigned grad expected to be a Tensor or None but got grad of type (\w+)",
    "a `.grad` is a tensor or None, and this is {1:an}",
    r"expected np\.ndarray \(got (\w+)\)",
    "`from_numpy` takes an array of NumPy, and this is {1:an}: `torch.tensor` takes lists",
    r"object of type '(int|float|bool|complex|map|zip|filter|enumerate|reversed|type)' has no len\(\)",
    "`len` is asked of {1:an}, which has none",
    r"object of type '(\w+)' has no len\(\)",
    "`len` is asked of {1:an}, which has none: a class gets one by its method `__len__`",
    r"'([\w.]+)' object cannot be interpreted as an integer",
    "one int is needed here, and this is {1:an}",
    r"dictionary (?:keys changed|changed size) during iteration",
    "a dict was changed while a loop went over it: fill a new dict instead",
    r"list index out of range",
    "the index is past the end of its list: n items have the indices 0 to n - 1",
    r"descriptor '__init__' of 'super' object",
    "`super` itself needs its brackets: `super().__init__()`",
    r"torch\.nn\.[\w.]*?(\w+) is not a Module subclass",
    "`{1}` is a class and no layer: `nn.{1}()` makes one",
    r"Invalid rank (\d+), rank should be in the interval \[0, (-?\d+)\]",
    "there is no rank {1} of {2:next}: are the rank and the number of ranks swapped?",
    r"(?:min|max)\(\) arg is an empty sequence|(?:min|max)\(\) iterable argument is empty",
    "nothing is the least or the largest of no items: treat the empty case first, or give a `default=`",
    r"list is not a Module subclass",
    "`nn.Sequential` takes layers one by one: `nn.Sequential(*layers)` for a list",
    r": \"([a-z_]+?)(?:_(?:out|cpu|cuda|frame|impl))*\" not implemented for '(\w+)'",
    "`{1}` does not work with the dtype {2}: convert with `.to(...)` first",
    r"at start of device string: (\w+)",
    "`{1}` is no kind of device: torch says `cpu` and `cuda`",
    r": Invalid device string: '(\w+)'",
    "the text '{1}' is taken for the name of a device: a dtype has no quotes, as `torch.float32`",
    r": 1D tensors expected, but got (\d)D and (\d)D",
    "`dot` takes two vectors, and these have {1} and {2} dimensions: `@` multiplies matrices",
    r"expected index (\[.*?\]) to be no larger than self (\[.*?\]) apart from dimension (\d+)",
    "an index of shape {1:shape} does not fit a tensor of shape {2:shape} along dimension {3}: is it the right "
    "dimension?",
    r": Index tensor must have the same number of dimensions",
    "the index needs as many dimensions as the tensor: `unsqueeze` adds one",
    r": (\w+)\(\): Expected reduction dim",
    "`{1}` of no elements at all does not exist: treat an empty tensor first",
    r": __len__\(\) should return >= 0",
    "your `__len__` gives a negative number: the least is 0",
    r"expected target dtype to be Long|expected scalar type Long but found|not implemented for 'Float'.*nll",
    "`cross_entropy` takes the classes as integers: labels of dtype int64",
    r": Target (-?\d+) is out of bounds",
    "the label {1} has no column among the logits: there is one for each class, counted from 0",
    r": tensors used as indices must be long",
    "an index must be integers or True and False: convert it with `.long()` or `.bool()`",
    r": result type (\w+) can't be cast to the desired output type (\w+)",
    "the result is {1}, and is written into a tensor of {2}: make a new tensor instead",
    r": Error\(s\) in loading state_dict for (\w+):\s+(.{0,119}\S)",
    "the weights do not fit {1}: {2}",
    r": optimizer got an empty parameter list",
    "the optimizer has no parameters: layers in a plain list or a local variable are no part of the model",
    r": can't optimize a non-leaf",
    "an optimizer takes parameters, and no tensors computed from them",
    r"environment variable (\w+) expected, but not set",
    "`init_process_group` looks for {1} in the environment unless you pass `rank` and `world_size`",
    r": manual_seed\(?\)?:? expected a long, but got (\w+)",
    "a seed is an int, and this is {1:an}: convert it by `int(...)`",
    r": sampler option is mutually exclusive with shuffle",
    "a DataLoader takes a sampler or `shuffle`, not both: the sampler shuffles already",
    r": (?:Default process group has not been initialized|.*make sure to call init_process_group)",
    "there is no process group yet: `init_process_group` comes first",
    r"^KeyError: (.{1,60})\n",
    "there is no entry {1}: is it spelled as where it was put in? `.get` gives a default",
    r"^RecursionError",
    "your code calls itself without an end: when does it stop?",
    r"^EOFError",
    "`input()` has nobody to ask while you are graded: use the function's arguments instead",
    r"^BdbQuit",
    "`breakpoint()` cannot stop while you are graded: print values, or stop there under `grader debug`",
    r"index (-?\d+) is out of bounds for dimension (\d+) with size (\d+)",
    "index {1} is asked of dimension {2}, which has size {3}: indices begin at 0",
    # A call that did not even begin has no line.
    r"^TypeError: (\w[\w.]*\.\w+)\(\) takes (?:0 \w+ \w+ but 1|1 \w+ \w+ but 2|2 \w+ \w+ but 3|3 \w+ \w+ but 4)\b.*\n$",
    "`{1}` takes one argument too few: is `self` its first one?",
    r"^TypeError: (([\w.]+)\(\) (?:takes|missing|got)\b.*)\n$",
    "`{2}` cannot be called as the check does ({1}): keep the signature",
    r"([\w.]+?)(?:\.__init__)?\(\) missing \d+ required .*arguments?: (.+)",
    "`{1}` is called without {2}, which it needs",
)
"""Patterns, each followed by its sentence. A pattern is looked for in ``TypeError: the message``, and in the next line
that of the student's code which raised it. The first that fits counts."""
