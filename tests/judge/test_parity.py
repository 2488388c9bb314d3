"""One check, two transports: in the sandbox and under a plain pytest, alone or spread, every verdict is the same."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from sessions import plain_pytest
from shared import REPO, WarmUp, exercises_of

from grader.course import Course, misconceptions_of
from grader.intake.find import open_submission

pytestmark = pytest.mark.slow

TOPICS = ("tensor_ops", "autograd", "parameters")
HARMLESS = {"chloe": "autograd", "elif": "tensor_ops"}
"""Of the sample class: one who is right, and one with misconceptions; and the topic that is graded of each."""
TOPIC_OF_MISCONCEPTIONS = "parameters"
SPREAD = "misconceptions"
"""Its checks go to two processes of pytest; about as many fail as pass."""
Verdicts = dict[str, str]


def submissions(folder: Path) -> Iterator[Path]:
    """Some of the sample class, and misconceptions of a topic: of each exercise the second, where there are two."""
    yield from (REPO / "examples" / "class" / name for name in HARMLESS)
    course = Course.load()
    solved = course.solution_file(TOPIC_OF_MISCONCEPTIONS).read_text()
    answers = course.misconceptions_file(TOPIC_OF_MISCONCEPTIONS).read_text()
    answers = answers.replace("from __future__ import annotations\n", "")
    of: dict[str, list[str]] = defaultdict(list)
    for wrong in misconceptions_of(course, TOPIC_OF_MISCONCEPTIONS):
        of[wrong.exercise.partition(".")[2]].append(wrong.function)
    chosen = [f"{exercise} = {names[1]}\n" for exercise, names in of.items() if len(names) > 1]
    work = folder / SPREAD
    work.mkdir()
    (work / f"{TOPIC_OF_MISCONCEPTIONS}.py").write_text(solved + answers + "".join(chosen))
    yield work


def topic_of(folder: Path) -> str:
    """The topic whose checks a submission is graded with."""
    return HARMLESS.get(folder.name, TOPIC_OF_MISCONCEPTIONS)


def verdicts_in(report: Path) -> Verdicts:
    """Verdict by check from pytest's JUnit report."""
    found: Verdicts = {}
    for case in ElementTree.parse(report).iter("testcase"):
        outcome = next((part for part in case if part.tag in ("failure", "skipped", "error")), None)
        verdict = "passed"
        if outcome is not None:
            named = re.search(r"\[(\w+)\] ", outcome.attrib["message"])
            verdict = named[1] if named else outcome.tag
        found[case.attrib["name"].removeprefix("test_")] = verdict
    return found


@pytest.fixture(scope="module")
def sandboxed(warm: WarmUp, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdicts]:
    """Verdicts of each submission from a worker, with all its isolation."""
    worker, course = warm(only=TOPICS, misconceptions=False), Course.load()
    found = {}
    for folder in submissions(tmp_path_factory.mktemp("sandboxed")):
        topic = topic_of(folder)
        result = worker.of(open_submission(folder, TOPICS).read(), *course.select([topic]))
        found[folder.name] = {check.name: check.verdict for one in exercises_of(result, topic) for check in one.checks}
        assert found[folder.name]
    return found


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdicts]:
    """Verdicts of each submission from a plain pytest, of `SPREAD` from its two processes."""
    root = tmp_path_factory.mktemp("plain")
    course, sessions = Course.load(), []
    for folder in submissions(root):
        arguments = ["-q", str(course.check_file(topic_of(folder))), "--submission", str(folder)]
        arguments += [f"--junitxml={root / folder.name}.xml"]
        sessions.append((folder.name, root, [*arguments, "-n2"] if folder.name == SPREAD else arguments))
    plain_pytest(sessions)
    return {name: verdicts_in(root / f"{name}.xml") for name, _, _ in sessions}


@pytest.mark.parametrize("name", [*HARMLESS, SPREAD])
def test_verdicts_agree_in_the_sandbox_and_under_plain_pytest(
    sandboxed: dict[str, Verdicts], plain: dict[str, Verdicts], name: str
) -> None:
    assert plain[name] == sandboxed[name]


def test_right_and_wrong_answers_were_both_among_them(sandboxed: dict[str, Verdicts]) -> None:
    assert set(sandboxed["chloe"].values()) == {"passed"}
    assert set(sandboxed["elif"].values()) == {"passed", "failed"}
    assert {"passed", "failed"} <= set(sandboxed[SPREAD].values())
