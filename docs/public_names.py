"""A hook of mkdocs: the build fails if a public name of the package or its test kit is not on the site.

mkdocstrings leaves out a name without a docstring, so one look at the built page finds these, too.
"""

from __future__ import annotations

import ast
import importlib
import logging
import re
import types
from pathlib import Path
from typing import Any

PAGES = {"api.html": "grader", "testkit.html": "grader.testkit"}
"""The pages, and the package that each must show all public names of."""

log = logging.getLogger("mkdocs.hooks.public_names")


def public_names(package: str) -> list[str]:
    """Full names of what others may use: the package's names, and those of its public modules."""
    module = importlib.import_module(package)
    names = []
    for name in module.__all__:
        if name.startswith("__"):
            continue
        value = getattr(module, name)
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


def missing_names(html: str, package: str) -> list[str]:
    """The public names of a package that a built page has no entry for."""
    anchors = set(re.findall(r'id="([\w.]+)"', html))
    return [name for name in public_names(package) if name not in anchors]


def on_post_build(config: Any) -> None:
    """Warns of each missing name; in a strict build a warning is an error."""
    for page, package in PAGES.items():
        for name in missing_names((Path(config["site_dir"]) / page).read_text(encoding="utf-8"), package):
            log.warning("%s has no entry on %s: add it there, and write its docstring", name, page)
