"""Options that several commands share, and how their text is read. Imports nothing slow: every command needs it."""

import re
from pathlib import Path
from typing import Annotated, Literal

import typer

from grader.errors import UserError
from grader.sandbox.limits import InvalidLimit, Limits

_UNITS = {"": 1, "b": 1, "k": 1000, "kb": 1000, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9}
_UNITS |= {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
DEFAULT_LIMITS = Limits()


def size(text: str) -> int:
    """The number of bytes in ``2GiB``, ``500 MB`` or ``4096``.

    Raises:
        typer.BadParameter: the text is not a size.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", text.lower())
    if match is None or match[2] not in _UNITS or not (amount := int(float(match[1]) * _UNITS[match[2]])):
        raise typer.BadParameter(f"{text!r} is not a size; write for example 512MiB or 2GiB")
    return amount


def size_text(amount: int) -> str:
    """A size as a person writes it, e.g. ``2GiB``; `size` reads it."""
    for unit, each in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if amount % each == 0:
            return f"{amount // each}{unit}"
    return str(amount)


def _size_option(text: str) -> str:
    size(text)
    return text


def _percentage(value: float | None) -> float | None:
    if value is not None and not 0 <= value <= 100:
        raise typer.BadParameter("must be a percentage from 0 to 100")
    return value


DEFAULT_MEMORY = size_text(DEFAULT_LIMITS.memory_bytes)
DEFAULT_FILES = size_text(DEFAULT_LIMITS.file_bytes)
DEFAULT_PRINTS = size_text(DEFAULT_LIMITS.print_bytes)
_INPUTS = "Course and inputs"
_EXIT_CODE = "Exit code"
_LATE = "Late work (shown beside the score)"
_KEPT = "  [as before, else course.toml]"
_LIMITS = "Limits of a submission"
_OPTION_OF_LIMIT = {
    "check_seconds": "--check-seconds",
    "topic_seconds": "--topic-seconds",
    "memory_bytes": "--memory",
    "processes": "--processes",
    "file_bytes": "--files",
    "print_bytes": "--prints",
}


def course_here(given: Path | None) -> Path | None:
    """The course that was given; without one, the current folder, if that is the folder of an author's course.

    A copy of a course that students get has no solutions, so work that was handed in is never taken for a course.
    """
    here = Path()
    is_course = (here / "course.toml").is_file() and (here / "solutions").is_dir()
    return here if given is None and is_course else given


def course_of_author(given: Path | None) -> Path | None:
    """As `course_here`, for commands that need solutions.

    Raises:
        UserError: none is given, and the current folder is a student's, of another course than the shipped one.
    """
    course = course_here(given)
    if course is None:
        from grader.course.home import Home

        home = Home.find()
        if home is not None and (home.has_course or home.course_name):
            raise UserError(
                f"{home.folder} is a student's folder: it has no solutions, and its course is not the shipped one",
                fix=f"name the course: --course {home.course_name or 'DIR'}",
            )
    return course


_COURSE_HELP = "An instructor's own course, or an installed one.  [default: the one here, else the shipped one]"
CourseOption = Annotated[
    Path | None, typer.Option("--course", metavar="DIR | NAME", rich_help_panel=_INPUTS, help=_COURSE_HELP)
]
"""For commands that look for the course themselves: by `arguments.course_path`, or not at all."""
CourseHereOption = Annotated[
    Path | None,
    typer.Option(
        "--course", metavar="DIR | NAME", rich_help_panel=_INPUTS, help=_COURSE_HELP, callback=course_of_author
    ),
]
DevicesOption = Annotated[
    Literal["auto", "simulated", "real"],
    typer.Option(
        "--devices",
        rich_help_panel=_INPUTS,
        help="GPUs that checks get; auto: real ones if there are enough, else simulated ones.",
    ),
]
SeedOption = Annotated[
    int,
    typer.Option(
        "--seed", min=0, max=2**31 - 1, rich_help_panel=_INPUTS, help="Varies the inputs that checks generate."
    ),
]
ClassSeedOption = Annotated[
    int | None,
    typer.Option(
        "--seed",
        min=0,
        max=2**31 - 1,
        rich_help_panel=_INPUTS,
        help="Varies the inputs that checks generate; kept for later runs.  [default: a secret one per gradebook]",
    ),
]
FailUnder = Annotated[
    float | None,
    typer.Option(
        "--fail-under",
        metavar="PERCENT",
        callback=_percentage,
        rich_help_panel=_EXIT_CODE,
        help="1 only if a score is below this percentage of the points.  [default: if any check fails]",
    ),
]
SkippedOk = Annotated[
    bool,
    typer.Option(
        "--skipped-ok", rich_help_panel=_EXIT_CODE, help="Points that are not assessed here do not count as missing."
    ),
]
OnlyOption = Annotated[
    list[str] | None, typer.Option("--only", metavar="NAME", help="A topic or exercise; may be repeated.")
]
RunOption = Annotated[
    int | None, typer.Option("--run", min=1, help="Only this run.  [default: everybody's latest result]")
]
WorkOption = Annotated[
    Path | None,
    typer.Option("--submission", metavar="DIR", help="Folder with the work, or one topic's file.  [default: here]"),
]
WorkFolderOption = Annotated[
    Path | None, typer.Option("--submission", metavar="DIR", help="Folder with the work.  [default: here]")
]
OutOption = Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the gradebook and the results.")]
RosterOption = Annotated[
    Path | None,
    typer.Option(
        "--roster", metavar="CSV", help="Names for ids: columns id and name (submitted, extension); or an LMS export."
    ),
]
Due = Annotated[
    str | None,
    typer.Option(
        "--due",
        metavar="TIME",
        rich_help_panel=_LATE,
        help=f"2026-10-31 or 2026-10-31T23:59; none; course: as course.toml says.{_KEPT}",
    ),
]
LatePenalty = Annotated[
    float | None,
    typer.Option(
        "--late-penalty",
        metavar="FRACTION",
        rich_help_panel=_LATE,
        help=f"The part of the points that each day costs.{_KEPT}",
    ),
]
Grace = Annotated[
    float | None,
    typer.Option(
        "--grace",
        metavar="MINUTES",
        rich_help_panel=_LATE,
        help=f"Minutes after the due date that are not late.{_KEPT}",
    ),
]
LateCap = Annotated[
    float | None,
    typer.Option(
        "--late-cap",
        metavar="FRACTION",
        rich_help_panel=_LATE,
        help=f"The part of the points that lateness costs at most.{_KEPT}",
    ),
]
LateUntil = Annotated[
    str | None,
    typer.Option(
        "--late-until",
        metavar="TIME",
        rich_help_panel=_LATE,
        help=f"Work that comes later does not count; none.{_KEPT}",
    ),
]
LateBy = Annotated[
    Literal["known", "file-time"] | None,
    typer.Option(
        "--late-by",
        rich_help_panel=_LATE,
        help="file-time: if no roster has a time, that of the file counts; copies and downloads change it.  [known]",
    ),
]
CheckSeconds = Annotated[
    float,
    typer.Option(
        "--check-seconds",
        rich_help_panel=_LIMITS,
        help="Seconds for a check; time that it waits for a processor does not count.",
    ),
]
TopicSeconds = Annotated[
    float,
    typer.Option(
        "--topic-seconds", rich_help_panel=_LIMITS, help="Seconds for a topic, with its imports and second runs."
    ),
]
Memory = Annotated[
    str,
    typer.Option("--memory", metavar="SIZE", callback=_size_option, rich_help_panel=_LIMITS, help="Memory it may add."),
]
Processes = Annotated[
    int, typer.Option("--processes", rich_help_panel=_LIMITS, help="Processes and threads at a time.")
]
Files = Annotated[
    str,
    typer.Option("--files", metavar="SIZE", callback=_size_option, rich_help_panel=_LIMITS, help="Files it may write."),
]
Prints = Annotated[
    str,
    typer.Option(
        "--prints", metavar="SIZE", callback=_size_option, rich_help_panel=_LIMITS, help="Prints that are kept."
    ),
]


def limits_from(
    check_seconds: float, topic_seconds: float, memory: str, processes: int, files: str, prints: str
) -> Limits:
    """The limits that the options ask for.

    Raises:
        typer.BadParameter: one of them is out of its range; the error names the option.
    """
    try:
        return Limits(
            check_seconds=check_seconds,
            topic_seconds=topic_seconds,
            memory_bytes=size(memory),
            processes=processes,
            file_bytes=size(files),
            print_bytes=size(prints),
        )
    except InvalidLimit as error:
        raise typer.BadParameter(str(error), param_hint=f"'{_OPTION_OF_LIMIT[error.name]}'") from None
