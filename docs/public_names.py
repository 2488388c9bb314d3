"""A hook of mkdocs: the build fails when a public name of the test kit is not on the site, or has no docstring.

mkdocstrings leaves out what has no docstring, so one look at the built page finds both.
"""

from __future__ import annotations

import ast
import importlib
import logging
import re
import types
from pathlib import Path
from typing import Any

PAGE = "testkit.html"
PACKAGE = "grader.testkit"

log = logging.getLogger("mkdocs.hooks.public_names")


def public_names(package: str = PACKAGE) -> list[str]:
    """Full names of what authors of checks may use: the package's names, and those of its public modules."""
    kit = importlib.import_module(package)
    names = []
    for name in kit.__all__:
        value = getattr(kit, name)
        names.append(f"{package}.{name}")
        if isinstance(value, types.ModuleType):
            names += [f"{package}.{name}.{inner}" for inner in _names_in(value)]
    return names


def _names_in(module: types.ModuleType) -> list[str]:
    """The public functions and classes that a module defines; what it lists in ``__all__`` where it has one."""
    assert module.__file__ is not None
    body = ast.parse(Path(module.__file__).read_text(encoding="utf-8")).body
    defined = [node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    listed = getattr(module, "__all__", defined)
    return [name for name in listed if not name.startswith("_")]


def missing_names(html: str) -> list[str]:
    """The public names that a built page has no entry for."""
    anchors = set(re.findall(r'id="([\w.]+)"', html))
    return [name for name in public_names() if name not in anchors]


def on_post_build(config: Any) -> None:
    """Warns of each missing name; in a strict build a warning is an error."""
    page = Path(config["site_dir"]) / PAGE
    for name in missing_names(page.read_text(encoding="utf-8")):
        log.warning("%s has no entry on %s: add it there, and write its docstring", name, PAGE)
