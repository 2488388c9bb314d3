"""One check, two transports: in the sandbox and under a plain pytest, alone or spread, every verdict is the same."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from sessions import plain_pytest
from shared import REPO, WarmUp

from grader.course import Course, misconceptions_of
from grader.intake.find import open_submission

pytestmark = pytest.mark.slow

TOPICS = ("tensor_ops", "autograd", "parameters")
HARMLESS = {"chloe": ("autograd",), "elif": ("tensor_ops", "autograd")}
"""Of the sample class: one who is right, and one with misconceptions; and the topics that are graded of each."""
TURNS = 2
"""Wrong answers of each exercise that are tried."""
TOPIC_OF_MISCONCEPTIONS = "parameters"
SPREAD = "misconceptions_1"
"""Of it, about as many checks fail as pass."""
Verdicts = dict[str, str]


def submissions(folder: Path) -> Iterator[Path]:
    """Some of the sample class, and misconceptions of a topic, one of each exercise at a time."""
    yield from (REPO / "examples" / "class" / name for name in HARMLESS)
    course = Course.load()
    solved = course.solution_file(TOPIC_OF_MISCONCEPTIONS).read_text()
    answers = course.misconceptions_file(TOPIC_OF_MISCONCEPTIONS).read_text()
    answers = answers.replace("from __future__ import annotations\n", "")
    of: dict[str, list[str]] = defaultdict(list)
    for wrong in misconceptions_of(course, TOPIC_OF_MISCONCEPTIONS):
        of[wrong.exercise.partition(".")[2]].append(wrong.function)
    for turn in range(TURNS):
        chosen = [f"{exercise} = {names[turn]}\n" for exercise, names in of.items() if turn < len(names)]
        work = folder / f"misconceptions_{turn}"
        work.mkdir()
        (work / f"{TOPIC_OF_MISCONCEPTIONS}.py").write_text(solved + answers + "".join(chosen))
        yield work


def topics_of(folder: Path) -> list[str]:
    """The topics whose checks a submission is graded with."""
    return [*HARMLESS.get(folder.name, (TOPIC_OF_MISCONCEPTIONS,))]


def verdicts_in(report: Path) -> Verdicts:
    """Verdict by check from pytest's JUnit report."""
    found: Verdicts = {}
    for case in ElementTree.parse(report).iter("testcase"):
        topic = case.attrib["classname"].rpartition("test_")[2]
        outcome = next((part for part in case if part.tag in ("failure", "skipped", "error")), None)
        verdict = "passed"
        if outcome is not None:
            named = re.search(r"\[(\w+)\] ", outcome.attrib["message"])
            verdict = named[1] if named else outcome.tag
        found[f"{topic}: {case.attrib['name'].removeprefix('test_')}"] = verdict
    return found


@pytest.fixture(scope="module")
def sandboxed(warm: WarmUp, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdicts]:
    """Verdicts of each submission from a worker, with all its isolation."""
    worker, course = warm(only=TOPICS), Course.load()
    found = {}
    for folder in submissions(tmp_path_factory.mktemp("sandboxed")):
        topics = topics_of(folder)
        result = worker.of(open_submission(folder, TOPICS).read(), *course.select(topics))
        found[folder.name] = {
            f"{exercise.name.partition('.')[0]}: {check.name}": check.verdict
            for exercise in result.exercises
            for check in exercise.checks
            if exercise.name.partition(".")[0] in topics
        }
        assert {name.partition(":")[0] for name in found[folder.name]} == {*topics}
    return found


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdicts]:
    """Verdicts of each submission from a plain pytest; of `SPREAD` also from two processes."""
    root = tmp_path_factory.mktemp("plain")
    course, sessions = Course.load(), []
    for folder in submissions(root):
        checks = [str(course.check_file(topic)) for topic in topics_of(folder)]
        arguments = ["-q", *checks, "--submission", str(folder)]
        sessions.append((folder.name, root, [*arguments, f"--junitxml={root / folder.name}.xml"]))
        if folder.name == SPREAD:
            sessions.append(("spread", root, [*arguments, "-n2", f"--junitxml={root / 'spread'}.xml"]))
    plain_pytest(sessions)
    return {name: verdicts_in(root / f"{name}.xml") for name, _, _ in sessions}


def test_verdicts_agree_in_the_sandbox_and_under_plain_pytest(
    sandboxed: dict[str, Verdicts], plain: dict[str, Verdicts]
) -> None:
    differ = {
        (name, check): (verdict, plain[name].get(check))
        for name, verdicts in sandboxed.items()
        for check, verdict in verdicts.items()
        if plain[name].get(check) != verdict
    }
    assert not differ
    assert all(plain[name].keys() == verdicts.keys() for name, verdicts in sandboxed.items())


def test_verdicts_agree_when_pytest_spreads_the_checks(plain: dict[str, Verdicts]) -> None:
    assert plain["spread"] == plain[SPREAD]
    assert {"passed", "failed"} <= set(plain[SPREAD].values())


def test_right_and_wrong_answers_were_both_among_them(sandboxed: dict[str, Verdicts]) -> None:
    assert set(sandboxed["chloe"].values()) == {"passed"}
    for name, verdicts in sandboxed.items():
        if name.startswith("misconceptions"):
            assert "failed" in verdicts.values()
