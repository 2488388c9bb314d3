"""Shows values in one bounded line, as code that can be pasted if that is possible.

Never calls a method that submitted code could have defined: it is given decoded data only.
"""

import ast
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from types import FunctionType
from typing import Any, Final

import torch
from torch import Tensor

from grader.border import arrays, tables
from grader.border.labels import label_of
from grader.border.proxies import Call, Drawn, FarObject, RemoteFunction, is_iterator, maker_of
from grader.testkit.within_probes import call_within

MAX_LINE: Final = 400
MAX_SHOWN_ITEMS: Final = 50
_MOST_EARLIER: Final = 120
"""Characters of earlier calls beside a call."""
_OF_PROBES: Final = (bool, str, type(None))
"""What a probe is given besides the arguments of the submission's function: messages leave it out."""
_LONGEST_TEXT: Final = 4_000
"""Characters of a text that are looked at, before the line is cut."""


class SomeEntries(dict[object, object]):
    """Some entries of a dict, the others left out."""


def show(value: object, limit: int = MAX_LINE) -> str:
    """One line for a value.

    Args:
        limit: characters at most; the middle of a longer line is left out.
    """
    line = _show(value, [4 * limit])
    return line if len(line) <= limit else f"{line[: limit * 2 // 3]} … {line[-limit // 4 :]}"


def show_call(call: Call) -> str:
    """A use of the submission as a line that can be pasted: ``gram(tensor([[1., 2.]]))``.

    If it cannot be written as such a line, it does not look like one: ``fit with <Sequential>, 3, 0.1``.
    """
    if call.line:
        return call.line
    functions = [one for one in call.args if isinstance(one, RemoteFunction)]
    if functions and call.owner is None and "." in call.name:
        # A probe calls the submission's function: the function is what a student knows.
        within = call_within(call)
        if within is not None and _can_be_pasted(text := _code(within)) and not _uses_one_object_twice(within):
            return text
        others = [one for one in call.args if one is not functions[0] and not isinstance(one, _OF_PROBES)]
        return f"{show(functions[0])} with {', '.join(map(show, others))}" if others else show(functions[0])
    text = _code(call)
    if _can_be_pasted(text) and not _uses_one_object_twice(call):
        return text
    name = show(call.owner) + ("" if call.name == "[]" else f".{call.name}") if call.owner is not None else call.name
    parts = _parts(call)
    return name.rstrip(".") + (f" with {', '.join(parts)}" if parts else "")


def show_earlier(call: Call, calls: Sequence[Call]) -> str:
    """A comment for the line of a call: what else was asked of its object before; empty if nothing was.

    Args:
        calls: those before it, and it itself, in order.
    """
    own = list(itertools.takewhile(lambda one: one is not call, calls))
    asked = [one for one in own if one.owner is call.owner and one.owner is not None and not one.is_read]
    asked = [one for one in asked if one.name.isidentifier() or not one.name]
    if not isinstance(call.owner, FarObject) or not asked or len(own) == len(calls):
        return ""
    shown = ", ".join(f"{one.name or 'it'}({', '.join(_parts(one))})" for one in asked)
    if len(shown) > _MOST_EARLIER or "\n" in shown:
        shown = ", ".join(dict.fromkeys(f"{one.name or 'it'}(...)" for one in asked))[:_MOST_EARLIER]
    return f"  # after {shown}"


def _code(call: Call) -> str:
    parts = _parts(call)
    if call.owner is None:
        return call.name if call.is_read else f"{call.name}({', '.join(parts)})"
    owner = show(call.owner)
    if call.name == "[]":
        return f"{owner}[{parts[0]}]"
    head = f"{owner}.{call.name}" if call.name else owner
    return head if call.is_read else f"{head}({', '.join(parts)})"


def _parts(call: Call) -> list[str]:
    return [show(arg) for arg in call.args] + [f"{key}={show(value)}" for key, value in call.kwargs.items()]


def _can_be_pasted(text: str) -> bool:
    """Whether a line is an expression in which nothing is left out."""
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return not any(isinstance(node, ast.Constant) and node.value is ... for node in ast.walk(tree))


def _uses_one_object_twice(call: Call) -> bool:
    """Whether the line would make an object twice that is one and the same, such as a model and its optimizer's."""
    handles = list(_handles((call.owner, *call.args, *call.kwargs.values())))
    return any(one == other for n, one in enumerate(handles) for other in handles[:n])


def _handles(values: Iterable[object]) -> Iterator[FarObject]:
    """The objects of the submission that a line makes, those within others included."""
    for value in values:
        if isinstance(value, FarObject):
            yield value
            if (made := maker_of(value)) is not None:
                yield from _handles((made.owner, *made.args, *made.kwargs.values()))
        elif isinstance(value, list | tuple):
            yield from _handles(value)
        elif isinstance(value, dict):
            yield from _handles(value.values())


def _show(value: object, room: list[int]) -> str:
    """The whole text of a value, until `room` (characters left, in a list of one) is used up: `…` from then on."""
    if room[0] <= 0:
        return "…"
    if isinstance(value, dict):
        pairs = (f"{_show(key, room)}: {_show(item, room)}" for key, item in value.items())
        more = len(value) + isinstance(value, SomeEntries)
        return "{" + (_joined(pairs, more, room) if value else "…") + "}" if more else "{}"
    if isinstance(value, list | tuple) and type(value) is not torch.Size:
        items = _joined((_show(item, room) for item in value), len(value), room)
        return f"[{items}]" if isinstance(value, list) else f"({items},)" if len(value) == 1 else f"({items})"
    if tables.is_table(value):
        return _table(value, room)
    if isinstance(value, Drawn):
        return f"iter({_show(list(value.items), room)})"
    text = _one(value)
    room[0] -= len(text) + 2
    return text


def _table(value: Any, room: list[int]) -> str:
    """A frame or a column, as code if it is small."""
    kind, rows = type(value).__name__, value.index
    if value.size > MAX_SHOWN_ITEMS or (kind == "DataFrame" and not value.columns.is_unique):
        return f"<{kind} of shape {value.shape}>"
    parts = {"": value.to_dict("list") if kind == "DataFrame" else value.tolist()}
    if rows.tolist() != [*range(len(value))]:
        parts["index="] = rows.tolist()
    if kind == "Series" and value.name is not None:
        parts["name="] = value.name
    return f"pd.{kind}({', '.join(f'{name}{_show(part, room)}' for name, part in parts.items())})"


def _joined(parts: Iterable[str], count: int, room: list[int]) -> str:
    """The first of some texts, as far as there is room."""
    shown = []
    for part in itertools.islice(parts, MAX_SHOWN_ITEMS):
        shown.append(part)
        if room[0] <= 0:
            break
    return ", ".join(shown) + (", …" if count > len(shown) else "")


def _one(value: object) -> str:
    if isinstance(value, Tensor):
        return _tensor(value)
    if isinstance(value, torch.device):
        return f"torch.device({str(value)!r})"
    if type(value) in arrays.SCALARS:
        return f"np.{arrays.SCALARS[type(value)]}({_one(arrays.as_number(value))})"
    if arrays.is_array(value):
        return _array(value)
    if isinstance(value, float):
        text = f"{value:.6g}"
        return text if set(text) & set(".en") else f"{text}.0"
    if isinstance(value, PurePath):
        return f"Path({str(value)!r})"
    if isinstance(value, FarObject) and (made := maker_of(value)) is not None:
        return _code(made)
    if type(value) is torch.Size:
        return f"torch.Size({list(value)})"
    if isinstance(value, FunctionType | type):
        module = "" if value.__module__ == "builtins" else value.__module__.removeprefix("grader.testkit.")
        return f"{module}.{value.__name__}".removeprefix(".")
    if isinstance(value, str | bytes) and len(value) > _LONGEST_TEXT:
        return f"{value[:_LONGEST_TEXT]!r}…"
    text = repr(value)
    return f"<{type(value).__name__}>" if text[:1] == "<" and is_iterator(value) else text


def _array(value: Any) -> str:
    if not value.size:
        return f"np.zeros({value.shape}, dtype=np.{value.dtype})"
    if value.size > 1000 and value.ndim > 4:  # as for tensors
        return f"<array of shape {value.shape}, dtype {value.dtype}>"
    text = " ".join(repr(value).split()).replace("[ ", "[")
    return f"np.{text}".replace("dtype=", "dtype=np.").replace("np.'", "'")


def _tensor(value: Tensor) -> str:
    label = label_of(value)
    grad = (f", device='{label}'" if label else "") + (", requires_grad=True" if value.requires_grad else "")
    plain = value.detach()
    if not plain.numel():
        dtype = "" if plain.dtype is torch.float32 else f", dtype={plain.dtype}"
        return f"torch.zeros({tuple(plain.shape)}{dtype}{grad})"
    if plain.dim() >= 2 and not plain.is_contiguous() and plain.mT.is_contiguous():
        return f"{_tensor(plain.mT)}.mT"
    if plain.numel() > 1000 and plain.dim() > 4:  # torch leaves out the middle of each dim: six to the power of dims
        return f"<tensor of shape {tuple(plain.shape)}, dtype {plain.dtype}>"
    return " ".join(repr(plain).split()).replace("[ ", "[").removesuffix(")") + f"{grad})"
