"""Options that several commands share, and how they are read: limits, courses, exercises, files and folders.

Imports nothing slow: every command needs it.
"""

import re
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from grader.course import Course, Exercise
from grader.course.home import SHIPPED, Home
from grader.errors import UserError
from grader.reports.where import assignment_of, next_of
from grader.sandbox.limits import InvalidLimit, Limits

if TYPE_CHECKING:
    from grader.grading.settings import GradingSettings

GRADES = Path("grades")
"""The folder of the gradebook, if none is named."""
_UNITS = {"": 1, "b": 1, "k": 1000, "kb": 1000, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9}
_UNITS |= {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
_OPTIONS_OF_SIZES = {"memory_bytes": "memory", "file_bytes": "files", "print_bytes": "prints"}
_WORK = (".py", ".ipynb")
_FILES = (".py", ".ipynb", ".zip", ".tar", ".gz", ".tgz")


def size(text: str) -> int:
    """The number of bytes in ``2GiB``, ``500 MB`` or ``4096``.

    Raises:
        typer.BadParameter: the text is not a size.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text.lower())
    if match is None or match[2] not in _UNITS or not (amount := int(float(match[1]) * _UNITS[match[2]])):
        raise typer.BadParameter(f"{text!r} is not a size; write for example 512MiB or 2GiB")
    return amount


def _size_option(text: str | None) -> str | None:
    if text is not None:
        size(text)
    return text


def _percentage(value: float | None) -> float | None:
    if value is not None and not 0 <= value <= 100:
        raise typer.BadParameter("must be a percentage from 0 to 100")
    return value


def course_here() -> Path | None:
    """The current folder, if that is the folder of an author's course.

    A copy of a course that students get has no solutions, so work that was handed in is never taken for a course.
    """
    here = Path()
    return here if (here / "course.toml").is_file() and (here / "solutions").is_dir() else None


def _course_of_author(given: Path | None) -> Path | None:
    """The course that was given, else the one here, for commands that need solutions.

    Raises:
        UserError: none is given, and the current folder is a student's, of another course than the shipped one.
    """
    course = given or course_here()
    if course is None:
        home = Home.find()
        if home is not None and not home.origin.is_alike(SHIPPED):
            problem = f"{home.folder} is a student's folder: it has no solutions, and its course is not the shipped one"
            raise UserError(problem, fix=f"name the course: --course {home.origin.course or 'DIR'}")
    return course


_input = partial(typer.Option, rich_help_panel="Course and inputs")
_exit_code = partial(typer.Option, rich_help_panel="Exit code")
_limit = partial(typer.Option, rich_help_panel="Limits of a submission")
_size = partial(_limit, metavar="SIZE", callback=_size_option)
_seed = partial(_input, "--seed", min=0, max=2**31 - 1)
_course = partial(
    _input,
    "--course",
    metavar="DIR | NAME",
    help="An instructor's own course, or an installed one.  [default: the one here, else the shipped one]",
)
_LATE = "Late work (shown beside the score)"


def _late(metavar: str, text: str) -> Any:
    return typer.Option(metavar=metavar, rich_help_panel=_LATE, help=f"{text}  [as before, else course.toml]")


CourseOption = Annotated[Path | None, _course()]
"""For commands that look for the course themselves: by `course_path`, or not at all."""
CourseHereOption = Annotated[Path | None, _course(callback=_course_of_author)]
CourseOfGradesOption = Annotated[
    Path | None,
    _input("--course", metavar="DIR | NAME", help="The course of the gradebook.  [default: as it was graded]"),
]
DevicesOption = Annotated[
    Literal["auto", "simulated", "real"],
    _input(help="GPUs that checks get; auto: real ones if there are enough, else simulated ones."),
]
SeedOption = Annotated[int, _seed(help="Varies the inputs that checks generate.")]
ClassSeedOption = Annotated[
    int | None,
    _seed(help="Varies the inputs that checks generate; kept for later runs.  [default: a secret one per gradebook]"),
]
OnlyOption = Annotated[list[str] | None, typer.Option(metavar="NAME", help="A topic or exercise; may be repeated.")]
RunOption = Annotated[int | None, typer.Option(min=1, help="Only this run.  [default: everybody's latest result]")]
AssignmentOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="The assignment, as course.toml names it.  [default: the only one]")
]
WorkOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Folder with the work, or one topic's file.  [default: here]")
]
WorkFolderOption = Annotated[Path | None, typer.Option(metavar="DIR", help="Folder with the work.  [default: here]")]
NoRecordOption = Annotated[
    bool, typer.Option("--no-record", help="Do not count this among your tries, which are kept in your folder only.")
]
OutOption = Annotated[Path, typer.Option(metavar="DIR", help="Folder of the gradebook and the results.")]


class LateGroup(NamedTuple):
    """The options about late work."""

    due: Annotated[str | None, _late("TIME", "2026-10-31 or 2026-10-31T23:59; none; course: as course.toml says.")] = (
        None
    )
    late_penalty: Annotated[float | None, _late("FRACTION", "The part of the points that each day costs.")] = None
    grace: Annotated[float | None, _late("MINUTES", "Minutes after the due date that are not late.")] = None
    late_cap: Annotated[float | None, _late("FRACTION", "The part of the points that lateness costs at most.")] = None
    late_until: Annotated[str | None, _late("TIME", "Work that comes later does not count; none.")] = None
    late_by: Annotated[
        Literal["known", "file-time"] | None,
        typer.Option(
            rich_help_panel=_LATE,
            help="file-time: if no roster has a time, that of the file counts; "
            "copies and downloads change it.  [known]",
        ),
    ] = None


class GradingGroup(NamedTuple):
    """The options about how work is graded; the limits have the defaults of `Limits`."""

    devices: DevicesOption = "auto"
    fail_under: Annotated[
        float | None,
        _exit_code(
            metavar="PERCENT",
            callback=_percentage,
            help="1 only if a score is below this percentage of the points.  [default: if any check fails]",
        ),
    ] = None
    skipped_ok: Annotated[
        bool, _exit_code("--skipped-ok", help="Points that are not assessed here do not count as missing.")
    ] = False
    check_seconds: Annotated[
        float, _limit(help="Seconds for a check; time that it waits for a processor does not count.")
    ] = 10.0
    topic_seconds: Annotated[float, _limit(help="Seconds for a topic, with its imports and second runs.")] = 60.0
    memory: Annotated[str, _size(help="Memory it may add.")] = "2GiB"
    processes: Annotated[int, _limit(help="Processes and threads at a time.")] = 64
    files: Annotated[str, _size(help="Files it may write.")] = "16MiB"
    prints: Annotated[str, _size(help="Prints that are kept.")] = "64KiB"

    def limits(self) -> Limits:
        """The limits that the options ask for.

        Raises:
            typer.BadParameter: one of them is out of its range; the error names the option.
        """
        return _limits(_given_limits(self))

    def settings(self, names: Sequence[str], pictures: tuple[str, ...], seed: int | None) -> "GradingSettings":
        """The settings of a run, in which these exercises are graded, and these get pictures."""
        from grader.grading.settings import GradingSettings

        return GradingSettings(
            names=tuple(names),
            seed=seed,
            fail_under=self.fail_under,
            skipped_ok=self.skipped_ok,
            limits=self.limits(),
            pictures=pictures,
            devices=self.devices,
        )


def _again(text: str, **more: Any) -> Any:
    return _limit(help=f"{text}  [as in the run]", **more)


class AgainGroup(NamedTuple):
    """The options of a run that is repeated for one student; None is as in that run."""

    devices: Annotated[
        Literal["auto", "simulated", "real"] | None, _input(help="GPUs that checks get.  [as in the run]")
    ] = None
    check_seconds: Annotated[float | None, _again("Seconds for a check.")] = None
    topic_seconds: Annotated[float | None, _again("Seconds for a topic.")] = None
    memory: Annotated[str | None, _again("Memory it may add.", metavar="SIZE", callback=_size_option)] = None
    processes: Annotated[int | None, _again("Processes and threads at a time.")] = None
    files: Annotated[str | None, _again("Files it may write.", metavar="SIZE", callback=_size_option)] = None
    prints: Annotated[str | None, _again("Prints that are kept.", metavar="SIZE", callback=_size_option)] = None

    def limits(self) -> dict[str, Any]:
        """The fields of `Limits` that were given.

        Raises:
            typer.BadParameter: one of them is out of its range.
        """
        given = _given_limits(self)
        _limits(given)
        return given


def _given_limits(group: "GradingGroup | AgainGroup") -> dict[str, Any]:
    """The fields of `Limits` that a group has."""
    found = {name: getattr(group, _OPTIONS_OF_SIZES.get(name, name)) for name in Limits.__struct_fields__}
    return {name: size(one) if isinstance(one, str) else one for name, one in found.items() if one is not None}


def _limits(given: dict[str, Any]) -> Limits:
    try:
        return Limits(**given)
    except InvalidLimit as error:
        name = _OPTIONS_OF_SIZES.get(error.name, error.name.replace("_", "-"))
        raise typer.BadParameter(str(error), param_hint=f"'--{name}'") from None


def course_path(given: Path | None, places: Iterable[Path] = ()) -> Path | None:
    """The course that is meant: the one of the option, else that of a folder, else the one here, else (None) the
    shipped one.

    A folder can hold a course only for whoever stands in it: its checks are trusted code, and a folder that is only
    named may be anybody's.

    Args:
        places: the files and folders named on the command line. The first that is in a folder made by `grader init`
            counts, else the current folder.

    Raises:
        UserError: a folder is named that holds a course.
    """
    if given is not None:
        return given
    here = Home.find()
    homes = (Home.find(place) for place in places if place.exists())
    home = next((home for home in homes if home is not None), here)
    if home is None:
        return course_here()
    if home.origin.has_course and (here is None or here.folder != home.folder):
        fix = "if the folder is yours, change into it first; else name the course: --course DIR"
        raise UserError(f"{home.folder} holds a course, whose checks would run here", fix=fix)
    return home.course


def work_of(
    arguments: Sequence[str], submission: Path | None, course: Path | None
) -> tuple[Course, Path, tuple[str, ...]]:
    """The course, the folder or file with the work, and the names of the wanted topics and exercises.

    Raises:
        UserError: as `course_path` and `split_targets`; or the course cannot be used.
    """
    loaded = Course.load(course_path(course, [*filter(None, [submission]), *map(Path, arguments)]))
    topics, assignments = ([one.name for one in every] for every in (loaded.modules, loaded.assignments))
    return loaded, *split_targets(arguments, submission, topics, assignments)


def part_of(course: Course, home: Home | None, names: Sequence[str] = ()) -> Course:
    """The part of a course that was handed out into a student's folder; all of it if something else is named.

    Raises:
        UnknownName: the course does not have what is named.
    """
    part = course.part_of(home.origin.assignments) if home else course
    known = {one.full_name for one in part.all_exercises}
    return part if not names or known.issuperset(course.select(names)) else course


def part_to_check(course: Course, home: Home | None, names: Sequence[str]) -> Course:
    """The same for commands that need the student's files.

    Raises:
        UnknownName: the course does not have what is named.
        UserError: what is named was not handed out into the folder, and no file of it is there.
    """
    part = part_of(course, home, names)
    if home and home.origin.assignments and names and part is course:
        exercises = [course.exercise(name) for name in course.select(names)]
        files = [home.folder / one.work_file for one in exercises]
        if not any(file.exists() or file.with_suffix(".ipynb").exists() for file in files):
            found = assignment_of(course, exercises[0].full_name)
            fix = f"get it with: grader init --assignment {found.name}" if found else "see: grader init --help"
            raise UserError(f"{files[0].name} is not in this folder yet", fix=fix)
    return part


def split_targets(
    arguments: Sequence[str], submission: Path | None, topics: Sequence[str], assignments: Sequence[str] = ()
) -> tuple[Path, tuple[str, ...]]:
    """The folder or file with the work, and the names of the wanted topics and exercises.

    ``kata`` and ``kata/tensor_ops.py`` name a folder and a topic in it as well as ``tensor_ops`` and
    ``tensor_ops.gram`` name a part of the work here. Without a folder it is the current one, or the one that
    `grader init` made, if the current one lies in that. A folder with the name of an assignment is meant if there is
    work in it.

    Raises:
        UserError: two folders are named, or a file or folder that is not there.
    """
    places: list[Path] = [] if submission is None else [submission]
    names = []
    for argument in arguments:
        path = Path(argument)
        is_file = path.suffix in _FILES
        if path.suffix == ".py" and path.stem in topics and (path.parent == Path() or path.is_file()):
            names.append(path.stem)
            places += [path.parent] if path.parent != Path() else []
        elif argument in assignments and not any(
            (path / f"{topic}{end}").exists() for topic in topics for end in _WORK
        ):
            names.append(argument)
        elif argument not in topics and (path.is_dir() or (is_file and path.is_file())):
            places.append(path)
        elif is_file or "/" in argument:
            raise UserError(f"no such file: {argument}" if path.suffix else f"no such folder: {argument}")
        else:
            names.append(argument)
    if len({place.resolve() for place in places}) > 1:
        fix = "check one after the other, or a class with: grader grade"
        raise UserError(f"two places with work: {places[0]} and {places[-1]}", fix=fix)
    here = Path()
    ends = (".py", "/__init__.py")
    home = None if any((here / f"{topic}{end}").exists() for topic in topics for end in ends) else Home.find()
    usual = here if home is None or home.folder == here.resolve() else home.folder
    return (places[0] if places else usual), tuple(names)


def complete_name(incomplete: str) -> list[str]:
    """The names that complete the beginning of one in the shell: topics, and exercises with their topic."""
    try:
        course = Course.load(course_path(None), complete=False)
    except (UserError, OSError):
        return []
    names = [one.name for one in course.assignments]
    names += [*(topic.name for topic in course.topics), *(one.full_name for one in course.all_exercises)]
    return [name for name in names if name.startswith(incomplete)]


def one_exercise(course: Course, name: str | None, command: str, *, manual: bool = False) -> Exercise:
    """The one exercise that is meant; without a name, the one at hand, which `grader next` names.

    Args:
        manual: whether it may be one that a person marks.

    Raises:
        UserError: it is not known, or a topic, or a person marks it; or there is none at hand.
    """
    if name is None:
        home = Home.find()
        if home is None:
            fix = f"change into it, start one with `grader init kata`, or name one: grader {command} EXERCISE"
            raise UserError("this is not a folder of yours, so no exercise is at hand", fix=fix)
        found = next_of(part_of(course, home), home.progress())
        if found is None:
            raise UserError("all is done", fix=f"name the exercise: grader {command} EXERCISE")
        return found
    selected = course.select([name])
    exercise = course.exercise(selected[0])
    if not manual and len(selected) == 1 and exercise.kind == "manual":
        raise UserError(f"`{selected[0]}` has no checks: a person marks it", fix="its rubric: grader list")
    if len(selected) != 1:
        raise UserError(f"`{name}` is a topic", fix=f"name one exercise, for example: grader {command} {selected[0]}")
    return exercise


named = partial(typer.Argument, autocompletion=complete_name, show_default=False)
"""An argument that names topics or exercises, which the shell completes."""
ExerciseArgument = Annotated[
    str | None, named(metavar="EXERCISE", help="For example gram, or tensor_ops.gram.  [default: the one at hand]")
]
