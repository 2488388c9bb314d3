"""Modules of ``preload``, and a kit, that cannot be loaded: whatever they do, the author reads which and why."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from shared import KIT_COURSE, OWN_COURSE

from grader.course import Course
from grader.grading import starting
from grader.grading.protocol import WorkerOptions
from grader.grading.worker_process import Worker, WorkerFailed
from grader.intake.submission import Submission

pytestmark = pytest.mark.slow
SEED = 4711
"""Of a zygote that finds the modules below: it starts when they are there."""
MODULES = {
    "of_torchvision": (
        "raise RuntimeError('operator torchvision::nms\\ndoes not exist')",
        "RuntimeError: operator torchvision::nms does not exist",
    ),
    "that_exits": ("raise SystemExit('not today')", "SystemExit: not today"),
    "that_interrupts": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "that_lacks_a_module": ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
    "that_ends": ("import os; os._exit(4)", "ends the process that loads it"),
    "that_crashes": ("import ctypes; ctypes.string_at(0)", "ends the process that loads it"),
    "that_starts_threads": (
        "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()",
        "starts threads: a process with threads cannot be forked",
    ),
}
AT_IMPORT = {
    "raise SystemExit(3)": "the kit cannot be imported: SystemExit: 3",
    "raise KeyboardInterrupt": "`kit = 'kit'`: KeyboardInterrupt",
    "import os; os._exit(4)": "`kit = 'kit'` ends the process that loads it",
}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A course beside these modules."""
    folder = tmp_path_factory.mktemp("preload")
    for name, (text, _) in MODULES.items():
        (folder / f"{name}.py").write_text(text)
    shutil.copytree(OWN_COURSE, folder / "course", ignore=shutil.ignore_patterns("__pycache__"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]))
        yield folder / "course"
    if zygote := starting._zygotes.pop((os.getpid(), SEED), None):
        zygote.end()


def refused(course: Path, name: str) -> str:
    """The reason why no worker can grade."""
    manifest = course / "course.toml"
    text = manifest.read_text()
    manifest.write_text(text.replace('name = "vectors"\n', f'name = "vectors"\npreload = ["{name}"]\n', 1))
    try:
        return why_not(course, Submission("ann", {"vectors.py": b""}))
    finally:
        manifest.write_text(text)


def why_not(course: Path, submission: Submission) -> str:
    worker = Worker(SEED)
    try:
        worker.configure(WorkerOptions(course=str(course)))
        with pytest.raises(WorkerFailed) as failed:
            worker.grade(submission, timeout=120)
    finally:
        worker.end()
    assert not failed.value.retry_may_help and "\n" not in failed.value.reason
    return failed.value.reason


@pytest.mark.parametrize("name", MODULES)
def test_a_module_that_cannot_be_loaded_is_named_with_its_error(course: Path, name: str) -> None:
    reason = refused(course, name)
    assert reason.startswith(f"course.toml: `preload = ['{name}']`") and reason.endswith(MODULES[name][1])


@pytest.mark.parametrize("name", ["of_torchvision", "that_interrupts", "that_crashes"])
def test_the_same_where_nothing_can_be_forked(course: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHKATA_ENGINE", "portable")
    reason = refused(course, name)
    assert reason.startswith(f"course.toml: `preload = ['{name}']`") and MODULES[name][1] in reason


@pytest.mark.parametrize("statement", AT_IMPORT)
def test_a_kit_that_ends_the_process_is_named(
    tmp_path: Path, edit: Callable[[Path, str, str], None], statement: str
) -> None:
    folder = Path(shutil.copytree(KIT_COURSE, tmp_path / "course", ignore=shutil.ignore_patterns("__pycache__")))
    edit(folder / "kit" / "recipes.py", "class Net", f"{statement}\nclass Net")
    assert Course.load(folder).kit
    reason = why_not(folder, Submission("ann", {"layers.py": b""}))
    assert reason.startswith("course.toml: ") and AT_IMPORT[statement] in reason
