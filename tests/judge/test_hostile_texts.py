"""The text of an exception comes from submitted code: it gets no name out of the judge, and makes it import nothing."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from judge_here import grade_here
from shared import REPO

from grader.border import wire
from grader.border.messages import Exchange, Raised, SentLine
from grader.judge.check import Trace
from grader.judge.misconceptions import same_record

MODULES = (
    *("test_lab", "kit", "kit.rooms", "lab", "judge_here", "test_hostile_texts", "__main__", "pytest", "builtins"),
    *("grader", "grader.judge", "grader.judge.run", "grader.judge.judge", "grader.kit", "grader.results"),
    *("_inductor", "torch._inductor", "torch._dynamo", "torch._C", "torch.onnx", "torch", "os.environ", "os"),
    *("sys.modules", "sys", "antigravity", "idlelib.idle", "SubmissionProxy", "Check", "Linear", "list"),
)
"""Modules and classes of the judge, of the course, of torch and of Python."""
NAMES = ("test_zero_row_stays_zer", "run", "kitt", "_inductor", "_dynamo", "onnx", "collected_checks", "_C", "recipe")
SECRETS = ("zero_row_stays_zero", "locked_room", "CollectedChecks", "SubmissionProxy", "_inductor", "_dynamo", "judge")
"""Parts of names that no advice may hold unless the text itself does: checks, the kit, the judge, torch's insides."""
RAISED = [
    *(
        (kind, text.format(module, name))
        for module in MODULES
        for name in NAMES
        for kind, text in (
            ("AttributeError", "module '{}' has no attribute '{}'"),
            ("AttributeError", "'{}' object has no attribute '{}'"),
            ("ImportError", "cannot import name '{1}' from '{0}' (nowhere)"),
            ("TypeError", "{}() got an unexpected keyword argument '{}'"),
        )
    ),
    *(
        (kind, text.format(name))
        for name in (*MODULES, *NAMES)
        for kind, text in (
            ("NameError", "name '{}' is not defined"),
            ("ModuleNotFoundError", "No module named '{}'"),
            ("KeyError", "{}"),
            ("TypeError", "{}(): argument 'x' must be Tensor, not float"),
            ("RuntimeError", "{}(): Expected reduction dim"),
        )
    ),
]
MANIFEST = """
[course]
name = "hostile"
title = "Hostile"
kit = "kit"

[[topics]]
name = "lab"
title = "Lab"
summary = "Says things."
reading = []

[[topics.exercises]]
name = "say"
points = 1
hints = ["none"]
"""
CHECKS = f"""
import pytest
from grader.testkit import assert_equal, exercise
from kit import rooms

@exercise("lab.say")
@pytest.mark.parametrize("number", range({len(RAISED)}))
def test_says(submission, number):
    "It says nothing."
    assert_equal(submission.say(number), None)

@exercise("lab.say", hidden="all")
def test_zero_row_stays_zero(submission):
    "It is hidden."
    assert_equal(submission.say(-1), submission.there(rooms.locked_room))
"""
SUBMISSION = f"""
import builtins
RAISED = {RAISED!r}
def say(number):
    kind, text = RAISED[number]
    raise getattr(builtins, kind)(text)
"""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    files = {
        "course.toml": MANIFEST,
        "checks/test_lab.py": CHECKS,
        "kit/rooms.py": "def locked_room():\n    return None\n",
        "solutions/lab.py": "def say(number):\n    return None\n",
        "exercises/lab.py": "def say(number):\n    raise NotImplementedError\n",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_no_text_gets_a_name_out_of_the_judge_or_makes_it_import_a_module(course: Path) -> None:
    harmless = "module 'torch' has no attribute 'softmx'"
    grade_here(course, {"lab": f"def say(number):\n    raise AttributeError({harmless!r})\n"})  # what any text imports
    before = set(sys.modules)
    (result,) = grade_here(course, {"lab": SUBMISSION})
    assert not {name for name in sys.modules.keys() - before if "lab" not in name}
    (exercise,) = result.exercises
    assert len(exercise.checks) == len(RAISED) + 1
    for (_, text), check in zip(RAISED, exercise.checks, strict=False):
        assert check.cause is not None
        offered = check.cause.advice.rpartition("did you mean")[2] if "did you mean" in check.cause.advice else ""
        assert not [secret for secret in SECRETS if secret in offered], (text, check.cause.advice)
        assert not [secret for secret in SECRETS if secret in check.message and secret not in text], text


def test_the_messages_of_two_exceptions_are_compared_in_linear_time() -> None:
    def trace_of(text: str) -> Trace:
        line = SentLine("lab.py", 1, "say", "rows(x)")
        reply = wire.pack(Raised("ValueError", True, text, (line,)))
        return Trace("failed", ((Exchange(b"", reply),),))

    for text in ("[" * 500_000, "a" * 500_000, "'" * 499_999, "0x" * 250_000, "a(" * 250_000, "'[" * 250_000):
        assert same_record(trace_of(text), trace_of(text))


def test_the_table_of_names_is_that_of_the_versions_that_it_names() -> None:
    spec = importlib.util.spec_from_file_location("make_public_names", REPO / "docs" / "make_public_names.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = module.FILE.read_text(encoding="utf-8")
    if text.splitlines()[:2] == module.HEAD.splitlines()[:2]:  # other versions have a few other names
        assert module.public_names() == text, "run: python docs/make_public_names.py"
