"""The sample class, graded by the command: everybody earns what the table says, twice to the same byte.

What each student should get is in ``sample_class.py`` and ``sample_class_verdicts.json``.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from command_here import run_here
from pasting import code_among, complaints
from sample_class import EARNED, MISCONCEPTIONS, RECORD, recorded
from shared import ALL_POINTS, as_nightly

from grader.judge import explain
from grader.results import VERDICT_OF, CheckResult, SubmissionResult, from_json

pytestmark = pytest.mark.slow

REPO = Path(__file__).resolve().parent.parent.parent
CLASS = REPO / "examples" / "class"

LATER = ("datasets", "training", "devices", "ddp", "checkpoints", "efficiency", "debugging", "spirals")
"""The topics after the first three."""

RIGHT = {"ada", "bruno", "chloe"}
"""Who is right in everything, each in another way."""
AT_NIGHT = {"bruno", "chloe", "dimitri", "elif", "ines", "jonas", "lena", "mateo", "oskar", "priya", "rosa"}
"""More of kinds of which others are graded by day, too: right in everything, partly right, misconceptions, hostile,
what never ends, what fills the memory. They take three quarters of the time of the whole class."""


def graded(out: Path, *paths: Path) -> bytes:
    """``results.jsonl`` of one run of ``grader grade``.

    By one worker: each makes the examples for itself. That the workers that grade a class may be others, and more,
    `test_dask.py` shows. What the misconceptions do is kept: `test_wrong_answers.py` has run most of them.
    """
    options = ["--check-seconds", "4", "--topic-seconds", "240", "--memory", "512MiB", "--seed", "0"]
    done = run_here("grade", *paths, "--jobs", "1", "--out", out, *options)
    assert done.returncode == 1, done.stderr
    return (out / "results.jsonl").read_bytes()


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    root = tmp_path_factory.mktemp("first")
    some = shutil.copytree(CLASS, root / "class", ignore=shutil.ignore_patterns(*AT_NIGHT))
    return graded(root / "out", some)


@pytest.fixture(scope="module")
def results(first: bytes) -> dict[str, SubmissionResult]:
    return by_name(first)


@pytest.fixture(scope="module")
def at_night(tmp_path_factory: pytest.TempPathFactory) -> dict[str, SubmissionResult]:
    return by_name(graded(tmp_path_factory.mktemp("night"), *(CLASS / name for name in sorted(AT_NIGHT))))


def by_name(lines: bytes) -> dict[str, SubmissionResult]:
    found = [from_json(line) for line in lines.splitlines()]
    return {result.submission: result for result in found}


def require_recorded(results: dict[str, SubmissionResult]) -> None:
    """Every verdict of these submissions is the recorded one."""
    found, expected = json.loads(recorded(results)), json.loads(RECORD.read_text(encoding="utf-8"))
    assert found.keys() == {key for key in expected if key.partition(" ")[0] in results}
    different = [
        f"{key}: {found[key]} where {expected[key]} is recorded" for key in found if found[key] != expected[key]
    ]
    assert not different, "\n".join(different)


def test_every_verdict_is_the_recorded_one(results: dict[str, SubmissionResult]) -> None:
    require_recorded(results)


@pytest.mark.nightly
def test_those_who_are_graded_at_night_get_what_is_recorded_too(at_night: dict[str, SubmissionResult]) -> None:
    results = at_night
    assert results.keys() == AT_NIGHT
    require_recorded(results)
    assert points(results) == {name: of_table for name, of_table in table().items() if name in AT_NIGHT}
    assert named(results) == {name: found for name, found in MISCONCEPTIONS.items() if name in AT_NIGHT}


def table() -> dict[str, float]:
    """The points of each student as the README of the class has them."""
    rows = re.findall(r"^\| (\w+) \|.*\| +(\d+|all) \|$", (CLASS / "README.md").read_text(), re.MULTILINE)
    assert len(rows) >= 18
    return {name: ALL_POINTS if points == "all" else float(points) for name, points in rows}


def points(results: dict[str, SubmissionResult]) -> dict[str, float]:
    assert {result.max for result in results.values()} == {ALL_POINTS}
    return {name.partition("_")[0]: result.score for name, result in results.items()}


def named(results: dict[str, SubmissionResult]) -> dict[str, dict[str, str]]:
    """The misconceptions of each student who has some, by exercise."""
    found = {
        name: {exercise.name: exercise.misconception for exercise in result.exercises if exercise.misconception}
        for name, result in results.items()
    }
    return {name: misconceptions for name, misconceptions in found.items() if misconceptions}


def test_everybody_earns_what_the_table_says(results: dict[str, SubmissionResult]) -> None:
    assert points(results) == {name: of_table for name, of_table in table().items() if name not in AT_NIGHT}


def test_misconceptions_are_named_and_only_these(results: dict[str, SubmissionResult]) -> None:
    assert named(results) == {name: found for name, found in MISCONCEPTIONS.items() if name not in AT_NIGHT}


def test_each_later_topic_earns_what_is_right_in_it(results: dict[str, SubmissionResult]) -> None:
    found: dict[str, dict[str, str]] = {}
    for name, result in results.items():
        for topic in LATER:
            of_topic = [one for one in result.exercises if one.name.startswith(f"{topic}.")]
            assert len(of_topic) >= 5
            right = [one.name.partition(".")[2] for one in of_topic if one.score]
            if name not in RIGHT and right:
                found.setdefault(name, {})[topic] = " ".join(right)
    assert found == {name: earned for name, earned in EARNED.items() if name not in AT_NIGHT}
    assert {name for name, result in results.items() if result.score == result.max} == RIGHT - AT_NIGHT


def test_the_grader_is_at_fault_for_nothing(results: dict[str, SubmissionResult]) -> None:
    skipped = {
        (exercise.name, check.message)
        for result in results.values()
        for exercise in result.exercises
        for check in exercise.checks
        if check.verdict in ("error", "skipped")
    }
    assert {name for name, _ in skipped} <= {"devices.time_matmul"}
    assert {message for _, message in skipped} <= {"needs a CUDA device"}


def test_every_failure_has_a_cause_and_its_message_is_made_of_that(results: dict[str, SubmissionResult]) -> None:
    checks = [check for result in results.values() for exercise in result.exercises for check in exercise.checks]
    not_passed = [check for check in checks if check.verdict != "passed"]
    assert {check.verdict for check in not_passed} >= {"failed", "blocked", "timeout", "crashed"}
    for check in not_passed:
        assert check.cause is not None, check.name
        assert check.verdict == VERDICT_OF[check.cause.kind], check.name
        assert explain.message(check.cause) == check.message, check.name
    assert all(check.cause is None and not check.message for check in checks if check.verdict == "passed")


def test_every_call_that_is_shown_can_be_pasted_as_the_page_says(results: dict[str, SubmissionResult]) -> None:
    shown: dict[str, set[str]] = {}
    for result in results.values():
        for exercise in result.exercises:
            topic = exercise.name.partition(".")[0]
            calls = {check.cause.call for check in exercise.checks if check.cause and check.cause.call}
            shown.setdefault(topic, set()).update(code_among(topic, calls))
    assert sum(map(len, shown.values())) > 50
    assert not (wrong := complaints(shown)), wrong


def test_the_untouched_stubs_are_those_that_are_handed_out() -> None:
    handed_out = {file.name: file.read_text() for file in (REPO / "exercises").glob("*.py")}
    assert {file.name: file.read_text() for file in (CLASS / "goran").glob("*.py")} == handed_out


@pytest.mark.parametrize("folder", [Path.home(), Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"), Path("/etc"), REPO])
def test_nothing_is_written_outside_the_sandbox(results: dict[str, SubmissionResult], folder: Path) -> None:
    strays = ("torchkata-nadia.pt", "result-0.json", "result-1.json")
    said = check_of(results, "nadia", "checkpoints.save_weights").message
    assert "Read-only file system" in said or "cannot be opened" in said  # as torch 2.13 says it, and as 2.6 does
    assert not [name for name in strays if (folder / name).exists()]


def check_of(results: dict[str, SubmissionResult], who: str, exercise: str) -> CheckResult:
    """The first check of an exercise that was not passed."""
    (found,) = (result for result in results[who].exercises if result.name == exercise)
    return next(check for check in found.checks if check.verdict != "passed")


SHOWN = [
    ("hana", "autograd.gradients", "failed", "autograd.py cannot be imported: SyntaxError"),
    ("ines", "parameters.freeze", "failed", "parameters.py is not in the submission"),
    ("jonas", "tensor_ops.accuracy", "timeout", "in accuracy: while i < len(labels):"),
    ("kwame", "tensor_ops.gram", "crashed", "importing tensor_ops.py ended the process"),
    ("mateo", "tensor_ops.gram", "failed", "returned  'PASSED'"),
    ("oskar", "parameters.memory_bytes", "crashed", "used more memory than it may"),
    ("goran", "tensor_ops.gram", "failed", "`gram` is not written yet"),
    ("goran", "efficiency.inference", "failed", "`inference` is not written yet"),
    ("dimitri", "training.evaluate", "failed", "`evaluate` is not defined in training.py"),
    ("hana", "ddp.train", "failed", "ddp.py is not in the submission"),
    ("ines", "checkpoints.save_weights", "failed", "more than weights"),
    ("kwame", "datasets.ToyDataset", "crashed", "your code ended the process with exit code 0"),
    ("kwame", "datasets.WindowDataset", "crashed", "your code was ended by signal 9 (SIGKILL)"),
    ("lena", "devices.pick_device", "failed", "<Device> is not a torch.device"),
    ("mateo", "ddp.average_gradients", "crashed", "your code ended the process of ranks 0 and 1"),
    ("mateo", "ddp.save_on_rank0", "crashed", "with a reply that is no data"),
    ("quentin", "ddp.global_accuracy", "timeout", "rank 1 never reached all_reduce: rank 1 had returned"),
    ("quentin", "ddp.save_on_rank0", "timeout", "rank 1 never reached barrier: rank 1 had returned"),
    ("quentin", "ddp.train", "blocked", "ddp.sharded_loader must pass first"),
    ("rosa", "devices.add_across", "failed", "device cuda:0 where cpu was expected"),
]
"""Whose failure of which exercise has which verdict, and words of its message."""


@pytest.mark.parametrize(
    ("who", "exercise", "verdict", "words"), [as_nightly(row) if row[0] in AT_NIGHT else row for row in SHOWN]
)
def test_each_kind_of_failure_has_its_verdict_and_message(
    request: pytest.FixtureRequest, who: str, exercise: str, verdict: str, words: str
) -> None:
    results = request.getfixturevalue("at_night" if who in AT_NIGHT else "results")
    check = check_of(results, who, exercise)
    assert check.verdict == verdict
    assert words in check.message


def test_grading_again_with_other_submissions_gives_the_same_bytes(first: bytes, tmp_path: Path) -> None:
    names = ["farah_tensor_ops.py", "goran", "hana"]
    again = graded(tmp_path, *(CLASS / name for name in names)).splitlines()
    lines = {from_json(line).submission: line for line in first.splitlines()}
    assert again == [lines[name.removesuffix(".py")] for name in names]
