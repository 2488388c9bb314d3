"""Checkpoints of students that go astray: written outside the folder, never done, far too large, made of code.

Each submission is the solution with one function written anew below it, graded by a real worker in its sandbox: a clear
verdict each, and nothing on the machine has changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.grading.protocol import Fault, WorkerOptions
from grader.grading.worker_process import Worker
from grader.intake.submission import Submission
from grader.results import ExerciseResult
from grader.sandbox import kernel
from grader.sandbox.limits import Limits

SOLUTION = (Path(__file__).resolve().parent.parent.parent / "solutions" / "checkpoints.py").read_text(encoding="utf-8")
PATIENCE = 240.0
EXERCISES = ("checkpoints.save_weights", "checkpoints.load_weights", "checkpoints.save_checkpoint")

pytestmark = pytest.mark.skipif(not kernel.SUPPORTED, reason="the sandbox needs Linux on x86_64 or aarch64")


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    worker = Worker()
    limits = Limits(check_seconds=8.0)
    worker.configure(WorkerOptions(exercises=EXERCISES, limits=limits, misconceptions=False))
    yield worker
    worker.end()


def graded(worker: Worker, exercise: str, code: str) -> ExerciseResult:
    files = {"checkpoints.py": f"{SOLUTION}\n\n{code}".encode()}
    result = worker.grade(Submission("student", files), PATIENCE)
    assert not isinstance(result, Fault), result
    (found,) = (one for one in result.exercises if one.name == f"checkpoints.{exercise}")
    others = {check.name: check.message for one in result.exercises if one is not found for check in one.checks}
    assert not any(others.values()), others
    return found


def verdicts(result: ExerciseResult) -> set[str]:
    return {check.verdict for check in result.checks}


def told(result: ExerciseResult) -> str:
    return "\n".join(check.message for check in result.checks if check.verdict != "passed")


@pytest.mark.parametrize("place", ["a folder of the host", "/", "/usr/lib", "the home folder", "/dev/shm/.."])
def test_writing_outside_the_folder_is_refused(worker: Worker, tmp_path: Path, place: str) -> None:
    folder = {"a folder of the host": tmp_path, "the home folder": Path.home()}.get(place, Path(place))
    target = folder / "torchkata-stray-weights.pt"
    code = f"def save_weights(model, path):\n    torch.save(model.state_dict(), {str(target)!r})"
    result = graded(worker, "save_weights", code)
    assert result.score == 0 and verdicts(result) == {"failed"}
    assert "in save_weights: torch.save" in told(result) and "torchkata-stray-weights.pt" in told(result)
    assert not target.exists()


BAD = {
    "a name of its own": (
        "save_weights",
        'def save_weights(model, path):\n    torch.save(model.state_dict(), "weights.pt")',
        "failed",
        "no file at `path`",
    ),
    "a link to a file of the system": (
        "save_weights",
        'def save_weights(model, path):\n    if not os.path.lexists(path):\n        os.symlink("/etc/passwd", path)',
        "failed",
        "not a file that torch.save wrote",
    ),
    "a folder in its place": (
        "save_weights",
        "def save_weights(model, path):\n    os.makedirs(path, exist_ok=True)",
        "failed",
        "not a file that torch.save wrote",
    ),
    "the folder is gone": (
        "save_weights",
        "import shutil\ndef save_weights(model, path):\n    shutil.rmtree(os.path.dirname(path), ignore_errors=True)",
        "failed",
        "no file at `path`",
    ),
    "code in the file": (
        "save_weights",
        "class Code:\n"
        "    def __reduce__(self):\n"
        "        return os._exit, (3,)\n"
        "def save_weights(model, path):\n"
        "    torch.save({**model.state_dict(), 'code': Code()}, path + '.tmp')\n"
        "    os.replace(path + '.tmp', path)",
        "failed",
        "more than weights",
    ),
    "a file without end": (
        "save_weights",
        "def save_weights(model, path):\n"
        "    with open(path, 'wb') as file:\n"
        "        while True:\n"
        "            file.write(bytes(1 << 20))",
        "failed",
        "raised    OSError: [Errno",
    ),
    "many files": (
        "save_weights",
        "def save_weights(model, path):\n"
        "    for i in range(10**9):\n"
        "        with open(f'{path}.{i}', 'wb') as file:\n"
        "            file.write(bytes(1 << 20))",
        "failed",
        "in save_weights",
    ),
    "a save that never ends": (
        "save_weights",
        "def save_weights(model, path):\n    while True:\n        pass",
        "timeout",
        "in save_weights",
    ),
    "a save that ends the process": (
        "save_weights",
        "def save_weights(model, path):\n    os._exit(0)",
        "crashed",
        "",
    ),
    "a model that is a trap when loaded": (
        "load_weights",
        "def load_weights(model, path, device):\n"
        "    class Liar(type(model)):\n"
        "        def state_dict(self, *args, **kwargs):\n"
        "            os._exit(0)\n"
        "    model.__class__ = Liar\n"
        "    return model",
        "crashed",
        "",
    ),
    "an epoch that is no number": (
        "save_checkpoint",
        "class Epoch(int):\n"
        "    def __eq__(self, other):\n"
        "        return True\n"
        "    __hash__ = int.__hash__\n"
        "_resume = resume\n"
        "def resume(model, optimizer, path):\n"
        "    return Epoch(_resume(model, optimizer, path))",
        "failed",
        "an object of class Epoch where an int was expected",
    ),
    "a checkpoint in memory only": (
        "save_checkpoint",
        "kept = {}\n"
        "def save_checkpoint(model, optimizer, epoch, path):\n"
        "    open(path, 'ab').close()\n"
        "    kept[path] = model, optimizer, epoch, torch.get_rng_state()\n"
        "def resume(model, optimizer, path):\n"
        "    saved, made, epoch, rng = kept[path]\n"
        "    model.load_state_dict(saved.state_dict())\n"
        "    optimizer.load_state_dict(made.state_dict())\n"
        "    torch.set_rng_state(rng)\n"
        "    return epoch + 1",
        "failed",
        "the weights after resuming and training on",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_checkpoints_get_a_clear_verdict(worker: Worker, case: str) -> None:
    exercise, code, verdict, words = BAD[case]
    result = graded(worker, exercise, code)
    assert result.score == 0 and verdict in verdicts(result)
    assert verdicts(result) <= {verdict, "passed", "failed", "skipped"}
    assert words in told(result)
