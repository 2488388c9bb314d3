"""An exercise that is as it was handed out costs one call and no process of its own; a whole file of them, none."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from judge_here import HostHere, TopicHere, grade_here, of_modules
from shared import OWN_COURSE, check_of, exercise_of

from grader.course import Course
from grader.course.definitions import untouched_names
from grader.judge.judge import open_judge

STUB = (OWN_COURSE / "exercises" / "vectors.py").read_text()
SOLUTION = (OWN_COURSE / "solutions" / "vectors.py").read_text()
HALF = SOLUTION.replace("def cosine", "def unused").rstrip() + "\n\n\n" + STUB[STUB.index("def cosine") :]
"""The first exercise is right, the second as it was handed out."""
ASKS_NOTHING = '''
@exercise("vectors.cosine")
def test_nothing(submission: Submission) -> None:
    """Asks nothing."""
'''


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A check at the end, which everybody passes for whom it is run."""
    folder = Path(shutil.copytree(OWN_COURSE, tmp_path_factory.mktemp("untouched") / "course"))
    file = folder / "checks" / "test_vectors.py"
    file.write_text(file.read_text() + ASKS_NOTHING)
    return folder


def test_no_further_check_is_run_on_a_stub(course: Path) -> None:
    (result,) = grade_here(course, {"vectors": HALF})
    normalize, cosine = exercise_of(result, "normalize"), exercise_of(result, "cosine")
    assert normalize.score == normalize.max > 0 == cosine.score
    assert {check.cause.kind for check in cosine.checks if check.cause} == {"unwritten"}
    assert check_of(result, "nothing").message == "`cosine` is not written yet"


def test_a_file_that_is_the_stub_needs_no_process(course: Path) -> None:
    loaded = Course.load(course)

    class NoProcess(HostHere):
        def open_topic(self, *_: object) -> TopicHere:
            raise AssertionError("a process was asked for")

    with open_judge(loaded, NoProcess(loaded)) as judge:
        result = judge.grade(of_modules({"vectors": STUB.replace("\n", "\r\n")}))
    assert result.score == 0 and result.exercises[0].as_handed_out
    causes = [check.cause.kind for one in result.exercises for check in one.checks if check.cause]
    assert set(causes) == {"unwritten", "blocked"} and len(causes) > 3


@pytest.mark.parametrize("where", ["nowhere", "in the file", "in a conftest"])
def test_a_check_that_skips_itself_is_not_assessed_for_a_stub_either(course: Path, tmp_path: Path, where: str) -> None:
    folder = Path(shutil.copytree(course, tmp_path / "course"))
    head, body, parameter = "", "pass", ""
    if where == "in the file":
        head, body = "import pytest as p", "p.skip('no such machine')"
    elif where == "in a conftest":
        fixture = "import pytest\n\n@pytest.fixture\ndef disk():\n    pytest.skip('no such machine')\n"
        (folder / "checks" / "conftest.py").write_text(fixture)
        parameter = ", disk"
    check = ASKS_NOTHING.replace("nothing(submission: Submission", f"nobody(submission{parameter}")
    with (folder / "checks" / "test_vectors.py").open("a") as file:
        file.write(f"{head}\n{check}    {body}\n")
    (result,) = grade_here(folder, {"vectors": STUB})
    assert check_of(result, "nobody").verdict == ("blocked" if where == "nowhere" else "skipped")


@pytest.mark.parametrize(
    "written",
    [
        HALF.replace('raise NotImplementedError("write `cosine` here")', 'raise NotImplementedError("later")'),
        f"{HALF}\n\ndef half(a, b):\n    raise NotImplementedError\n\ncosine = half\n",
        f"{HALF}\n\nglobals()['cosine'] = lambda a, b: a[:, 0]\n",
    ],
    ids=["begun", "defined twice", "replaced unseen"],
)
def test_what_has_been_begun_meets_every_check(course: Path, written: str) -> None:
    (result,) = grade_here(course, {"vectors": written})
    assert check_of(result, "nothing").verdict == "passed"
    assert exercise_of(result, "cosine").score == 0


def test_untouched_means_once_and_in_the_lines_of_the_stub() -> None:
    assert untouched_names(STUB.encode(), STUB.encode()) == {"normalize", "cosine"}
    assert untouched_names(STUB.replace("\n", "\r\n").encode(), STUB.encode()) == {"normalize", "cosine"}
    assert untouched_names(f"{STUB}\ncosine = None\n".encode(), STUB.encode()) == {"normalize"}
    assert untouched_names(SOLUTION.encode(), STUB.encode()) == frozenset()
    assert untouched_names(b"\xff\x00def", STUB.encode()) == frozenset()
