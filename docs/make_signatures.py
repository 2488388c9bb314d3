"""Writes the signatures of the test kit into docs/testkit.md, so that who reads the file itself sees them.

    python docs/make_signatures.py

A block begins with ``<!-- signatures: NAMES -->`` and is made anew, up to the end of its code. A test compares the page
with what this makes.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

PAGE = Path(__file__).with_name("testkit.md")
_BLOCK = re.compile(r"<!-- signatures: (.*?) -->\n```text\n.*?```\n", re.DOTALL)
_WIDTH = 100


def with_signatures(page: str) -> str:
    """The page with all of its blocks made anew."""
    return _BLOCK.sub(lambda found: _block(found.group(1)), page)


def _block(names: str) -> str:
    parts = []
    for name in names.split():
        value = getattr(importlib.import_module("grader.testkit"), name)
        if isinstance(value, ModuleType):
            listed = (getattr(value, one) for one in getattr(value, "__all__", ()))
            passed_on = [one for one in listed if isinstance(one, type) and one.__module__ != value.__name__]
            sources: list[Any] = [value, *passed_on]
            nodes = [node for source in sources for node in ast.parse(inspect.getsource(source)).body]
            public = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)]
            parts += [_entry(node, f"{name}.") for node in public if not node.name.startswith("_")]
        else:
            node = ast.parse(inspect.getsource(value)).body[0]
            node.name = name  # type: ignore[attr-defined]
            parts.append(_entry(node, ""))
    return f"<!-- signatures: {names} -->\n```text\n" + "\n".join(parts) + "```\n"


def _entry(node: ast.stmt, prefix: str) -> str:
    """The sentence that opens the docstring, as a comment, and the signature."""
    assert isinstance(node, ast.FunctionDef | ast.ClassDef)
    sentence = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
    comment = "".join(f"# {line}\n" for line in _lines(sentence))
    return f"{comment}{_signature(node, prefix)}\n"


def _signature(node: ast.FunctionDef | ast.ClassDef, prefix: str) -> str:
    name = prefix + node.name
    if isinstance(node, ast.FunctionDef):
        return _call(name, _arguments(node.args), f" -> {ast.unparse(node.returns)}" if node.returns else "")
    fields = [one for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
    return f"class {_call(name, [_argument(ast.unparse(one.target), one.annotation, one.value) for one in fields])}"


def _call(name: str, arguments: list[str], returned: str = "") -> str:
    line = f"{name}({', '.join(arguments)}){returned}"
    if len(line) <= _WIDTH:
        return line.replace("()", "") if not arguments and not returned else line
    inside = "".join(f"    {one},\n" for one in arguments)
    return f"{name}(\n{inside}){returned}"


def _arguments(arguments: ast.arguments) -> list[str]:
    """Each argument with its type and default, as written."""
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [*[None] * (len(plain) - len(arguments.defaults)), *arguments.defaults]
    found = [_argument(one.arg, one.annotation, value) for one, value in zip(plain, defaults, strict=True)]
    if arguments.vararg:
        found.append(_argument(f"*{arguments.vararg.arg}", arguments.vararg.annotation, None))
    elif arguments.kwonlyargs:
        found.append("*")
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    found += [_argument(one.arg, one.annotation, value) for one, value in keywords]
    if arguments.kwarg:
        found.append(_argument(f"**{arguments.kwarg.arg}", arguments.kwarg.annotation, None))
    return found


def _argument(name: str, kind: ast.expr | None, default: ast.expr | None) -> str:
    typed = f"{name}: {ast.unparse(kind)}" if kind else name
    return f"{typed} = {ast.unparse(default)}" if default else typed


def _lines(text: str) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= _WIDTH:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


if __name__ == "__main__":
    PAGE.write_text(with_signatures(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
