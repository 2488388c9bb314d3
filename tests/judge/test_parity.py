"""One check, two transports: in the sandbox and under a plain pytest, alone or spread, every verdict is the same."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

import pytest
from sessions import plain_pytest
from shared import REPO, WarmUp, exercises_of

from grader.course import Course, misconceptions_of
from grader.intake.find import open_submission

pytestmark = pytest.mark.slow

HARMLESS = {"chloe": "autograd", "elif": "tensor_ops"}
"""Of the sample class: one who is right, and one with misconceptions; and the topic that is graded of each."""
TOPIC_OF_MISCONCEPTIONS = "parameters"
SPREAD = "misconceptions"
"""Its checks go to two processes of pytest; about as many fail as pass."""
Verdicts = dict[str, str]


def misconceptions(folder: Path) -> Path:
    """A submission with misconceptions of a topic: of each exercise the second, where there are two."""
    course = Course.load()
    solved = course.solution_file(TOPIC_OF_MISCONCEPTIONS).read_text()
    answers = course.misconceptions_file(TOPIC_OF_MISCONCEPTIONS).read_text()
    answers = answers.replace("from __future__ import annotations\n", "")
    of: dict[str, list[str]] = defaultdict(list)
    for wrong in misconceptions_of(course, TOPIC_OF_MISCONCEPTIONS):
        of[wrong.exercise.partition(".")[2]].append(wrong.function)
    chosen = [f"{exercise} = {names[1]}\n" for exercise, names in of.items() if len(names) > 1]
    work = folder / SPREAD
    work.mkdir(parents=True)
    (work / f"{TOPIC_OF_MISCONCEPTIONS}.py").write_text(solved + answers + "".join(chosen))
    return work


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


def in_both_ways(warm: WarmUp, root: Path, *names: str) -> dict[str, tuple[Verdicts, Verdicts]]:
    """The verdicts of each submission from a worker with all its isolation, and from a plain pytest.

    That of `SPREAD` has two processes.
    """
    course, sessions, sandboxed = Course.load(), [], {}
    folders = [misconceptions(root) if name == SPREAD else REPO / "examples" / "class" / name for name in names]
    topics = tuple(dict.fromkeys(map(topic_of, folders)))
    worker = warm(only=topics, misconceptions=False)
    for folder in folders:
        topic = topic_of(folder)
        result = worker.of(open_submission(folder, topics).read(), *course.select([topic]))
        checks = [check for one in exercises_of(result, topic) for check in one.checks]
        sandboxed[folder.name] = {check.name: check.verdict for check in checks}
        assert checks
        arguments = ["-q", str(course.check_file(topic)), "--submission", str(folder)]
        arguments += [f"--junitxml={root / folder.name}.xml", *(["-n2"] if folder.name == SPREAD else [])]
        sessions.append((folder.name, root, arguments))
    plain_pytest(sessions)
    return {name: (found, verdicts_in(root / f"{name}.xml")) for name, found in sandboxed.items()}


@pytest.fixture(scope="module")
def verdicts(warm: WarmUp, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Verdicts, Verdicts]]:
    return in_both_ways(warm, tmp_path_factory.mktemp("both"), "elif", SPREAD)


@pytest.mark.parametrize("name", ["elif", SPREAD])
def test_verdicts_agree_in_the_sandbox_and_under_plain_pytest(
    verdicts: dict[str, tuple[Verdicts, Verdicts]], name: str
) -> None:
    """Right and wrong answers are among them."""
    sandboxed, plain = verdicts[name]
    assert plain == sandboxed
    assert {"passed", "failed"} <= set(sandboxed.values()) <= {"passed", "failed", "blocked"}


@pytest.mark.nightly
def test_so_do_those_of_somebody_who_is_right(warm: WarmUp, tmp_path: Path) -> None:
    sandboxed, plain = in_both_ways(warm, tmp_path, "chloe")["chloe"]
    assert plain == sandboxed and set(sandboxed.values()) == {"passed"}
