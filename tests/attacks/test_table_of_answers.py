"""A table of all answers that `grader check` showed: worth everything under the public seed, nothing under another."""

from __future__ import annotations

import base64
import pickle
import sys
from pathlib import Path
from types import ModuleType

import pytest
from shared import WarmUp

from grader import kit
from grader.course import Course
from grader.intake.submission import Submission
from grader.judge.collected import CollectedChecks
from grader.judge.in_process import LocalDesk
from grader.judge.session import with_collected_checks
from grader.results import SubmissionResult

pytestmark = pytest.mark.slow

TOPIC = "tensor_ops"
EXERCISES = ("flatten_rows", "gram", "pairwise_sq_dists", "softmax", "accuracy")
SECRET = 987_654_321

KEY = """
import torch

def key_of(value):
    if isinstance(value, torch.Tensor):
        return (str(value.dtype), tuple(value.shape), str(value.tolist()))
    if isinstance(value, (list, tuple)):
        return tuple(key_of(one) for one in value)
    if isinstance(value, dict):
        return tuple((name, key_of(one)) for name, one in value.items())
    return repr(value)
"""
RECORDER = """
import recorded_answers

def recorded(name, function):
    def call(*args, **kwargs):
        key = (name, key_of(args), key_of(kwargs))
        answer = function(*args, **kwargs)
        recorded_answers.TABLE[key] = answer
        return answer
    return call

for name in NAMES:
    globals()[name] = recorded(name, globals()[name])
"""
PLAYER = """
import base64, pickle

TABLE = pickle.loads(base64.b64decode(ENCODED))

def played(name):
    return lambda *args, **kwargs: TABLE[name, key_of(args), key_of(kwargs)]

for name in NAMES:
    globals()[name] = played(name)
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Submission:
    """A submission that holds what the solution answers to every call that seed 0 makes."""
    course = Course.load(None)
    folder = tmp_path_factory.mktemp("recorder")
    recorder = f"{course.solution_file(TOPIC).read_text()}\n{KEY}\nNAMES = {EXERCISES!r}\n{RECORDER}"
    (folder / f"{TOPIC}.py").write_text(recorder)
    answers = ModuleType("recorded_answers")
    answers.TABLE = {}  # type: ignore[attr-defined]
    sys.modules[answers.__name__] = answers
    try:
        kit.load(course.kit)
        with_collected_checks([course.check_file(TOPIC)], course.checks_dir, 0, lambda checks: ask(checks, folder))
    finally:
        del sys.modules[answers.__name__]
    encoded = base64.b64encode(pickle.dumps(answers.TABLE))
    text = f"{KEY}\nNAMES = {EXERCISES!r}\nENCODED = {encoded!r}\n{PLAYER}"
    return Submission("table", {f"{TOPIC}.py": text.encode()})


def ask(checks: CollectedChecks, folder: Path) -> None:
    for name in EXERCISES:
        desk = LocalDesk(folder, TOPIC)
        for check in checks.of(f"{TOPIC}.{name}"):
            assert checks.run(check, desk)[0].verdict == "passed", check.name


def graded(warm: WarmUp, submission: Submission, seed: int) -> SubmissionResult:
    return warm(None, only=tuple(f"{TOPIC}.{name}" for name in EXERCISES), seed=seed).of(submission)


def test_the_table_is_right_under_the_seed_that_it_was_made_for(warm: WarmUp, table: Submission) -> None:
    result = graded(warm, table, 0)
    earned = {one.name.partition(".")[2] for one in result.exercises if one.score}
    assert len(earned) >= 3, "a table that knows nothing shows nothing"


def test_the_table_earns_nothing_under_a_secret_seed(warm: WarmUp, table: Submission) -> None:
    result = graded(warm, table, SECRET)
    assert result.max > 0 and result.score == 0
