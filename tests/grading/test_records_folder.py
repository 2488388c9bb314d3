"""Where records of misconceptions are kept: in a folder for each state of course and grader, with no secret seed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from shared import OWN_COURSE, run_grader

from grader.course import Course
from grader.grading.local_workers import LocalWorkers
from grader.grading.many_submissions import ClassGrading
from grader.grading.protocol import WorkerOptions
from grader.grading.records_folder import with_records
from grader.grading.settings import ClassSettings, GradingSettings
from grader.sandbox.limits import Limits
from grader.student import engine

OPTIONS = WorkerOptions(course=str(OWN_COURSE))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "torchkata" / "records"


def test_the_folder_changes_with_the_course_and_what_else_records_depend_on(
    cache: Path, own_course: Path, edit: Callable[[Path, str, str], None]
) -> None:
    folder = with_records(OPTIONS, Course.load(own_course)).records
    assert Path(folder).parent == cache and Path(folder).is_dir()
    assert with_records(OPTIONS, Course.load(own_course)).records == folder
    others = {
        with_records(
            msgspec.structs.replace(OPTIONS, limits=Limits(check_seconds=3.0)), Course.load(own_course)
        ).records,
        with_records(msgspec.structs.replace(OPTIONS, devices="real"), Course.load(own_course)).records,
    }
    edit(own_course / "solutions" / "misconceptions" / "vectors.py", "(a * b)", "(b * a)")
    others.add(with_records(OPTIONS, Course.load(own_course)).records)
    assert len(others) == 3 and folder not in others


def test_a_secret_seed_leaves_nothing(cache: Path) -> None:
    options = msgspec.structs.replace(OPTIONS, seed=7)
    assert with_records(options, Course.load(OWN_COURSE)) == options
    assert not cache.exists()


def test_without_a_place_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a file"))
    assert with_records(OPTIONS, Course.load(OWN_COURSE)) == OPTIONS


def test_old_folders_are_removed(cache: Path) -> None:
    course = Course.load(OWN_COURSE)
    made = [
        with_records(msgspec.structs.replace(OPTIONS, limits=Limits(check_seconds=float(number))), course).records
        for number in range(1, 10)
    ]
    assert made[-1] in map(str, cache.iterdir()) and len(list(cache.iterdir())) == 6


def wrong(folder: Path) -> Path:
    """A submission with a misconception, in a new folder."""
    text = (OWN_COURSE / "solutions" / "vectors.py").read_text()
    folder.mkdir()
    (folder / "vectors.py").write_text(text.replace("(normalize(a) * normalize(b))", "(a * b)"))
    return folder


@pytest.mark.slow
def test_check_keeps_records(cache: Path, tmp_path: Path) -> None:
    work = wrong(tmp_path / "work")
    first, second = (run_grader("check", "--submission", work, "--course", OWN_COURSE) for _ in range(2))
    assert "You returned the plain dot product" in " ".join(first.stdout.split())
    assert second.stdout.splitlines()[:-4] == first.stdout.splitlines()[:-4]
    assert [file.name for file in cache.rglob("*.records")] == ["vectors.cosine.records"]


@pytest.mark.slow
def test_a_class_with_the_known_seed_keeps_records_and_has_the_same_results_with_them(
    cache: Path, tmp_path: Path
) -> None:
    """So that a second look at a sample class is quicker."""
    work = wrong(tmp_path / "work")
    results = []
    for out in "first", "second":
        done = run_grader("grade", work, "--course", OWN_COURSE, "--out", tmp_path / out, "--seed", "0")
        assert done.returncode == 1, done.stderr
        (kept,) = cache.rglob("*.records")
        results.append((tmp_path / out / "results.jsonl").read_bytes())
    assert kept.name == "vectors.cosine.records" and results[0] == results[1]


def test_a_class_keeps_no_records_with_a_secret_seed_or_where_there_is_no_sandbox(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A submission could write there, and so choose what others are told."""
    of_class = ClassSettings(paths=(), out=Path("out"), jobs=1)
    for seed in (7, None):
        assert not ClassGrading(of_class, GradingSettings(course=OWN_COURSE, seed=seed))._with_records().records
    assert not cache.exists()
    grading = ClassGrading(of_class, GradingSettings(course=OWN_COURSE, seed=0))
    assert grading._with_records().records
    monkeypatch.setenv(engine.VARIABLE, "portable")
    assert not grading._with_records().records


@pytest.mark.usefixtures("cache")
def test_a_gradebook_with_a_seed_of_its_own_keeps_none() -> None:
    options = with_records(OPTIONS, Course.load(OWN_COURSE))
    with LocalWorkers(Course.load(OWN_COURSE), options) as workers:
        workers.use_seed(7)
        assert workers._options.seed == 7 and not workers._options.records
