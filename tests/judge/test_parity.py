"""One check, two transports: in the sandbox and under a plain pytest, alone or spread, every verdict is the same.

The one that is spread is nightly: two more processes import torch. `test_plugin.py` spreads a session in the suite.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

import pytest
from sessions import plain_pytest
from shared import REPO, WarmUp, as_nightly, exercises_of

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


def in_both_ways(warm: WarmUp, root: Path, name: str) -> tuple[Verdicts, Verdicts]:
    """The verdicts of a submission from a worker with all its isolation, and from a plain pytest.

    That of `SPREAD` has two processes.
    """
    course, topic = Course.load(), HARMLESS.get(name, TOPIC_OF_MISCONCEPTIONS)
    folder = misconceptions(root) if name == SPREAD else REPO / "examples" / "class" / name
    result = warm(only=(topic,), misconceptions=False).of(open_submission(folder, (topic,)).read())
    checks = [check for one in exercises_of(result, topic) for check in one.checks]
    assert checks
    arguments = ["-q", str(course.check_file(topic)), "--submission", str(folder), f"--junitxml={root}/found.xml"]
    plain_pytest([(name, root, [*arguments, *(["-n2"] if name == SPREAD else [])])])
    return {check.name: check.verdict for check in checks}, verdicts_in(root / "found.xml")


@pytest.mark.parametrize("name", ["elif", as_nightly(SPREAD)])
def test_verdicts_agree_in_the_sandbox_and_under_plain_pytest(warm: WarmUp, tmp_path: Path, name: str) -> None:
    """Right and wrong answers are among them."""
    sandboxed, plain = in_both_ways(warm, tmp_path, name)
    assert plain == sandboxed
    assert {"passed", "failed"} <= set(sandboxed.values()) <= {"passed", "failed", "blocked"}


@pytest.mark.nightly
def test_so_do_those_of_somebody_who_is_right(warm: WarmUp, tmp_path: Path) -> None:
    sandboxed, plain = in_both_ways(warm, tmp_path, "chloe")
    assert plain == sandboxed and set(sandboxed.values()) == {"passed"}
