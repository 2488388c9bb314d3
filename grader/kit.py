"""A course's kit: its own recipes and probes, imported by its checks and by the student process under one name.

Imports its modules, and reads in their source what they import. The kit is loaded in the processes that run submitted
code: it must never hold an expected answer, and students can read it. Must not import the course's model either, which
the warm host has no business with; `grader.course.model` finds the folder.
"""

import ast
import contextlib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Final

import msgspec

from grader.errors import CourseError, did_you_mean, suggest_names

STUDENT_SIDE: Final = ("devices", "probes", "ranks", "recipes")
"""The modules of `grader.testkit` that run in the student process; a kit may import these and no other."""
_IMPORTING_CALLS: Final = ("import_module", "__import__")
ANSWER_FOLDERS: Final = frozenset({"checks", "conftest", "exercises", "misconceptions", "solutions"})
"""Folders of a course that a kit must not import."""


class Kit(msgspec.Struct, frozen=True, kw_only=True):
    """Where a kit is (an absolute path), and the name that its modules are imported under."""

    name: str
    folder: Path

    @property
    def files(self) -> list[Path]:
        """Its modules' files, sorted."""
        return sorted(file for file in self.folder.rglob("*.py") if "__pycache__" not in file.parts)

    def module_name(self, file: Path) -> str:
        """The full name of a module of the kit: ``kit.recipes`` for ``recipes.py``, ``kit`` for ``__init__.py``."""
        parts = file.relative_to(self.folder).with_suffix("").parts
        return ".".join((self.name, *(parts[:-1] if parts[-1] == "__init__" else parts)))


def load(kit: Kit | None) -> dict[str, ModuleType]:
    """Imports every module of a kit, once; returns them by full name, or an empty dict if there is no kit.

    A kit of the same name that another course loaded before is replaced.

    Raises:
        CourseError: if a module cannot be imported, or imports what a kit must not.
    """
    if kit is None:
        return {}
    if not _is_imported(kit):
        for found in forbidden_imports(kit):
            raise found
        _forget(kit.name)
    modules = {}
    for file in kit.files:
        name = kit.module_name(file)
        try:
            if kit.name not in sys.modules:
                _import_package(kit)
            modules[name] = importlib.import_module(name)
        except (Exception, SystemExit) as error:
            _forget(kit.name)
            problem = f"the kit cannot be imported: {type(error).__name__}: {error}"
            raise CourseError(file, _line_of(error, file), problem) from error
        suggest_names(modules[name])
    return modules


def let_checks_import(checks: Path) -> None:
    """Lets checks import the Python files beside them as ``from checks import NAME``; the judge's side alone."""
    package = Kit(name="checks", folder=checks)
    if not _is_imported(package):
        _forget(package.name)
        _import_package(package)


def forbidden_imports(kit: Kit) -> Iterator[CourseError]:
    """Every import of a kit, read in its source, of checks, solutions, misconceptions, or modules of the judge.

    A kit must have none, because it is loaded where submitted code runs.

    Raises:
        CourseError: if a file is not Python.
    """
    for file in kit.files:
        source = file.read_bytes()
        try:
            tree = ast.parse(source, filename=str(file))
        except SyntaxError as error:
            raise CourseError(file, error.lineno, f"not valid Python: {error.msg}") from None
        package = kit.module_name(file) if file.name == "__init__.py" else kit.module_name(file).rpartition(".")[0]
        may_call = not source.isascii() or any(name.encode() in source for name in _IMPORTING_CALLS)
        for node in ast.walk(tree) if may_call else _statements(tree):
            reason = next(filter(None, (_forbidden(name, kit) for name in _imported(node, package))), "")
            if reason:
                yield CourseError(file, getattr(node, "lineno", 1), reason)


def require_imported_names(file: Path, kit: Kit | None) -> None:
    """Refuses ``from kit.recipes import mpl`` where there is only ``mlp``; looks at the testkit and the loaded kit.

    Raises:
        CourseError: with the line, and the nearest name.
    """
    homes = ("grader.testkit.", f"{kit.name}." if kit else "grader.testkit.")
    for node in _statements(ast.parse(file.read_bytes(), filename=str(file))):
        if not isinstance(node, ast.ImportFrom) or node.level or not f"{node.module}.".startswith(homes):
            continue
        assert node.module is not None
        try:
            module = importlib.import_module(node.module)
        except ModuleNotFoundError:
            continue  # Python's own message says which
        for alias in node.names:
            if alias.name != "*" and not _has(module, alias.name):
                message = f"`{node.module}` has no `{alias.name}`"
                raise CourseError(file, node.lineno, message + did_you_mean(alias.name, public_names(module)))


def public_names(module: ModuleType) -> list[str]:
    """The names that a module offers: its ``__all__``, or all without a leading underscore."""
    return list(getattr(module, "__all__", ())) or [name for name in vars(module) if not name.startswith("_")]


def _has(module: ModuleType, name: str) -> bool:
    try:
        return hasattr(module, name) or importlib.util.find_spec(f"{module.__name__}.{name}") is not None
    except ModuleNotFoundError:  # it is no package
        return False


def _is_imported(kit: Kit) -> bool:
    return list(getattr(sys.modules.get(kit.name), "__path__", ())) == [str(kit.folder)]


def _import_package(kit: Kit) -> None:
    init = kit.folder / "__init__.py"
    spec = importlib.util.spec_from_file_location(kit.name, init, submodule_search_locations=[str(kit.folder)])
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[kit.name] = package
    if init.is_file():
        spec.loader.exec_module(package)


def _forget(name: str) -> None:
    for module in [known for known in sys.modules if known == name or known.startswith(f"{name}.")]:
        del sys.modules[module]


def _line_of(error: BaseException, file: Path) -> int | None:
    if isinstance(error, SyntaxError):
        return error.lineno
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == str(file)]
    return lines[-1] if lines else None


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Every statement of a module, at any depth; without expressions, which are nearly all of a tree."""
    left: list[ast.AST] = [tree]
    for node in left:
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            below = getattr(node, name, ())
            left += below if isinstance(below, list) else ()  # not the body of an expression
        yield node


def _imported(node: ast.AST, package: str) -> Iterator[str]:
    """The full names that a statement or call imports; with a leading dot: outside the kit; "?": not a literal name."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        home = "." * node.level + (node.module or "")
        with contextlib.suppress(ImportError):  # beyond the kit: the name keeps its dots
            home = importlib.util.resolve_name(home, package)
        yield from (f"{home}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Call):
        called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if called in _IMPORTING_CALLS:
            match node.args[:1]:
                case [ast.Constant(value=str(name))]:
                    yield name
                case _:
                    yield "?"


def _forbidden(name: str, kit: Kit) -> str:
    """Why a kit must not import that name; empty if it may."""
    parts = name.split(".")
    if name == "?":
        return "the kit imports a module by a name that is not a literal: nobody can read what it loads"
    if not parts[0]:
        return f"the kit imports `{name}`, which is outside its own folder"
    if parts[0] == kit.name:
        return ""
    answers = ANSWER_FOLDERS & set(parts) if parts[0] in (*ANSWER_FOLDERS, "grader") else set()
    if answers or parts[0].startswith("test_"):
        return f"the kit imports `{name}`: it is loaded where submitted code runs and must hold no answers"
    if parts[0] == "grader" and not (len(parts) > 2 and parts[1] == "testkit" and parts[2] in STUDENT_SIDE):
        allowed = ", ".join(STUDENT_SIDE)
        return f"the kit imports `{name}`: of the grader it can use only {allowed} of grader.testkit"
    return ""
