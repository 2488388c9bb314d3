"""``grader report``: a folder of pages that a browser shows from the disk, without a network.

The templates escape everything from submissions after `clean`; the policy in each page allows only the script that the
page carries, and no connections. Shows results and decides nothing.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import jinja2
from markupsafe import Markup, escape

from grader.course import Course
from grader.errors import UserError
from grader.files import write_atomically, write_named_file
from grader.intake.roster import Student
from grader.package import __version__
from grader.reports import feedback
from grader.reports.entries import Entry
from grader.reports.excerpts import Line
from grader.reports.html_class import class_page
from grader.reports.html_feedback import by_hand, feedback_page, heading_of
from grader.reports.picture_svg import figure_of
from grader.results import ExerciseResult
from grader.text import clean, one_line, points

_PAGE_NAME = re.compile(r"[a-z0-9-]*-[0-9a-f]{10}\.html")
_REPORT_BYTES = 9_000_000
"""The size of all pages of a class of up to 300 submissions; code is shown only while there is room for it."""


def write_report(
    entries: Sequence[Entry],
    course: Course,
    out: Path,
    about: Sequence[str] = (),
    for_instructors: bool = False,
    absent: Sequence[Student] = (),
) -> Path:
    """Writes the class page and a feedback page for each submission; returns the class page's path.

    Args:
        about: the class page's lines about the runs of these results.
        for_instructors: whether a feedback page links the class page and lists the layers of the sandbox. A page that
            goes to a student does neither.
        absent: the students of the class list who have handed in nothing.

    Raises:
        UserError: the folder cannot be written.
    """
    students = out / "students"
    links = {entry.result.submission: f"students/{page_name(entry.result.submission)}" for entry in entries}
    try:
        students.mkdir(parents=True, exist_ok=True)
        for entry, page in feedback_pages(entries, course, for_instructors):
            write_atomically(out / links[entry.result.submission], [page], durable=False)
        data = class_page(entries, course, links, len(absent))
        template = environment_of().get_template("class.html")
        text = template.render(page=data, course=course, about=about, absent=absent)
        write_atomically(out / "index.html", [text.encode("utf-8", "replace")], durable=False)
        for file in students.iterdir():  # pages of submissions that an earlier report had
            is_page = _PAGE_NAME.fullmatch(file.name) and file.is_file() and not file.is_symlink()
            if is_page and f"students/{file.name}" not in links.values():
                file.unlink()
    except OSError as problem:
        raise UserError(
            f"{problem.filename or out}: {problem.strerror}",
            fix="the pages go beside the gradebook: copy it to a folder that you can write to, then --out THAT_FOLDER",
        ) from problem
    return out / "index.html"


def feedback_pages(
    entries: Sequence[Entry], course: Course, for_instructors: bool = False
) -> Iterator[tuple[Entry, bytes]]:
    """Each submission with its feedback page, one file that needs no other."""
    template = environment_of().get_template("feedback.html")
    page_bytes = _REPORT_BYTES // min(max(len(entries), 30), 300)
    for entry in entries:
        page = feedback_page(entry, course, page_bytes)
        yield entry, template.render(page=page, course=course, inside=for_instructors).encode("utf-8", "replace")


def write_pictures(exercises: Sequence[ExerciseResult], course: Course, out: Path) -> None:
    """Writes a page with the pictures of these exercises.

    Raises:
        UserError: the file cannot be written.
    """
    page = environment_of().get_template("pictures.html").render(exercises=exercises, course=course)
    write_named_file(out, [page.encode("utf-8", "replace")], fix="name another file")


def page_name(submission: str) -> str:
    """The file name of a submission's page."""
    return f"{feedback.file_stem(submission)}.html"


def environment_of(package: str = "grader.reports") -> jinja2.Environment:
    """The templates of a package, then those of the reports. Every value is escaped, and a missing one is an error."""
    loader = jinja2.ChoiceLoader([jinja2.PackageLoader(name) for name in (package, "grader.reports")])
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    script = loader.get_source(environment, "table.js")[0].strip()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    environment.globals.update(
        script=script, policy=f"{policy}; script-src 'sha256-{digest}'", version=__version__, points=points
    )
    environment.globals.update(feedback=feedback, by_hand=by_hand, heading_of=heading_of)
    environment.filters.update(clean=clean, one_line=one_line, code=_code, numbered=_numbered, figure=figure_of)
    return environment


def _code(text: str) -> Markup:
    """Text in which parts between backticks are shown as code; all of it is escaped."""
    parts = re.split(r"`([^`\n]+)`", text)
    return Markup("").join(Markup("<code>{}</code>").format(part) if n % 2 else part for n, part in enumerate(parts))


def _numbered(lines: Iterable[Line]) -> Markup:
    """Lines with their numbers. Not in the template, because there they would take half the time of a report."""
    return Markup("".join([f"<span><i>{one.number}</i>{escape(one.text or ' ')}</span>\n" for one in lines]))
