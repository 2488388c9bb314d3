"""The house as a whole: no circle of imports, and one class for one name."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from grader.package import FOLDER

FILES = {
    ".".join(file.relative_to(FOLDER.parent).with_suffix("").parts).removesuffix(".__init__"): file
    for file in sorted(FOLDER.rglob("*.py"))
    if "shipped" not in file.relative_to(FOLDER).parts
}
"""The package's files by the name of their module; the shipped course, which lies in an installed package, is none."""


def imported(module: str) -> set[str]:
    """The modules of the package that a module imports when it is imported itself."""
    found = set()
    for node in at_import(ast.parse(FILES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inside & FILES.keys() or {node.module}
    return (found & FILES.keys()) - {module}


def at_import(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run at import: not the bodies of functions, nor imports for the type checker alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node
            yield from at_import(node)


def test_imports_have_no_circle() -> None:
    left = {module: imported(module) for module in FILES}
    while ends := {module for module, needs in left.items() if not needs & left.keys()}:
        left = {module: needs for module, needs in left.items() if module not in ends}
    assert not left, f"these import one another: {sorted(left)}"


def test_no_two_classes_have_one_name() -> None:
    """But in checks and their kit, which are a course's own, and for classes that only their own file knows."""
    where = defaultdict(set)
    for module, file in FILES.items():
        if not module.startswith("grader.checks"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    where[node.name].add(module)
    assert {name: modules for name, modules in where.items() if len(modules) > 1} == {}
