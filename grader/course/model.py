"""Course: the manifest as data, and the places of a course's files.

Never imports torch or pytest, never runs a course's code, and knows no exercise that the manifest does not list.
"""

from __future__ import annotations

import hashlib
import importlib.machinery
import keyword
import sys
import sysconfig
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from msgspec.structs import replace

from grader.course.assignments import Assignment, Plan, Term
from grader.course.due import NOT_DUE, LatePolicy
from grader.course.home import folder_of, is_name, manifest_in
from grader.course.manifest import Manifest, of_results
from grader.course.marks import BY_POINTS, MarkPolicy
from grader.course.source import CheckInfo, Misconception, checks_in, misconceptions_in, pictured_in
from grader.course.suite import Group, Suite
from grader.course.suite_tests import suite_checks
from grader.course.tables import CourseSettings, Exercise, Topic
from grader.errors import CourseError, UnknownName, UserError, did_you_mean
from grader.files import python_files
from grader.kit import ANSWER_FOLDERS, Kit

T = TypeVar("T")
_PACKAGE = Path(__file__).resolve().parent.parent
_CLUTTER: Final = frozenset({"__pycache__", "node_modules"})
DATA: Final = "data"
"""The folder of files beside course.toml that checks and students' code read."""
MOST_DATA: Final = 7 << 20
"""Bytes of all of them: each process of a submission gets a copy, in one message with its files."""


class Course(CourseSettings, frozen=True, kw_only=True):
    """A set of topics with one manifest; all paths are absolute.

    Attributes:
        suite: somebody else's tests in the place of checks; `checks_dir` is their folder then.
        is_whole: whether it has every topic of its manifest: see `part_of`.
    """

    root: Path
    manifest: Path
    topics: tuple[Topic, ...]
    exercises_dir: Path
    solutions_dir: Path
    checks_dir: Path
    kit: Kit | None = None
    late: LatePolicy = NOT_DUE
    marks: MarkPolicy = BY_POINTS
    assignments: tuple[Assignment, ...] = ()
    term: Term = Term()
    suite: Suite | None = None
    is_whole: bool = True

    @classmethod
    def load(cls, path: Path | str | None = None, *, complete: bool = True) -> Course:
        """Read a course strictly.

        Args:
            path: the course's folder, its ``course.toml``, or the name of an installed course; None: the shipped one.
            complete: refuse a topic without stub or checks and an exercise without a check
                (False while a course is being written, and for making its stubs).

        Raises:
            CourseError: with file and line of the first thing that is wrong.
            UserError: there is no installed course of that name.
        """
        root, manifest_file, checks_dir = _locate(path)
        manifest = Manifest(manifest_file)
        if manifest.suite is not None:
            checks_dir = root / manifest.suite.path
        course = cls(
            **{name: getattr(manifest.course, name) for name in CourseSettings.__struct_fields__},
            root=root,
            manifest=manifest_file,
            topics=manifest.topics,
            exercises_dir=root / "exercises",
            solutions_dir=root / "solutions",
            checks_dir=checks_dir,
            kit=find_kit(manifest, root, checks_dir),
            late=manifest.late,
            marks=manifest.marks,
            assignments=manifest.assignments,
            term=manifest.term,
            suite=manifest.suite,
        )
        if complete:
            _require_files(course, manifest)
        size = sum(file.stat().st_size for _, file in data_files(course))
        if size > MOST_DATA:
            fix = f"{DATA}/ may hold {MOST_DATA >> 20} MiB: leave out what no exercise reads, or pack it"
            raise CourseError(manifest_file, None, f"{DATA}/ holds {size / 2**20:.1f} MiB, for every submission; {fix}")
        return course

    def require_solutions(self, what: str) -> None:
        """Refuses to do something that needs the solutions, in a copy of the course that was made for students.

        Raises:
            UserError: there is no solution.
        """
        if self.modules and not any(self.solution_file(topic.name).is_file() for topic in self.modules):
            raise UserError(
                f"{what} needs the solutions, which this copy of the course `{self.name}` was made without",
                fix="use the course itself, or the package for instructors",
            )

    @property
    def is_shipped(self) -> bool:
        """Whether it is the course of this package."""
        return self.checks_dir == _PACKAGE / "checks"

    @property
    def exercises(self) -> tuple[Exercise, ...]:
        """Every exercise that has checks, in order of learning."""
        return tuple(exercise for topic in self.topics for exercise in topic.exercises)

    @property
    def path(self) -> tuple[Exercise, ...]:
        """The exercises that have checks as they are proposed: one with ``after`` follows that exercise."""
        here = {one.full_name for one in self.exercises}
        following: dict[str, list[Exercise]] = {}
        for one in self.exercises:
            following.setdefault(one.after if one.after in here else "", []).append(one)
        found: list[Exercise] = []
        left = following.get("", [])[::-1]
        while left:
            found.append(left.pop())
            left += following.get(found[-1].full_name, [])[::-1]
        return tuple(found)

    @property
    def manual(self) -> tuple[Exercise, ...]:
        """Every exercise that a person marks, in order of learning."""
        return tuple(exercise for topic in self.topics for exercise in topic.manual)

    @property
    def all_exercises(self) -> tuple[Exercise, ...]:
        """Every exercise: of each topic those with checks, then those that a person marks."""
        return tuple(one for topic in self.topics for one in (*topic.exercises, *topic.manual))

    @property
    def modules(self) -> tuple[Topic, ...]:
        """The topics that have a module: those with checks."""
        return tuple(topic for topic in self.topics if topic.exercises)

    @property
    def own_modules(self) -> set[str]:
        """The modules and packages that lie beside the topics in stubs or solutions."""
        places = [one for folder in (self.exercises_dir, self.solutions_dir) for one in folder.glob("*")]
        return {one.stem for one in places if one.suffix == ".py" or any(one.glob("*.py"))}

    @property
    def plan(self) -> Plan:
        """How it is handed in: its assignments, or all of it at once."""
        every = tuple(exercise.full_name for exercise in self.all_exercises)
        whole = Assignment(title=self.title, exercises=every, late=self.late, resubmissions=self.marks.resubmissions)
        return Plan(course=self.name, assignments=self.assignments or (whole,), term=self.term)

    def part_of(self, assignments: Collection[str]) -> Course:
        """The part of the course that a student has who was given these assignments: their topics, and what they need.

        A topic is one file, so it is given as a whole. Names that the course does not have any more are left out; if
        no name is left, it is the whole course.
        """
        given = tuple(one for one in self.assignments if one.name in assignments)
        wanted = {name.partition(".")[0] for one in given for name in self.with_needs(one.exercises)}
        topics = tuple(topic for topic in self.topics if topic.name in wanted)
        if not given or (len(given) == len(self.assignments) and len(topics) == len(self.topics)):
            return self
        return replace(self, topics=topics, assignments=given, is_whole=len(topics) == len(self.topics))

    def topic(self, name: str) -> Topic:
        """The topic called `name`.

        Raises:
            UnknownName: if there is none.
        """
        return _named(name, "topic", {one.name: one for one in self.topics})

    def exercise(self, name: str) -> Exercise:
        """The exercise whose full name (``topic.name``) is `name`.

        Raises:
            UnknownName: if there is none.
        """
        return _named(name, "exercise", {one.full_name: one for one in self.all_exercises})

    def stub_file(self, topic: str) -> Path:
        """The topic's stub module."""
        return self.exercises_dir / self.module_file(topic)

    def module_file(self, topic: str) -> str:
        """The file of a topic's module in a submission."""
        return next((one.file for one in self.topics if one.name == topic), f"{topic}.py")

    @property
    def groups(self) -> tuple[Group, ...]:
        """Its exercises that consist of tests of a suite."""
        return tuple(group for one in self.exercises if (group := one.group))

    def notebook_file(self, topic: str) -> Path:
        """The topic's own notebook to begin with; there may be no such file, then one is made of the stub."""
        return self.exercises_dir / f"{topic}.ipynb"

    def template_file(self, exercise: Exercise) -> Path:
        """The template that students begin a manual exercise with; there may be no such file."""
        return self.exercises_dir / exercise.work_file

    def solution_file(self, topic: str) -> Path:
        """The topic's solved module."""
        return self.solutions_dir / self.module_file(topic)

    def lesson_file(self, topic: str) -> Path:
        """The topic's lesson; there may be no such file."""
        return self.root / "lessons" / f"{topic}.md"

    def misconceptions_file(self, topic: str) -> Path:
        """The file of the topic's wrong answers."""
        return self.solutions_dir / "misconceptions" / f"{topic}.py"

    def check_file(self, topic: str) -> Path:
        """The file of the topic's checks."""
        return self.checks_dir / f"test_{topic}.py"

    def preload(self, topics: Iterable[str]) -> list[str]:
        """The modules to load before these topics are graded, each once."""
        wanted = set(topics)
        return list(dict.fromkeys(m for topic in self.topics if topic.name in wanted for m in topic.preload))

    def select(self, names: Sequence[str]) -> list[str]:
        """Full names of the exercises that `names` mean, each once, in course order; no names mean all.

        Args:
            names: each a ``TOPIC``, a ``TOPIC.EXERCISE``, an ``EXERCISE`` that one topic only has, or an assignment.

        Raises:
            UnknownName: if a name means nothing here, or several exercises.
        """
        wanted = {meant for name in names for meant in self._meant_by(name)}
        everything = [exercise.full_name for exercise in self.all_exercises]
        return [name for name in everything if not names or name in wanted]

    def assignment_with(self, names: Sequence[str], option: str = "--assignment") -> Assignment:
        """The only assignment that has the exercises that `names` mean; the whole course if it declares none.

        Args:
            option: the one by which an assignment is named, for the message.

        Raises:
            UserError: none or several have them.
            UnknownName: a name means nothing here.
        """
        plan = self.plan
        fitting = plan.of(self.select(names) if names else ())
        if len(fitting) != 1:
            those = ", ".join(one.name for one in fitting or plan.assignments)
            raise UserError(
                f"this course is handed in by assignments: {those}",
                fix=f"name one: {option} {plan.assignments[0].name}",
            )
        return fitting[0]

    def with_needs(self, exercises: Sequence[str]) -> tuple[str, ...]:
        """The named exercises and all that they need, in course order; every exercise when none is named."""
        needs = {exercise.full_name: exercise.needs for exercise in self.all_exercises}
        wanted = set(exercises) or set(needs)
        while more := {need for name in wanted for need in needs[name]} - wanted:
            wanted |= more
        return tuple(name for name in needs if name in wanted)

    def _meant_by(self, name: str) -> list[str]:
        found = [one.full_name for one in self.all_exercises if name in (one.topic, one.full_name)]
        found += [one for assignment in self.assignments if assignment.name == name for one in assignment.exercises]
        if found:
            return found
        if "." in name:
            return [self.exercise(name).full_name]
        names = [*(one.name for one in self.assignments), *(one.name for one in self.topics)]
        known: dict[str, list[str]] = {one: [] for one in names}
        for one in self.all_exercises:
            known.setdefault(one.name, []).append(one.full_name)
        found = _named(name, "assignment, topic or exercise" if self.assignments else "topic or exercise", known)
        if len(found) > 1:
            raise UnknownName(f"`{name}` could be " + " or ".join(f"`{meant}`" for meant in found))
        return found


def checks_of(course: Course, topic: str) -> tuple[CheckInfo, ...]:
    """The checks of a topic, in order.

    Raises:
        CourseError: if their file is missing, or holds a test that belongs to no exercise of the topic.
    """
    if course.suite is not None:
        return suite_checks(course.checks_dir, course.groups, topic, course.manifest)
    return checks_in(course.check_file(topic), course.topic(topic))


def misconceptions_of(course: Course, topic: str) -> tuple[Misconception, ...]:
    """The wrong answers of a topic, in order.

    Raises:
        CourseError: if a decorator's arguments are not literals, its exercise is unknown, or two have one name.
    """
    return misconceptions_in(course.misconceptions_file(topic), course.topic(topic))


def pictured(course: Course) -> tuple[str, ...]:
    """The exercises (full names) that have pictures, in the course's order.

    Raises:
        CourseError: if a file of checks is missing, or a picture belongs to no exercise of its topic.
    """
    modules = () if course.suite else course.modules
    found: set[str] = set().union(*(pictured_in(course.check_file(topic.name), topic) for topic in modules))
    return tuple(one.full_name for one in course.exercises if one.full_name in found)


def pictured_at_end(course: Course) -> tuple[str, ...]:
    """The exercises (full names) whose pictures show what a student has built: those that the manifest names, of which
    the first is the most telling; else the last one that has any.

    Raises:
        CourseError: as `pictured`.
    """
    known = pictured(course)
    return tuple(name for name in course.finish_pictures if name in known) or known[-1:]


def content_hash(course: Course) -> str:
    """SHA-256 (hex) over manifest, stubs, solutions, checks and kit: paths within the course, and bytes.

    The same course gives the same hash wherever it is installed, whenever its work is due, however it is divided
    into assignments, and whatever its lessons say.
    """
    solutions = files_below(course.solutions_dir, "solutions")
    digest = hashlib.sha256()
    for label, file in sorted([*files_to_begin_with(course), *solutions, *checking_files(course)]):
        data = of_results(file.read_bytes()) if file == course.manifest else file.read_bytes()
        digest.update(f"{label}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()


def files_to_begin_with(course: Course) -> Iterator[tuple[str, Path]]:
    """Manifest, stubs, templates of work that a person marks, and data, each with its path within the course."""
    yield "course.toml", course.manifest
    yield from data_files(course)
    files = {place(topic.name) for topic in course.modules for place in (course.stub_file, course.notebook_file)}
    files |= {course.template_file(exercise) for exercise in course.manual}
    files |= {course.exercises_dir / name for name in stubs_beside(course)}
    for file in sorted(files):
        if file.is_file():
            yield file.relative_to(course.root).as_posix(), file


def data_files(course: Course) -> Iterator[tuple[str, Path]]:
    """The files that checks and students' code read as ``data/...``, each with its path within the course."""
    if not course.is_shipped:
        yield from files_below(course.root / DATA, DATA)


def given_files(course: Course) -> dict[str, bytes]:
    """The files that students begin with beside those of their topics: data, and further modules of `exercises/`."""
    modules = {name: (course.exercises_dir / name).read_bytes() for name in stubs_beside(course)}
    return {name: file.read_bytes() for name, file in data_files(course)} | modules


def stubs_beside(course: Course) -> list[str]:
    """The files that students begin with beside the modules of topics, by their names in a submission.

    The modules and packages that topics import; with a suite, all files of `exercises/`.
    """
    own = {topic.file for topic in course.modules}
    templates = {course.template_file(one) for one in course.manual}
    if course.suite is not None:
        files = [file for _, file in files_below(course.exercises_dir, "") if file.suffix != ".ipynb"]
        inside = [file.relative_to(course.exercises_dir).as_posix() for file in files]
    else:
        inside = [] if course.is_shipped else sorted(python_files(course.exercises_dir))
    return [name for name in inside if name not in own and course.exercises_dir / name not in templates]


def lesson_files(course: Course) -> Iterator[tuple[str, Path]]:
    """The lessons, each with its path within the course."""
    for file in (course.lesson_file(topic.name) for topic in course.topics):
        if file.is_file():
            yield file.relative_to(course.root).as_posix(), file


def checking_files(course: Course) -> Iterator[tuple[str, Path]]:
    """The files of the checks and of the kit, each with its path within the course."""
    yield from files_below(course.checks_dir, course.suite.path if course.suite else "checks")
    if course.kit and course.kit.folder.parent != course.checks_dir:
        yield from files_below(course.kit.folder, course.kit.name)


def files_below(folder: Path, label: str) -> Iterator[tuple[str, Path]]:
    """The files in a folder that are written by hand, in order, each with its path in it after `label`."""
    for file in sorted(folder.rglob("*")):
        inside = file.relative_to(folder)
        if file.is_file() and not any(part.startswith(".") or part in _CLUTTER for part in inside.parts):
            yield f"{label}/{inside.as_posix()}", file


def _locate(path: Path | str | None) -> tuple[Path, Path, Path]:
    """Root, manifest and checks folder of the course at `path`."""
    if path is None:
        installed = _PACKAGE / "shipped"
        path = installed if installed.is_dir() else _PACKAGE.parent
    folder = folder_of(str(path)) if is_name(Path(path)) else Path(path).resolve()
    if folder.name == "course.toml":
        folder = folder.parent
    if folder.name == "exercises" and (folder / "course.toml").is_file():
        folder = folder.parent
    manifest = manifest_in(folder)
    if manifest is None:
        raise CourseError(folder, None, "not a course: no course.toml in this folder or in exercises/ under it")
    shipped = folder in (_PACKAGE.parent, _PACKAGE / "shipped")
    return folder, manifest, _PACKAGE / "checks" if shipped else folder / "checks"


def _require_files(course: Course, manifest: Manifest) -> None:
    """Refuses topics without their files, and exercises without checks by which students could see how they did."""
    for topic in course.modules:
        stub, file = course.stub_file(topic.name), course.check_file(topic.name)
        if not stub.is_file():
            error = manifest.error_of(topic.name, "name", f"topic `{topic.name}` has no stub module: {stub} is missing")
            if course.solution_file(topic.name).is_file():
                error.fix = f"make it of the solution: grader release --course {course.root}"
            raise error
        if not course.suite and not file.is_file():
            raise manifest.error_of(topic.name, "name", f"topic `{topic.name}` has no checks: {file} is missing")
        checks = checks_of(course, topic.name)
        for exercise in topic.exercises:
            name = exercise.full_name
            of_it = [one for one in checks if one.exercise == name]
            if not of_it:
                raise manifest.error_of(name, "name", f"exercise `{name}` has no check in {file}")
            weighed = next((one for one in of_it if one.points is not None), None)
            if weighed and exercise.credit != "per-check":
                message = f'points of a check need `credit = "per-check"` for `{name}` in course.toml'
                raise CourseError(file, weighed.line, message)
            counting = [one for one in of_it if not one.bonus and (one.points != 0 or course.suite)]
            if all(one.is_secret for one in counting):
                why = "every check that gives points is hidden" if counting else "no check gives points"
                message = f"exercise `{name}`: {why}, so that nobody could see how it went"
                raise manifest.error_of(name, "name", message)
            shown = {one.function.removeprefix("test_") for one in of_it if not one.is_secret}
            for hinted in exercise.hints_for:
                if hinted not in shown:
                    message = f"hints_for: `{name}` has no check `{hinted}`{did_you_mean(hinted, shown)}"
                    raise manifest.error_of(name, "hints_for", message)
    has_picture = pictured(course)
    for name in course.finish_pictures:
        if name not in has_picture:
            message = f"finish_pictures: no exercise `{name}` has a picture{did_you_mean(name, has_picture)}"
            raise manifest.error(message, "course", "finish_pictures")


def _named(name: str, kind: str, known: Mapping[str, T]) -> T:
    """The entry of this name.

    Raises:
        UnknownName: there is nothing; it says what is nearest.
    """
    if name not in known:
        raise UnknownName(f"unknown {kind} `{name}`" + did_you_mean(name, known))
    return known[name]


_RESERVED: Final = ANSWER_FOLDERS | {"course", "grader", "submission"}


def find_kit(manifest: Manifest, root: Path, checks: Path) -> Kit | None:
    """The kit that a manifest names: a folder beside the checks or among them; None if it names none.

    Raises:
        CourseError: if there is no such folder, or its name already means something else in Python.
    """
    name = manifest.course.kit
    if name is None:
        return None
    taken = _RESERVED | {topic.name for topic in manifest.topics}
    if not name.isidentifier() or keyword.iskeyword(name):
        raise manifest.error(f"kit: `{name}` cannot be the name of a module", "course", "kit")
    if name in taken or name.startswith(("_", "test_")):
        raise manifest.error(f"kit: the name `{name}` is taken; another folder name is needed", "course", "kit")
    places = [sysconfig.get_path(kind) for kind in ("purelib", "platlib")]
    if name in sys.stdlib_module_names or importlib.machinery.PathFinder.find_spec(name, places) is not None:
        raise manifest.error(f"kit: `{name}` is the name of an installed module", "course", "kit")
    folder = next((place for place in (root / name, checks / name) if place.is_dir()), None)
    if folder is None or not any(folder.glob("*.py")):
        raise manifest.error(f"kit: there is no folder `{name}` with Python files in {root}", "course", "kit")
    return Kit(name=name, folder=folder.resolve())
