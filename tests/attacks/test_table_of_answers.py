"""Tables of what `grader check` showed: worth something under the public seed, nothing under another."""

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
from grader.judge.docstrings import written_examples
from grader.judge.run import CollectedChecks
from grader.judge.session import collected_checks
from grader.judge.topic_desk import LocalDesk
from grader.results import SubmissionResult, to_json

pytestmark = pytest.mark.slow

TOPIC = "tensor_ops"
EXERCISES = ("make_tensor", "flatten_rows", "gram", "standardize", "accuracy")
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
    return lambda *args, **kwargs: found((name, key_of(args), key_of(kwargs)))

for name in NAMES:
    globals()[name] = played(name)
"""
LOOKUPS = {
    "the_same_call": """
def found(key):
    return TABLE[key]
""",
    "by_a_hash_or_the_nearest_call": """
HASHES = {hash(key): answer for key, answer in TABLE.items()}

def numbers(key):
    if isinstance(key, tuple):
        return [number for part in key for number in numbers(part)]
    try:
        return [float(part) for part in key.replace("[", " ").replace("]", " ").replace(",", " ").split()]
    except ValueError:
        return []

def distance(one, other):
    one, other = numbers(one), numbers(other)
    return abs(len(one) - len(other)), sum(abs(a - b) for a, b in zip(one, other))

def found(key):
    if hash(key) in HASHES:
        return HASHES[hash(key)]
    near = sorted((other for other in TABLE if other[0] == key[0]), key=lambda other: distance(key, other))[:2]
    answers = [TABLE[other] for other in near]
    if len(answers) == 2 and all(torch.is_tensor(a) for a in answers) and answers[0].shape == answers[1].shape:
        if answers[0].is_floating_point():
            return (2 * answers[0] + answers[1]) / 3
    return answers[0]
""",
    "the_same_shapes": """
def shapes(key):
    if isinstance(key, tuple) and len(key) == 3 and isinstance(key[1], tuple) and isinstance(key[0], str):
        return key[:2]
    return tuple(map(shapes, key)) if isinstance(key, tuple) else key

SHAPES = {shapes(key): answer for key, answer in TABLE.items()}

def found(key):
    return TABLE[key] if key in TABLE else SHAPES[shapes(key)]
""",
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What the solution answers to every call that seed 0 makes."""
    course = Course.load(None)
    folder = tmp_path_factory.mktemp("recorder")
    recorder = f"{course.solution_file(TOPIC).read_text()}\n{KEY}\nNAMES = {EXERCISES!r}\n{RECORDER}"
    (folder / f"{TOPIC}.py").write_text(recorder)
    answers = ModuleType("recorded_answers")
    answers.TABLE = {}  # type: ignore[attr-defined]
    sys.modules[answers.__name__] = answers
    try:
        kit.load(course.kit)
        names = [f"{TOPIC}.{name}" for name in EXERCISES]
        examples = {name: written_examples(course, course.exercise(name)) for name in names}
        with collected_checks([course.check_file(TOPIC)], course.checks_dir, 0, examples=examples) as checks:
            ask(checks, course, folder)
    finally:
        del sys.modules[answers.__name__]
    return base64.b64encode(pickle.dumps(answers.TABLE))


def table(recorded: bytes, lookup: str) -> Submission:
    """A submission that looks its answers up."""
    text = f"{KEY}\nNAMES = {EXERCISES!r}\nENCODED = {recorded!r}\n{PLAYER}\n{LOOKUPS[lookup]}"
    return Submission("table", {f"{TOPIC}.py": text.encode()})


def ask(checks: CollectedChecks, course: Course, folder: Path) -> None:
    for name in EXERCISES:
        desk = LocalDesk(folder, TOPIC, course)
        example = checks.example_of(f"{TOPIC}.{name}")
        for check in (*checks.of(f"{TOPIC}.{name}"), *([example] if example else [])):
            assert checks.run(check, desk)[0].verdict == "passed", check.name


def graded(warm: WarmUp, submission: Submission, seed: int, exercises: tuple[str, ...] = EXERCISES) -> SubmissionResult:
    """Its result under a seed, by the one worker for that seed."""
    worker = warm(None, only=tuple(f"{TOPIC}.{name}" for name in EXERCISES), seed=seed, misconceptions=False)
    return worker.of(submission, *(f"{TOPIC}.{name}" for name in exercises))


@pytest.mark.parametrize("lookup", LOOKUPS)
def test_the_table_is_right_under_the_seed_that_it_was_made_for(warm: WarmUp, recorded: bytes, lookup: str) -> None:
    result = graded(warm, table(recorded, lookup), 0)
    earned = {one.name.partition(".")[2] for one in result.exercises if one.score}
    assert len(earned) >= 3, "a table that knows nothing shows nothing"


@pytest.mark.parametrize("lookup", LOOKUPS)
def test_the_table_earns_nothing_under_a_secret_seed(warm: WarmUp, recorded: bytes, lookup: str) -> None:
    result = graded(warm, table(recorded, lookup), SECRET)
    assert result.max > 0 and result.score == 0


LEARNER = """
import hashlib, os, torch

new = []

def accuracy(logits, labels):
    key = hashlib.sha1(repr((logits.tolist(), labels.tolist(), tuple(logits.shape))).encode()).hexdigest()[:10]
    if key in KNOWN:
        return KNOWN[key]
    if not LEARNS:
        return 0.75  # as the docstring's example
    right = float((logits.argmax(1) == labels).double().mean()) if len(labels) else 0.0
    if key not in new:
        new.append(key)
        print("learned", key, right, flush=True)
    if len(new) >= LEARNS:
        os._exit(1)
    return right
"""


def learner(known: dict[str, float], learns: int) -> Submission:
    """A submission that knows some answers, and prints others; it ends after so many, for prints to be shown."""
    text = f"KNOWN = {known!r}\nLEARNS = {learns}\n{LEARNER}"
    return Submission("learner", {f"{TOPIC}.py": text.encode()})


def test_a_table_from_the_prints_of_earlier_runs_earns_nothing_under_a_secret_seed(warm: WarmUp) -> None:
    only = ("accuracy",)
    known: dict[str, float] = {}
    for learns in (15, 5, 1):
        before = -1
        while len(known) > before:
            before = len(known)
            for check in graded(warm, learner(known, learns), 0, only).exercises[0].checks:
                for line in check.message.splitlines():
                    match line.split():
                        case ["learned", key, right]:
                            known[key] = float(right)
    player = learner(known, 0)
    public = graded(warm, player, 0, only)
    assert public.score == public.max > 0, (len(known), to_json(public))
    result = graded(warm, player, SECRET, only)
    assert result.max > 0 and result.score == 0
