"""Runs the lines of a course's questions, each by itself, and says what they give. For a new Python only.

The lines are the course's own, as its checks are; no submission is ever loaded here.
"""

import contextlib
import io
import json
import random
import sys
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional


def main() -> None:
    """Reads ``{"seed": 0, "questions": [[code, ask], ...]}``, and writes ``[[answer, problem], ...]``."""
    given = json.load(sys.stdin)
    torch.set_num_threads(1)
    out = sys.stdout
    json.dump([answer_of(code, ask, given["seed"]) for code, ask in given["questions"]], out)


def answer_of(code: str, ask: str, seed: int) -> Sequence[str]:
    """What the last line of the code gives, as text, and why there is nothing, which is empty if there is something."""
    *before, last = code.strip("\n").split("\n")
    torch.manual_seed(seed)
    random.seed(seed)
    names: dict[str, Any] = {"torch": torch, "nn": nn, "F": functional}
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile("\n".join(before), "<question>", "exec", dont_inherit=True), names)
            value = eval(compile(last, "<question>", "eval", dont_inherit=True), names)
            return _in_words(value, ask), ""
    except Exception as error:
        return "", f"{type(error).__name__}: {error}"


def _in_words(value: Any, ask: str) -> str:
    match ask:
        case "shape":
            return str(tuple(value if isinstance(value, torch.Size) else value.shape))
        case "dtype":
            return str(value if isinstance(value, torch.dtype) else value.dtype)
        case "number":
            return f"{float(value):.6g}"
        case _:
            return str(value)
