"""``grader adopt``: makes a course of a folder of tests that somebody wrote for plain pytest, and of their solution.

Never changes a test, and leaves nothing behind if it fails.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from grader.adopt.adopted import Adopted, PlannedExercise, PlannedTopic, manifest, source_of, write
from grader.course.definitions import definition
from grader.course.markers import with_markers
from grader.course.model import DATA, MOST_DATA
from grader.course.source import Definition, parse
from grader.course.starter import names_for
from grader.course.stubs import stub_of
from grader.course.suite import Suite
from grader.errors import UserError
from grader.grading.record_suite import ONLY_READS
from grader.grading.suite_run import (
    CLUTTER,
    Module,
    SuiteRun,
    Test,
    copy_tests,
    helpers_imported,
    modules_imported,
    modules_named,
    roots_of,
)
from grader.suites.honesty import places_in
from grader.text import counted, listed

_LEFT_OUT: Final = {
    "xfail": "is expected to fail, so it is left out",
    "setrlimit": "limits its own process, and the students' code is in another one: it is left out",
    "starts processes": "starts processes, and those cannot ask the students' code: it is left out",
}
"""Marks of tests that cannot count, and why."""
_SHORTEST_NAME: Final = 3
"""Letters of a function's name that is looked for in the name of a test: a shorter one is found by accident."""


def adopt_suite(tests: Path, names: Sequence[str], to: Path, solution: Path | None = None) -> Adopted:
    """Makes a course of a folder of tests.

    Args:
        tests: the folder.
        names: the modules and packages that students write, as the tests import them.
        to: a new folder for the course.
        solution: the folder with these modules; None: the one that the tests are in.

    Raises:
        UserError: there are no tests or modules, or no test that passes calls one of the modules.
        CourseError: a file of the solution is not Python.
    """
    tests = tests.resolve()
    if not tests.is_dir() or not any([*tests.rglob("test_*.py"), *tests.rglob("*_test.py")]):
        notebooks = [str(one) for one in sorted(tests.glob("*.ipynb"))]
        fix = "name the notebooks: " + listed(notebooks, 5) if notebooks else "name the folder with the tests"
        raise UserError(f"{tests} has no files test_*.py or *_test.py", fix=fix)
    roots = roots_of(tests, solution)
    if not names:
        known = listed([f"--modules {one}" for one in modules_imported(tests, roots)], 5) or "--modules adapters"
        raise UserError("it is not said which modules students write", fix=known)
    modules = modules_named(names, roots)
    with tempfile.TemporaryDirectory() as folder:
        ran = SuiteRun(Path(folder), tests, modules, roots)
        helpers = helpers_imported([file for one in modules for file in one.written], tests, roots)
        course = _AdoptedSuite(tests, modules, ran, helpers)
        made = Path(folder) / "made"
        course.write(made, *names_for(to))
        if to.is_dir():
            to.rmdir()
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(made, to)
    return Adopted(course=to, made=tuple(course.made()), look=tuple(course.look(to)))


class _AdoptedSuite:
    """The tests in groups, and the files of the course that they become."""

    def __init__(self, tests: Path, modules: Sequence[Module], ran: SuiteRun, helpers: Sequence[Path]) -> None:
        self._tests = tests
        self._helpers = helpers
        self._modules = modules
        self._every = *modules, *ran.further
        self._ran = ran
        self._whole: list[tuple[Path, int, str]] = []
        self._written_by_students = " or ".join(one.name for one in modules)
        passed = [one for one in ran.tests if one.outcome == "passed" and _LEFT_OUT.keys().isdisjoint(one.marks)]
        calls = {one.name: ran.called(one) for one in passed}
        times = Counter(name for names in calls.values() for name in names)
        self._groups: dict[tuple[Path, str], list[Test]] = {}
        for one in sorted(passed, key=lambda one: ONLY_READS in one.marks):
            # The stub of a class has all that a test can only read: that is no exercise of its own.
            of_test = [key for key in calls[one.name] if ONLY_READS not in one.marks or key in self._groups]
            if of_test:
                _, *around, own_name = one.name.split("::")
                own = min(
                    reversed(of_test),
                    key=lambda key: (-_length_in(key[1], own_name), -_length_in(key[1], "".join(around)), times[key]),
                )
                self._groups.setdefault(own, []).append(one)
        grouped = {one.name for tests in self._groups.values() for one in tests}
        self._without = [one for one in passed if one.name not in grouped]
        if not self._groups:
            failed = [reason for _, reason in ran.errors]
            failed += [one.reason for one in ran.tests if one.outcome != "passed"]
            why = f": {failed[0]}" if failed else ""
            raise UserError(
                f"no test that passes on the solution calls a function of {self._written_by_students}{why}",
                fix="run them with pytest on the solution first, and name the modules that students write: --modules",
            )

    def _exercises(self, module: Module) -> dict[str, list[Test]]:
        """The tests of each exercise of a module, in the order of their first ones, by a name of its own."""
        found: dict[str, list[Test]] = {}
        for (file, name), tests in self._groups.items():
            if file in module.written:
                own, places = name, file.with_suffix("").parts
                while own in found:
                    own, places = f"{own}_{places[-1]}", places[:-1]
                found[own] = tests
        return found

    def write(self, course: Path, name: str, title: str) -> None:
        """Writes the course into a new folder."""
        solutions, exercises = course / "solutions", course / "exercises"
        inside = [one.path.name for one in self._modules]  # never among the tests: students get those

        def left_out(folder: str, names: list[str]) -> set[str]:
            own = {one for one in names if one in inside and Path(folder) == self._tests}
            return own | shutil.ignore_patterns(*CLUTTER)(folder, names)

        copy_tests(self._tests, course / self._tests.name, left_out, self._ran.beside)
        if self._takes_data():
            shutil.copytree(self._tests.parent / DATA, course / DATA, ignore=shutil.ignore_patterns(*CLUTTER))
        absent = [one.name for one in self._ran.further]
        for module in self._modules:
            for file, inside_course in module.files():
                content = stub = file.read_bytes()
                if file in module.written:
                    wanted = [one for path, one in self._groups if path == file]
                    text, whole = with_markers(source_of(file), file, wanted, absent)
                    content, stub = text.encode(), stub_of(text, file).encode()
                    reasons = dict.fromkeys(whole, "decorates others")
                    known = {one.name for one in parse(file).body if isinstance(one, Definition)}
                    reasons |= {one: "is neither a def nor a class" for one in wanted if one not in known}
                    for one, why in reasons.items():
                        line, _ = definition(text.split("\n"), one)
                        self._whole.append((inside_course, line, f"`{one}` {why}, so its stub gives it away"))
                write(solutions / inside_course, content)
                write(exercises / inside_course, stub)
        for module in self._ran.further:
            first = Path(f"{module.name}/__init__.py" if module.path.is_dir() else f"{module.name}.py")
            for file, inside_course in module.files():
                content = file.read_bytes()
                if inside_course == first and parse(file).body:
                    content = b"# solution:\n" + content.rstrip(b"\n") + b"\n# end\n"
                write(solutions / inside_course, content)
            write(exercises / first, b"")
        for helper in self._helpers:
            for folder in (solutions, exercises):
                for file in sorted(helper.rglob("*.py")) if helper.is_dir() else [helper]:
                    write(folder / file.relative_to(self._tests), file.read_bytes())
        for module in self._every:
            for folder in (solutions, exercises):
                if module.path.is_dir() and not (folder / module.name / "__init__.py").exists():
                    write(folder / module.name / "__init__.py", b"")
        write(course / "course.toml", self._manifest(name, title))

    def _takes_data(self) -> bool:
        """Whether the folder `data` beside the tests is small enough to go with each submission."""
        data = self._tests.parent / DATA
        return data.is_dir() and sum(one.stat().st_size for one in data.rglob("*") if one.is_file()) <= MOST_DATA

    def _manifest(self, name: str, title: str) -> bytes:
        files = tuple(self._ran.inside.get(one.name, one.name) for one in self._every if one.path.is_file())
        packages = tuple(one.name for one in self._every if one.path.is_dir())
        suite = Suite(path=self._tests.name, modules=files, packages=packages)
        topics = []
        for module in self._modules:
            tests_of = self._exercises(module)
            exercises = [PlannedExercise(own, len(tests), self._entries(tests)) for own, tests in tests_of.items()]
            if exercises:
                topics.append(PlannedTopic(module.name, names_for(Path(module.name))[1], exercises))
        return manifest(name, title, suite, topics)

    def _entries(self, tests: Sequence[Test]) -> list[str]:
        """The names of tests, in which a file or class that belongs to them as a whole takes the place of its tests."""
        names = [one.name for one in tests]
        for depth in (1, 2):
            for start in {"::".join(name.split("::")[:depth]) for name in names}:
                below = [one.name for one in self._ran.tests if one.name.startswith(f"{start}::")]
                if len(below) > 1 and set(below) <= set(names):
                    first = names.index(below[0])
                    names[first] = start
                    names = [name for name in names if name not in below]
        return names

    def made(self) -> Iterator[str]:
        """The parts of the course, line by line."""
        number = sum(len(tests) for tests in self._groups.values())
        yield f"{counted(len(self._groups), 'exercise')} of {counted(number, 'test')}, a point for each test"
        for module in self._modules:
            for own, tests in self._exercises(module).items():
                yield f"  {module.name}.{own}: {listed([one.name.rpartition('::')[2] for one in tests], 4)}"

    def look(self, course: Path) -> Iterator[str]:
        """The places that a person must look at."""
        suite = course / self._tests.name
        for file, why in self._ran.errors:
            yield f"{suite / file}: cannot be read, so its tests are left out: {why}"
        for one in self._ran.tests:
            file, _, name = one.name.partition("::")
            place = f"{suite / file}:{one.line + 1}: `{name}`"
            if one in self._without:
                yield f"{place} calls nothing of {self._written_by_students}, so it is in no exercise"
            elif mark := next((mark for mark in _LEFT_OUT if mark in one.marks), ""):
                yield f"{place} {_LEFT_OUT[mark]}"
            elif one.outcome != "passed":
                happens = one.outcome.replace("skipped", "is skipped").replace("failed", "fails")
                yield f"{place} {happens} on the solution, so it is left out: {one.reason}"
            elif one.reason:
                yield f"{place} is skipped on the solution with some parameters, which count nowhere: {one.reason}"
        for folder in self._ran.beside:
            yield f"{folder}: holds answers, a course or a gradebook, so it is not taken for a part of the tests"
        for link in self._tests.rglob("*"):
            copy = suite / link.relative_to(self._tests)
            if link.is_symlink() and copy.exists() and not (real := link.resolve()).is_relative_to(self._tests):
                yield f"{copy}: was a link to {real}, and is a copy now, which students get"
        for inside_course, line, text in self._whole:
            yield f"{course / 'solutions' / inside_course}:{line}: {text}"
        for module in self._ran.further:
            why = "the solution needs it and --modules does not name it, so students get it empty"
            yield f"{course / 'exercises' / module.path.name}: {why}"
        for helper in self._helpers:
            yield f"{course / 'exercises' / helper.name}: the solution takes it from the tests, so students get it"
        yield from map(str, places_in(suite, [one.name for one in self._every]))
        data = self._tests.parent / DATA
        if data.is_dir() and not self._takes_data():
            yield f"{data}: is not taken along, because it holds more than {MOST_DATA >> 20} MiB"
        above, own = self._tests.parent / "conftest.py", self._tests / "conftest.py"
        if above.is_file() and own.is_file():
            yield f"{above}: is not taken along; copy what the tests need of it into {own}, and adopt again"
        elif above.is_file():
            yield f"{suite / 'conftest.py'}: is a copy of {above}; if it opens files beside it, mend their paths"


def _length_in(name: str, test: str) -> int:
    """How long the part of the name of a test, or of its class, is that says a function's name; 0 if it does not."""
    words = test.replace("_", "").lower()
    plain = name.replace("_", "").lower()
    return len(plain) if len(plain) >= _SHORTEST_NAME and plain in words else 0
