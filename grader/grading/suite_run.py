"""Runs somebody's tests on their solution with plain pytest, and finds the modules that students write.

Never writes to the folders that it reads.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from grader import new_python
from grader.course.model import DATA
from grader.course.source import Definition, first_line, parse
from grader.errors import CourseError, UserError
from grader.text import listed, one_line

CLUTTER: Final = ("__pycache__", ".*", "*.pyc")
_OURS: Final = ("course.toml", "gradebook.sqlite")
"""Files in the folder of a course, and of the results of a class."""
_PATIENCE: Final = 900
"""Seconds that the tests may take on the solution."""
_IMPORTS_SRC: Final = re.compile(r"^\s*(from|import) src\b", re.MULTILINE)
"""Then the folder `src` is a package itself, and not the one that packages are in."""


class Module(msgspec.Struct, frozen=True):
    """A module or package that students write, or that the solution has beside those.

    Attributes:
        name: its own, without those of packages around it.
        path: the solution's file, or the package's folder.
        written: the files for which students get stubs: those of a package, or of a part of it.
    """

    name: str
    path: Path
    written: tuple[Path, ...] = ()

    def files(self) -> Iterator[tuple[Path, Path]]:
        """Each file, with its path below ``solutions/``."""
        if self.path.is_file():
            yield self.path, Path(f"{self.name}.py")
            return
        for file in sorted(self.path.rglob("*")):
            inside = file.relative_to(self.path)
            if file.is_file() and not any(part == "__pycache__" or part.startswith(".") for part in inside.parts):
                yield file, self.name / inside


class Test(msgspec.Struct, frozen=True):
    """A test function, with all its parameters, as it ran on the solution.

    Attributes:
        name: ``test_nn.py::TestLinear::test_shape``.
        line: from 0.
        reason: why it failed or was skipped; if only some of its parameters were, it has passed.
        calls: ``FILE::NAME`` of the students' functions and classes that it calls; the last one called comes last.
    """

    name: str
    outcome: str
    line: int
    calls: dict[str, None]
    marks: list[str]
    reason: str = ""


def roots_of(tests: Path, solution: Path | None) -> list[Path]:
    """The folders that the solution's modules may be in."""
    if solution is not None and not solution.is_dir():
        raise UserError(f"there is no folder {solution}", fix="name the folder with the solution: --solution DIR")
    above = (solution or tests.parent).resolve()
    is_named = any(_IMPORTS_SRC.search(file.read_text("utf-8", "replace")) for file in tests.rglob("*.py"))
    places = [above, *([] if is_named else [above / "src"]), above / tests.name, tests]
    return list(dict.fromkeys(place for place in places if place.is_dir()))


def _found(parts: Sequence[str], roots: Sequence[Path]) -> Path | None:
    """The file of a module, or the folder of a package, in the first folder that has it."""
    places = [place for root in roots for place in (root.joinpath(*parts), root.joinpath(*parts).with_suffix(".py"))]
    packages = {place for place in places if place not in roots and place.is_dir() and any(place.rglob("*.py"))}
    return next((one for one in places if one.is_file() or one in packages), None)


def modules_named(names: Sequence[str], roots: Sequence[Path]) -> list[Module]:
    """The modules with these names, in order; several parts of one package are one."""
    found: dict[Path, Module] = {}
    below = [folder for root in roots for folder in sorted(root.iterdir()) if folder.is_dir() and folder not in roots]
    for name in names:
        parts = name.split(".")
        path = _found(parts, roots) or (_found(parts[1:], roots) if parts[1:] else None) or _found(parts, below)
        if path is None:
            where = listed([str(root) for root in roots], 2)
            raise UserError(
                f"there is no module `{name}` in {where}", fix="name the folder with the solution: --solution DIR"
            )
        top = path
        while top.parent not in roots and ((top.parent / "__init__.py").is_file() or top.parent.name in parts[:-1]):
            top = top.parent
        written = tuple(sorted(path.rglob("*.py"))) if path.is_dir() else (path,)
        before = found[top].written if top in found else ()
        found[top] = Module(top.stem, top, tuple(dict.fromkeys([*before, *written])))
    return list(found.values())


def modules_imported(tests: Path, roots: Sequence[Path]) -> list[str]:
    """The modules of the solution that tests import, with the adapters among the tests."""
    beside = [root for root in roots if root != tests]
    found = dict.fromkeys(["adapters"] if (tests / "adapters.py").is_file() else [])
    for file in sorted({*tests.rglob("test_*.py"), *tests.rglob("*_test.py")}):
        found |= dict.fromkeys(top for top in _imported(file) if top != tests.name and _found([top], beside))
    return sorted(found)


def helpers_imported(files: Sequence[Path], tests: Path, roots: Sequence[Path]) -> list[Path]:
    """The modules among the tests that the solution imports: its files, and what those import themselves."""
    beside, left, found = [root for root in roots if root != tests], [*files], list[Path]()
    while left:
        for top in _imported(left.pop()):
            place = None if _found([top], beside) else _found([top], [tests])
            if place is not None and place not in found and place not in files:
                found.append(place)
                left += sorted(place.rglob("*.py")) if place.is_dir() else [place]
    return found


def _imported(file: Path) -> set[str]:
    """The names of modules and packages that a file imports."""
    found = set[str]()
    with contextlib.suppress(CourseError):
        for node in ast.walk(parse(file)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            names += [one.name for one in node.names] if isinstance(node, ast.Import) else []
            found |= {name.partition(".")[0] for name in names}
    return found - {""}


def folders_beside(tests: Path, modules: Sequence[Module]) -> list[Path]:
    """The folders among the tests that are no part of them: answers to the same exercises, a course, a gradebook.

    An answer has a file at the same path as one of the solution, with a function or class of the same name.
    """
    found = {one.parent for name in _OURS for one in tests.rglob(name)}
    for module in modules:
        for file in module.written:
            inside = file.relative_to(module.path.parent)
            copies = [] if file.name == "__init__.py" else tests.rglob(file.name)
            for copy in copies:
                is_another = copy.parts[-len(inside.parts) :] == inside.parts and copy.resolve() != file.resolve()
                if is_another and _are_alike(copy, file):
                    found.add(copy.parents[len(inside.parts) - 1])
    return sorted(found - {tests})


def _are_alike(answer: Path, solution: Path) -> bool:
    """Whether both define something of one name, or the answer is no Python."""
    with contextlib.suppress(CourseError):
        one, other = ({name for _, _, name in _definitions(file)} for file in (answer, solution))
        return not one.isdisjoint(other)
    return True


def copy_tests(
    tests: Path, to: Path, ignore: Callable[[str, list[str]], set[str]], beside: Collection[Path] = ()
) -> None:
    """Copies the folder of the tests, and into it the conftest.py of the folder above, unless it has one of its own.

    A pipe, and a link to nowhere or to a folder that the link is in, are left out.

    Args:
        beside: folders that are left out, too.

    Raises:
        UserError: a file cannot be read.
    """

    def left_out(folder: str, names: list[str]) -> set[str]:
        place = Path(folder).resolve()
        kept = {one for one in names if (file := place / one).is_file() or file.is_dir()}
        return (
            {*names} - kept
            | {one for one in kept if place.is_relative_to((place / one).resolve()) or Path(folder) / one in beside}
            | ignore(folder, names)
        )

    try:
        shutil.copytree(tests, to, ignore=left_out)
    except OSError as error:
        reason = error.args[0][0][2] if isinstance(error, shutil.Error) else error
        raise UserError(f"the tests cannot be copied: {reason}", fix="take that file out of their folder") from None
    above = tests.parent / "conftest.py"
    if above.is_file() and not (to / "conftest.py").exists():
        shutil.copyfile(above, to / "conftest.py")


class SuiteRun:
    """The tests as they run on the solution, with plain pytest in a new process.

    Attributes:
        tests: those that ran.
        errors: the files that could not be read, each with the reason.
        inside: the modules of the tests' own folder that students write: the name by which it was imported, by module.
        further: modules that the solution imports and nobody named.
        beside: the folders among the tests that are no part of them.
    """

    def __init__(self, folder: Path, tests: Path, modules: Sequence[Module], roots: Sequence[Path]) -> None:
        self._folder = folder.resolve() / "plain"
        self._suite = self._folder / tests.name
        self.beside = folders_beside(tests, modules)
        copy_tests(tests, self._suite, shutil.ignore_patterns(*CLUTTER), self.beside)
        if (tests.parent / DATA).is_dir():
            shutil.copytree(tests.parent / DATA, self._folder / DATA, dirs_exist_ok=True)
        places = [*roots, *(one.path.parent for one in modules if not one.path.is_relative_to(tests))]
        self._roots = [root for root in dict.fromkeys(places) if root != tests]
        self._copies: dict[Path, Path] = {}
        for one in modules:
            place = self._suite / one.path.name
            if place.exists() and one.path.is_file():
                shutil.copyfile(one.path, place)
                self._copies[one.path] = place
        written = {file: self._copies.get(file, file) for one in modules for file in one.written}
        names = {str(copy): _definitions(file) for file, copy in written.items()}
        report = self._pytest(names, [tests.name])
        self._originals = {str(copy): file for file, copy in written.items()}
        failed = [name for name, one in report["tests"].items() if one["outcome"] == "failed"]
        if failed:  # a profile function takes time, which a test may have measured
            again = self._pytest({}, failed)["tests"]
            report["tests"] |= {name: {**one, "calls": report["tests"][name]["calls"]} for name, one in again.items()}
        start = f"{tests.name}/"
        self.errors = [(name.removeprefix(start), reason) for name, reason in report["errors"]]
        self.tests = [
            msgspec.convert({**one, "name": name.removeprefix(start)}, Test) for name, one in report["tests"].items()
        ]
        named = {str(copy): name for name, copy in report["modules"].items()}
        self.inside = {
            one.name: named.get(str(self._copies[one.path]), one.name) for one in modules if one.path in self._copies
        }
        self.further = self._further(modules, [Path(file) for file in report["modules"].values()])

    def called(self, test: Test) -> list[tuple[Path, str]]:
        """The students' functions and classes that a test calls, each with the solution's file, in order."""
        pairs = [call.rpartition("::") for call in test.calls]
        return [(self._originals[file], name) for file, _, name in pairs]

    def _pytest(self, names: Mapping[str, Any], tests: Sequence[str]) -> dict[str, Any]:
        settings = self._folder.parent / "settings.json"
        path = [str(self._folder), *map(str, self._roots)]
        settings.write_text(json.dumps({"names": names, "tests": tests, "path": path}), encoding="utf-8")
        run = "from grader.grading import record_suite; record_suite.main(sys.argv[1])"
        done = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            done = subprocess.run(
                new_python.command(run, str(settings)),
                cwd=self._folder,
                env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
                capture_output=True,
                text=True,
                timeout=_PATIENCE,
                check=False,
            )
        out = settings.with_suffix(".out")
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()] if done else []
        if done is None or not out.is_file():
            why = f"they did not end in {_PATIENCE // 60} minutes"
            if done is not None:
                why = next((one_line(line) for line in reversed(said) if "Error" in line), "")
                why = why or f"one of them ended the process (exit status {done.returncode})"
            raise UserError(f"the tests did not run on the solution: {why}", fix="run them with pytest there first")
        found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
        out.unlink()
        if not found["tests"] and not found["errors"]:
            why = next((line for line in reversed(said) if "Error" in line or "Exit" in line), "")
            found["errors"] = [(tests[0], one_line(why.removeprefix("E").strip()))] if why else []
        return found

    def _further(self, modules: Sequence[Module], files: Sequence[Path]) -> list[Module]:
        found: dict[Path, Module] = {}
        known = {one.path for one in modules}
        for file in files:
            around = [root for root in self._roots if file.is_relative_to(root)]
            if not around:
                continue
            root = max(around, key=lambda one: len(one.parts))  # `src` in the folder of the solution
            if "site-packages" in file.parts or file.is_relative_to(root / self._suite.name):
                continue
            top = root / file.relative_to(root).parts[0]
            if top not in known:
                found[top] = Module(top.stem, top)
        return [found[top] for top in sorted(found)]


def _definitions(file: Path) -> list[tuple[int, int, str]]:
    """First line, last line and name of each definition at the top level of a module."""
    found = []
    for node in parse(file).body:
        names = [node.name] if isinstance(node, Definition) else []
        if isinstance(node, ast.Assign):
            names = [one.id for one in node.targets if isinstance(one, ast.Name)]
        found += [(first_line(node), node.end_lineno or node.lineno, name) for name in names]
    return found
