"""Every check of the cookbook passes the answer below it that is right, and fails the one that is wrong.

A course is made of the page: each section's check, answers, functions of the kit and tables of the manifest.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest
from pages import Block, blocks
from shared import REPO, Warm, WarmUp

from grader.course import Course
from grader.results import ExerciseResult, SubmissionResult

PAGE = REPO / "docs" / "cookbook.md"
BLOCKS = blocks(PAGE)
SECTIONS = re.findall(r"^### (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
IMPORTS = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n\n"
"""Of the files that students would write."""
CHECKS = [block for block in BLOCKS if block.mark == "check"]
NAMES = [re.findall(r'@exercise\("([\w.]+)"', block.text)[0] for block in CHECKS]
ANSWERS = {
    name: block.text.split("# wrong\n")
    for name, block in zip(NAMES, [block for block in BLOCKS if block.mark == "answers"], strict=True)
}
"""The right and the wrong answer of each exercise."""


def texts(mark: str) -> str:
    return "\n\n".join(block.text for block in BLOCKS if block.mark == mark)


def tables() -> dict[str, list[str]]:
    """The tables of `course.toml` of each topic: those of the page, and the shortest ones for all others."""
    given = {found[1]: text for text in _manifests() if (found := re.search(r'name = "(\w+)"', text))}
    found: dict[str, list[str]] = defaultdict(list)
    for name in NAMES:
        topic, _, exercise = name.partition(".")
        found[topic].append(given.pop(exercise, f'[[topics.exercises]]\nname = "{exercise}"\npoints = 1\n'))
    found["kata"] += given.values()
    return found


def _manifests() -> list[str]:
    return [block.text for block in BLOCKS if block.mark == "manifest"]


@pytest.fixture(scope="module")
def cookbook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The course that the page makes."""
    folder = tmp_path_factory.mktemp("cookbook")
    manifest = ['[course]\nname = "cookbook"\ntitle = "Cookbook"\nkit = "kit"\n']
    for topic, exercises in tables().items():
        manifest += [f'[[topics]]\nname = "{topic}"\ntitle = "{topic}"\n', *exercises]
    head = texts("head")
    files = {"course.toml": "\n".join(manifest), "kit/looks.py": texts("kit")}
    for topic, answer in answers(0).items():
        of_topic = [block.text for block, name in zip(CHECKS, NAMES, strict=True) if name.startswith(f"{topic}.")]
        files[f"checks/test_{topic}.py"] = "\n\n".join([head, *of_topic])
        files[f"solutions/{topic}.py"] = files[f"exercises/{topic}.py"] = answer
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def answers(which: int) -> dict[str, str]:
    """The file of each topic: 0 with the right answers, 1 with the wrong ones."""
    files: dict[str, str] = defaultdict(lambda: IMPORTS)
    for name, both in ANSWERS.items():
        files[name.partition(".")[0]] += both[which] + "\n\n"
    return dict(files)


def graded(warm: WarmUp, course: Path, which: int) -> SubmissionResult:
    worker: Warm = warm(course, misconceptions=False, pictures=True)
    return worker.grade(**answers(which))


def of_checks(result: SubmissionResult) -> dict[str, ExerciseResult]:
    return {one.name: one for one in result.exercises if one.name in NAMES}


def test_every_section_has_a_check_with_two_answers_but_the_last_which_has_a_rubric() -> None:
    assert len(SECTIONS) >= 25 and len(set(NAMES)) == len(NAMES) == len(SECTIONS) - 1
    assert all(len(both) == 2 for both in ANSWERS.values())


@pytest.mark.parametrize("block", CHECKS, ids=str)
def test_a_check_is_short(block: Block) -> None:
    assert len([line for line in block.text.splitlines() if line.strip()]) <= 15


@pytest.mark.slow
def test_right_answers_pass(warm: WarmUp, cookbook: Path) -> None:
    result = graded(warm, cookbook, 0)
    seen = of_checks(result)
    wrong = {name: [check.message for check in one.checks if check.verdict != "passed"] for name, one in seen.items()}
    assert wrong == {name: [] for name in NAMES}
    assert [picture.problem for picture in seen["kata.checkerboard"].pictures] == [""]


@pytest.mark.slow
def test_each_wrong_answer_fails_for_what_it_is(warm: WarmUp, cookbook: Path) -> None:
    seen = of_checks(graded(warm, cookbook, 1))
    kinds = {
        name: [check.cause.kind for check in one.checks if check.cause is not None and check.verdict == "failed"]
        for name, one in seen.items()
    }
    assert [name for name in NAMES if not kinds[name] or not set(kinds[name]) <= {"assertion", "exception"}] == []


def test_a_person_marks_the_text(cookbook: Path) -> None:
    (manual,) = Course.load(cookbook).manual
    assert (manual.full_name, manual.points) == ("kata.report", 2)
