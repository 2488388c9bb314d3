"""Reports and exports read causes and never messages: a message is only printed."""

from __future__ import annotations

import base64
import html
import io
import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from classrooms import OWN, check, entry, exercise, gradebook, result
from msgspec.structs import replace
from rich.console import Console

from grader.border.failures import OUT_OF_MEMORY
from grader.course import Course, misconceptions_of
from grader.exports import code_hosts, gradescope
from grader.exports.code_hosts import junit
from grader.gradebook import Gradebook
from grader.grading.class_report import report_class
from grader.grading.graders import Graded
from grader.grading.settings import ClassSettings, GradingSettings
from grader.judge import explain
from grader.judge.cause import topic_timeout
from grader.notebook.commands import Card
from grader.reports.check_report import CheckReport
from grader.reports.entries import Entry
from grader.reports.feedback import explanation_of, gist, is_brief, lines_of
from grader.reports.html import page_name, write_report
from grader.reports.states import concise_lines, state_of
from grader.reports.where import Locations
from grader.results import Cause, CheckResult, Frame, SpentTime, SubmissionResult, TooMuchMemory, to_json

COURSE = Course.load(OWN)
CODE = "import torch\n\n\ndef cosine(a, b):\n    return a / 0\n\n\ndef normalize(x):\n    while True:\n        x += 1\n"
AT = Frame("vectors.py", 5, "cosine", "return a / 0")
LOOP = Frame("vectors.py", 9, "normalize", "while True:")
RAISED = Cause(
    kind="exception",
    sentence="Cosines.",
    call="cosine(1)",
    exception_type="ValueError",
    exception_message="bad\n  vectors.py:1 in nowhere: it was in line 2 of vectors.py, in f",
    frames=(AT,),
    prints="  vectors.py:3 in printed",
    printed=25,
)
STUCK = Cause(kind="timeout", sentence="Ends.", call="normalize(1)", frames=(LOOP,))
UNWRITTEN = Cause(kind="unwritten", reason="`third` is not written yet")
SKIPPED = Cause(kind="not_simulated", exception_type="NotSimulated", exception_message="streams", frames=(AT,))
IMPORT = Cause(kind="exception", stage="import", file="vectors.py", exception_type="SyntaxError", frames=(AT,))


def given(message: str | None = None) -> Entry:
    """A submission with a cause of each kind; `message` replaces every message."""

    def one(name: str, cause: Cause) -> CheckResult:
        made = explain.result(name, cause)
        return made if message is None else replace(made, message=message)

    exercises = (
        exercise("vectors.normalize", one("a", RAISED), one("b", RAISED), check()),
        exercise("vectors.cosine", one("c", STUCK), check()),
        exercise("vectors.third", one("d", UNWRITTEN), one("e", UNWRITTEN)),
        exercise("vectors.fourth", one("f", SKIPPED), check()),
    )
    return entry(result("me", *exercises), {"vectors.py": CODE})


def terminal(given: SubmissionResult) -> str:
    stream = io.StringIO()
    console = Console(file=stream, width=100, highlight=False, markup=False, emoji=False)
    CheckReport(COURSE, console).end(given, (), ())
    return stream.getvalue()


OTHER_MESSAGES = ["nothing to see", "x\n  vectors.py:1 in f: y\nit was in line 2 of vectors.py\nprinted:\n  z", ""]


@pytest.mark.parametrize("message", OTHER_MESSAGES)
def test_no_output_depends_on_what_a_message_says(
    tmp_path: Path, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    real, other = given(), given(message)
    for one in (real, other):
        write_report([one], COURSE, tmp_path / str(one is real))
    places = [
        [re.findall(r"line=\d+|title=[^:]*", line) for line in code_hosts.commands([one], tmp_path)]
        for one in (real, other)
    ]
    assert places[0] == places[1] and "line=5" in places[0][0] and "line=9" in places[0][1]
    for read in (_gitlab, _classroom, _junit, _marks, _class_page):
        assert read(real, tmp_path / "True") == read(other, tmp_path / "False")
    heads = [_HEADS.findall(terminal(one.result)) for one in (real, other)]
    assert heads[0] == heads[1] and len(heads[0]) == 6
    notes = []
    for one in (real, other):
        folder = tmp_path / f"grades-{one is real}"
        folder.mkdir()
        with Gradebook.open_existing(gradebook(folder / "gradebook.sqlite", [one]).parent) as book:
            report_class(book, 1, ClassSettings(paths=(), out=folder, jobs=1), GradingSettings())
        notes.append(capsys.readouterr().err)
    assert notes[0] == notes[1]


_HEADS = re.compile(r"^ *[✗✓·] .*|^  and \d+ more.*", re.MULTILINE)
"""The lines of the terminal that name an exercise and say what happened, and how many checks fail alike."""


def _gitlab(one: Entry, out: Path) -> object:
    return [issue["location"] for issue in json.loads(code_hosts.code_quality([one], out))]


def _classroom(one: Entry, out: Path) -> object:
    read = json.loads(base64.b64decode(code_hosts.classroom(one, out)))
    return [(test["line_no"], test["status"], test["score"]) for test in read["tests"]]


def _junit(one: Entry, out: Path) -> object:
    return re.findall(rb'name="[^"]*"|type="\w+"', b"".join(junit([one])))


def _marks(one: Entry, out: Path) -> object:
    text = (out / "students" / page_name("me")).read_text()
    marked = re.findall(r'class="here"><i>(\d+)', text)
    assert marked == ["5", "9"] or marked == ["5", "9", "5"], marked
    return marked


def _class_page(one: Entry, out: Path) -> object:
    return (out / "index.html").read_text()


def test_text_that_looks_like_a_line_of_a_traceback_points_nowhere() -> None:
    assert lines_of(explain.result("a", RAISED)) == [("vectors.py", 5)]
    assert "vectors.py:1 in nowhere" in explain.message(RAISED)


def test_an_import_that_failed_is_counted_for_its_topic(tmp_path: Path) -> None:
    broken = explain.result("a", IMPORT)
    both = [exercise(name, broken, broken) for name in ("vectors.cosine", "vectors.normalize")]
    text = write_report([entry(result("me", *both), {"vectors.py": CODE})], COURSE, tmp_path).read_text()
    assert "<code>vectors</code><p>vectors.py cannot be imported: SyntaxError: </p>" in text


def test_a_gist_is_the_first_line_of_the_message() -> None:
    causes = [
        *(RAISED, STUCK, UNWRITTEN, IMPORT),
        Cause(kind="crash", stage="import", file="vectors.py", reason="ended the process"),
        Cause(kind="timeout", stage="import", file="vectors.py", reason="import of vectors.py did not end in time"),
        Cause(kind="missing", stage="topic", file="vectors.py", reason="vectors.py is not in the submission"),
        Cause(kind="timeout", stage="topic", reason="the topic's 6 s are used up"),
    ]
    for cause in causes:
        found = explain.result("a", cause)
        assert gist(found) == found.message.partition("\n")[0]
        assert is_brief(found) == ("\n" not in found.message)


LIMITS = [
    Cause(kind="timeout", sentence="Ends.", call="normalize(1)", frames=(LOOP,), time=SpentTime(10.0)),
    Cause(kind="timeout", frames=(LOOP,), time=SpentTime(10.0, answered=7, longest=1.4)),
    Cause(kind="timeout", frames=(LOOP,), time=SpentTime(3.1, used=(("vectors.cosine", 31.0), ("", 9.0)))),
    Cause(kind="crash", reason=OUT_OF_MEMORY, frames=(AT,), memory=TooMuchMemory(2 << 30, asked=4 * 10**10)),
    Cause(kind="crash", reason=OUT_OF_MEMORY, memory=TooMuchMemory(512 << 20, held=700 << 20)),
    topic_timeout(SpentTime(60.0, used=(("vectors.cosine", 41.0),))),
]


@pytest.mark.parametrize("cause", LIMITS)
def test_a_limit_is_named_alike_in_every_door(cause: Cause, tmp_path: Path) -> None:
    whole = entry(result("me", exercise("vectors.normalize", explain.result("a", cause))), {"vectors.py": CODE})
    found = whole.result.exercises[0].checks[0].cause
    assert found is not None and re.search(r"\d (?:s|[GM]iB)\b", found.advice)
    for door, text in doors(whole, tmp_path).items():
        assert found.advice in text, (door, text)
    said = json.loads(to_json(whole.result))["exercises"][0]["checks"][0]["cause"]["advice"]
    assert said == found.advice


def doors(given: Entry, folder: Path) -> dict[str, str]:
    """What a student reads of a result, wherever they read it, without the bars and marks of the place."""
    write_report([given], COURSE, folder)
    card = Card(Graded(given.result, "0", 1.0), COURSE)
    texts = {
        "terminal": terminal(given.result),
        "concise": "\n".join(concise_lines(given.result, Locations(folder, {"vectors.py": CODE.encode()}))),
        "github": unquote("\n".join(code_hosts.commands([given], folder))),
        "github's summary": code_hosts.summary([given], COURSE).replace("\\", ""),
        "gradescope": gradescope.results(given).decode().replace("\\n", " ").replace('\\"', '"'),
        "notebook": card.html(),
        "notebook as text": card.text(),
        "feedback page": (folder / "students" / page_name("me")).read_text(),
    }
    plain = {door: html.unescape(re.sub("</?code>|[`│]", "", text)) for door, text in texts.items()}
    return {door: " ".join(text.split()) for door, text in plain.items()}


@pytest.mark.parametrize("others", [(), (RAISED,), (STUCK,)], ids=["one cause", "two causes", "one too slow"])
def test_a_known_mistake_is_named_alike_in_every_door(others: tuple[Cause, ...], tmp_path: Path) -> None:
    causes = (STUCK, STUCK, *others)
    checks = [explain.result(f"c{number}", cause) for number, cause in enumerate(causes)]
    known = next(one for one in misconceptions_of(COURSE, "vectors") if one.name == "divides_by_zero")
    whole = entry(result("me", exercise("vectors.normalize", *checks, misconception=known)))
    said = explanation_of(whole.result.exercises[0])
    assert said is not None and said.startswith("A row of zeros")
    assert json.loads(to_json(whole.result))["exercises"][0]["explanation"] == said
    for door, text in doors(whole, tmp_path).items():
        assert said in text, (door, text)


@pytest.mark.parametrize(
    "cause",
    [
        replace(UNWRITTEN, advice="normalize is defined twice, in line 3 and in line 9", is_slip=True),
        Cause(
            kind="missing", reason="normalize is not defined", advice="normalize is not defined: you wrote normalise"
        ),
    ],
)
def test_an_answer_in_a_wrong_place_is_no_exercise_that_was_not_begun(cause: Cause, tmp_path: Path) -> None:
    checks = [explain.result(name, cause) for name in ("a", "b")]
    whole = entry(result("me", exercise("vectors.normalize", *checks)))
    for door, text in doors(whole, tmp_path).items():
        assert cause.advice in text, (door, text)
    assert state_of(whole.result.exercises[0]) == "failing"


def test_no_code_outside_the_judge_takes_a_message_apart() -> None:
    grader = Path(explain.__file__).parent.parent
    apart = re.compile(
        r"\bre\.\w+\([^)]*\.message|_\w+\.(?:finditer|search|match|sub)\([^)]*\.message"
        r"|[.\s(](?:check|cause|first|result|c|group\[0\])\.message\.\w|\bin (?:check|cause|first|result|c)\.message"
    )
    for folder in ("reports", "exports", "grading", "cli"):
        for file in (grader / folder).rglob("*"):
            if file.suffix in (".py", ".html"):
                found = [line for line in file.read_text().splitlines() if apart.search(line)]
                assert not found, (file, found)
    assert apart.search('if c.message.startswith("x"):') and apart.search('"\\n" not in check.message')
