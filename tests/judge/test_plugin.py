"""The pytest plugin: checks under a plain pytest, in a process of their own; silent where there are none."""

from __future__ import annotations

import re
import shutil

import pytest
from sessions import Outcome, plain_pytest
from shared import KIT_COURSE, OWN_COURSE

SOLUTION = (OWN_COURSE / "solutions" / "vectors.py").read_text()


RIGHT = 'print("SEEN", length.sum().item())\n    return'

SUBMISSIONS: dict[str, str | None] = {
    "right": SOLUTION,
    "wrong": SOLUTION.replace("x / torch.where(length == 0, 1.0, length)", "x / length"),
    "talking": SOLUTION.replace("    return x /", f"    {RIGHT} x /"),
    "counting": SOLUTION.replace("    return x /", "    print('THREADS', torch.get_num_threads())\n    return x /"),
    "absent": None,
    "syntax": "def normalize(x) return x",
    "missing": "def cosine(a, b): return a",
}
TWO_THREADS = """
import torch
def pytest_configure(config):
    torch.set_num_threads(2)
    config.add_cleanup(lambda: print("THEN", torch.get_num_threads()))
"""
OTHER_TESTS = """
from hypothesis import given, strategies as st
def test_one(request): assert request.node.name == 'test_one'
@given(n=st.integers(0, 9))
def test_two(n): assert n < 10
"""


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """All the sessions that the tests below look at."""
    root = tmp_path_factory.mktemp("plugin")
    for name, text in SUBMISSIONS.items():
        (root / name / "exercises").mkdir(parents=True)
        if text is not None:
            (root / name / "exercises" / "vectors.py").write_text(text)
    (root / "course").symlink_to(OWN_COURSE)
    (root / "other").mkdir()
    (root / "other" / "test_other.py").write_text(OTHER_TESTS)

    def graded(name: str, *more: str) -> list[str]:
        return ["-q", "-rA", str(OWN_COURSE / "checks"), "--submission", str(root / name), *more]

    sessions = [(name, root, graded(name)) for name in SUBMISSIONS if name not in ("right", "talking", "counting")]
    sessions += [
        (f"seed {run}", root, graded("talking", "-s", "-k", "same_way", "--grader-seed", run[0]))
        for run in ("1a", "1b", "2")
    ]
    (root / "counting" / "conftest.py").write_text(TWO_THREADS)
    sessions.append(("counting", root / "counting", graded("counting", "-s", "-k", "same_way", ".")))
    sessions.append(("other", root / "other", ["-q", "-W", "error"]))
    sessions.append(("right", root, ["-q", "course/checks", "--course", "course", "--submission", "right"]))
    two = [f"{course / 'checks'}" for course in (OWN_COURSE, KIT_COURSE)]
    (root / "both").mkdir()
    for course in (OWN_COURSE, KIT_COURSE):
        for file in (course / "solutions").glob("*.py"):
            shutil.copy(file, root / "both")
    sessions += [
        ("in the course", KIT_COURSE, ["-q", "checks", "--submission", "solutions"]),
        ("no path", KIT_COURSE, ["-q", "--submission=solutions", "--devices", "simulated"]),
        ("in its checks", KIT_COURSE / "checks", ["-q", "test_layers.py", "--submission", "../solutions"]),
        ("on two cores", KIT_COURSE, ["-q", "checks", "--submission", "solutions", "-n", "2"]),
        ("two courses", root, ["-q", *two, "--submission", "both"]),
        ("above the course", KIT_COURSE.parent, ["-q", "kit_course", "--submission", "kit_course/solutions"]),
    ]
    return plain_pytest(sessions)


def test_a_right_submission_passes_also_by_folders_relative_to_the_current_one(done: dict[str, Outcome]) -> None:
    code, output = done["right"]
    assert code == 0, output
    assert "6 passed" in output


@pytest.mark.parametrize(
    ("session", "passed"),
    [
        *(("in the course", 2), ("no path", 2), ("in its checks", 2), ("on two cores", 2)),
        *(("two courses", 8), ("above the course", 2)),
    ],
)
def test_without_an_option_the_course_is_the_one_that_the_checks_are_in(
    done: dict[str, Outcome], session: str, passed: int
) -> None:
    code, output = done[session]
    assert code == 0, output
    assert f"{passed} passed" in output


def test_a_failure_shows_the_students_message_and_no_frames_of_the_grader(done: dict[str, Outcome]) -> None:
    code, output = done["wrong"]
    assert code == 1
    assert re.search(r"\[failed\] .*values differ.*\n(?:E +)?A row of zeros comes back as zeros, not as NaN\.", output)
    assert "normalize(tensor([[0., 0., 0.], [0., 0., 0.]]))" in output
    assert "2 skipped" in output
    assert "[blocked] vectors.normalize must pass first" in output
    assert "run.py" not in output


@pytest.mark.parametrize(
    ("name", "words", "counts"),
    [
        ("absent", "[failed] vectors.py is not in the submission", "6 failed"),
        ("syntax", "[failed] vectors.py cannot be imported: SyntaxError", "6 failed"),
        ("missing", "[failed] `normalize` is not defined in vectors.py", "4 failed, 2 skipped"),
    ],
)
def test_what_cannot_be_imported_or_found_is_a_failure(
    done: dict[str, Outcome], name: str, words: str, counts: str
) -> None:
    code, output = done[name]
    assert code == 1
    assert words in output
    assert counts in output


def test_a_seed_changes_the_generated_inputs_and_prints_can_be_seen(done: dict[str, Outcome]) -> None:
    first, again, other = (re.findall(r"SEEN \S+", done[f"seed {run}"][1]) for run in ("1a", "1b", "2"))
    assert len(first) > 10
    assert first == again
    assert first != other


def test_tests_that_are_not_checks_run_as_usual(done: dict[str, Outcome]) -> None:
    code, output = done["other"]
    assert code == 0, output
    assert "2 passed" in output


def test_checks_have_one_thread_of_torch_as_in_workers_and_what_comes_then_has_its_own(
    done: dict[str, Outcome],
) -> None:
    code, output = done["counting"]
    assert code == 0, output
    assert set(re.findall(r"(?:THREADS|THEN) \d", output)) == {"THREADS 1", "THEN 2"}, output
