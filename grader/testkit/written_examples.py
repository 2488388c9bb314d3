"""Runs the examples of a docstring in the student process, with the names of the submission's module, and ``torch``.

Decides nothing: it returns what each example printed, gave or raised. Must never hold the output that a docstring
expects.
"""

import ast
import contextlib
import io
import sys
import traceback
from collections.abc import Sequence
from typing import Any, Final

import torch

from grader.testkit import devices


def run(topic: str, sources: Sequence[str], gpus: int = 0) -> list[list[Any]]:
    """Runs statements one after the other, as at Python's prompt.

    Args:
        topic: the name of the submission's module; empty: they know no names of it, and import what they need.
        sources: one statement each, with its line end.
        gpus: how many simulated GPUs there are; 0 means that nothing is simulated.

    Returns:
        For each statement ``[printed, raised]``: its output, and the last line of its traceback or None.
    """
    names = {"torch": torch, **vars(sys.modules[topic])} if topic else {"__name__": "__main__"}
    outcomes: list[list[Any]] = []
    with devices.simulated(gpus) if gpus else contextlib.nullcontext():
        for source in sources:
            output, raised = io.StringIO(), None
            with contextlib.redirect_stdout(output):
                try:
                    exec(compile(source, "<example>", "single", dont_inherit=True), names)
                except Exception as error:
                    raised = traceback.format_exception_only(type(error), error)[-1]
            outcomes.append([output.getvalue(), raised])
    return outcomes


LONGEST: Final = 20_000
"""Characters of what a line prints, or of the text of its value, that are sent."""
MOST_PRINTS: Final = 100
"""Prints of a line whose values are sent."""


class Prompt:
    """The names that the lines of one docstring know; of what they print themselves, the values are kept."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = {**names, "print": self._print}
        self.prints: list[tuple[str, Any]] = []

    def _print(self, *values: Any, sep: str | None = None, end: str | None = None, **others: Any) -> None:
        text = (" " if sep is None else sep).join(map(str, values)) + ("\n" if end is None else end)
        if len(self.prints) < MOST_PRINTS:
            self.prints.append((text[:LONGEST], values[0] if len(values) == 1 else None))
        print(text, end="", **others)


def begin(imports: str, names: Sequence[str], *values: object) -> Prompt:
    """Makes the names of a docstring's lines: those that its module imports, and these of the submission."""
    known: dict[str, Any] = {"torch": torch}
    exec(compile(imports, "<example>", "exec", dont_inherit=True), known)
    return Prompt(known | dict(zip(names, values, strict=True)))


def enter(prompt: Prompt, source: str) -> tuple[str, list[tuple[str, Any]], str, Any]:
    """Runs a statement, as at Python's prompt. Its exceptions are those of the call.

    Returns:
        What was printed; what the statement itself has printed, with the value that each text is of; and of an
        expression the text of its value and that value: the text is empty if it is None.
    """
    output, value, shown = io.StringIO(), None, ""
    tree = ast.parse(source)
    prompt.prints = []
    try:
        with contextlib.redirect_stdout(output):
            match tree.body:
                case [ast.Expr(expression)]:
                    code = compile(ast.Expression(expression), "<example>", "eval", dont_inherit=True)
                    value = eval(code, prompt.names)
                    shown = "" if value is None else repr(value)
                case _:
                    exec(compile(tree, "<example>", "exec", dont_inherit=True), prompt.names)
    finally:
        sys.stdout.write(output.getvalue())
    return output.getvalue()[-LONGEST:], prompt.prints, shown[:LONGEST], value
