"""`grader show`: the pictures of what has passed, in a terminal or on a page; else one line that says what to do."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from command_here import run_here
from shared import KIT_COURSE, OWN_COURSE

SOLUTION = (OWN_COURSE / "solutions" / "vectors.py").read_text()
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def handed_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that `init` made, with the course and right answers in it."""
    folder = tmp_path_factory.mktemp("show") / "kata"
    assert run_here("init", folder, "--course", OWN_COURSE).returncode == 0
    (folder / "vectors.py").write_text(SOLUTION)
    return folder


def test_a_topic_an_exercise_and_no_name_mean_the_same_picture(handed_out: Path) -> None:
    shown = [run_here("show", *names, cwd=handed_out) for names in ((), ("vectors",), ("normalize",))]
    assert {one.returncode for one in shown} == {0} and len({one.stdout for one in shown}) == 1
    text = shown[0].stdout
    assert text.startswith("Forty vectors, before and after\n") and "● before   + after" in text and "\x1b" not in text


def test_a_page_needs_no_browser_and_nothing_from_elsewhere(handed_out: Path, tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    done = run_here("show", "vectors", "--out", page, cwd=handed_out)
    assert done.returncode == 0 and done.stdout == f"{page} written\n"
    text = page.read_text()
    assert "<figcaption>Forty vectors, before and after</figcaption><svg" in text and "<script" not in text
    nowhere = run_here("show", "vectors", "--out", page / "out.html", cwd=handed_out)
    assert nowhere.returncode == 4 and nowhere.stderr.count("\n") == 2


def test_what_has_no_picture_says_what_to_do_next(handed_out: Path, tmp_path: Path) -> None:
    without = run_here("show", "cosine", cwd=handed_out)
    assert without.returncode == 4
    assert without.stderr == "error: `cosine` has no pictures\n  these have some: vectors.normalize\n"
    assert "unknown topic or exercise `nothing`" in run_here("show", "nothing", cwd=handed_out).stderr
    assert run_here("show", "vectors").stderr.startswith("error: unknown topic"), "the shipped course has no vectors"
    other = run_here("show", "layers", "--course", KIT_COURSE, cwd=tmp_path)
    assert other.stderr == "error: this course has no pictures\n"
    folder = Path(shutil.copytree(handed_out, tmp_path / "kata"))
    (folder / "vectors.py").write_text("def normalize(x):\n    return x\n")
    failing = run_here("show", cwd=folder)
    assert failing.returncode == 4 and failing.stdout == ""
    assert failing.stderr == (
        "error: vectors.normalize has not passed yet, so it has no picture\n  see why: grader check vectors.normalize\n"
    )


def test_the_end_of_a_course_says_what_was_built_with_a_picture_and_where_to_go_on(
    handed_out: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(handed_out, tmp_path / "kata"))
    manifest = next((folder / ".torchkata" / "course").rglob("course.toml"))
    manifest.write_text(manifest.read_text().replace("[course]\n", '[course]\nfinish = ["Read on: a book."]\n'))
    end = run_here("check", cwd=folder).stdout
    assert "Forty vectors, before and after" in end
    assert "What you have built:\n  vectors: " in end and "Where to go on:\n  Read on: a book.\n" in end
    assert end.index("Forty vectors") < end.index("What you have built") < end.index("You have finished")
    assert "Forty vectors" not in run_here("check", "vectors", cwd=folder).stdout, "only at the end of the course"
