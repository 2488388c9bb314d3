"""A course with a kit in a real worker and under plain pytest: the same recipes and probes, the same verdicts."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sessions import plain_pytest
from shared import KIT_COURSE, WarmUp, check_of, exercise_of

from grader.grading.protocol import WorkerOptions
from grader.grading.worker_process import Worker, WorkerFailed
from grader.intake.submission import Submission

RIGHT = (KIT_COURSE / "solutions" / "layers.py").read_text()
ALL_FROZEN = (
    "def freeze_body(model):\n    for parameter in model.parameters():\n        parameter.requires_grad = False\n"
)
HELPED = "import kit\n\ndef freeze_body(model):\n    kit.freeze(model)\n"
HELPER = "def freeze(model):\n    model.requires_grad_(False)\n    model.head.requires_grad_(True)\n"

Edit = Callable[[Path, str, str], None]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the course under ``examples/`` that a test may break."""
    return Path(shutil.copytree(KIT_COURSE, tmp_path / "course", ignore=shutil.ignore_patterns("__pycache__")))


@pytest.fixture
def graded() -> Iterator[Callable[[Path], object]]:
    """Grades the solution of a course in a worker of its own."""
    workers = []

    def grade(course: Path) -> object:
        workers.append(Worker())
        workers[-1].configure(WorkerOptions(course=str(course)))
        return workers[-1].grade(Submission("somebody", {"layers.py": RIGHT.encode()}), timeout=120)

    yield grade
    for worker in workers:
        worker.end()


def test_recipes_and_probes_of_a_kit_run_in_the_student_process(warm: WarmUp) -> None:
    course = warm(KIT_COURSE)
    assert course.grade(layers=RIGHT).score == 2
    wrong = course.grade(layers=ALL_FROZEN)
    assert wrong.score == 0
    assert exercise_of(wrong, "freeze_body").misconception == "freezes_everything"
    message = check_of(wrong, "only_the_head_trains").message
    assert "found     ['body.0.weight', 'body.0.bias', 'body.2.weight', 'body.2.bias', 'head.weight'" in message
    assert "freeze_body(kit.recipes.net(" in message


def test_a_file_of_the_student_with_the_kits_name_is_theirs(warm: WarmUp) -> None:
    assert warm(KIT_COURSE).grade(layers=HELPED, kit=HELPER).score == 2


def test_the_same_under_plain_pytest(tmp_path: Path) -> None:
    for name, text in {"right": RIGHT, "wrong": ALL_FROZEN}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "layers.py").write_text(text)
    arguments = ["-q", str(KIT_COURSE / "checks"), "--course", str(KIT_COURSE), "--submission"]
    done = plain_pytest([(name, tmp_path, [*arguments, str(tmp_path / name)]) for name in ("right", "wrong")])
    assert done["right"][0] == 0 and "2 passed" in done["right"][1], done["right"][1]
    assert done["wrong"][0] == 1 and "2 failed" in done["wrong"][1], done["wrong"][1]
    assert "freeze_body(kit.recipes.net(" in done["wrong"][1]


def test_a_misspelt_recipe_is_the_checks_fault_and_names_its_line_and_the_nearest(
    folder: Path, edit: Edit, graded: Callable[[Path], object]
) -> None:
    file = folder / "checks" / "test_layers.py"
    file.write_text(file.read_text().replace("recipes.net", "recipes.nett", 1))
    line = next(n for n, text in enumerate(file.read_text().splitlines(), 1) if "nett" in text)
    result = graded(folder)
    found = check_of(result, "only_the_head_trains")  # type: ignore[arg-type]
    assert found.verdict == "error"
    assert f"(test_layers.py:{line}): AttributeError: kit.recipes has no recipe `nett`" in found.message
    assert "did you mean `net`?" in found.message
    assert check_of(result, "a_frozen_head_trains_again").verdict == "passed"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("checks/test_layers.py", "import probes, recipes", "import probe, recipes", "did you mean `probes`?"),
        ("kit/recipes.py", "class Net", "import no_such_module\nclass Net", "recipes.py:8: the kit cannot be imported"),
        ("kit/recipes.py", "class Net", "import solutions.layers\nclass Net", "recipes.py:8: the kit imports"),
        (
            "kit/recipes.py",
            "class Net",
            "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\nclass Net",
            "`kit = 'kit'` starts threads: a process with threads cannot be forked",
        ),
    ],
    ids=["misspelt import", "not importable", "imports solutions", "starts a thread"],
)
def test_a_kit_or_a_check_that_cannot_be_loaded_is_refused_when_grading_begins(
    folder: Path, edit: Edit, graded: Callable[[Path], object], file: str, old: str, new: str, words: str
) -> None:
    edit(folder / file, old, new)
    with pytest.raises(WorkerFailed) as refused:
        graded(folder)
    assert words in refused.value.reason
