"""How long a student waits: ``grader check tensor_ops`` cold against ``python -c "import torch"``, and warm.

    python benchmarks/latency.py [--rounds 5]

Cold is a fresh process each time; the two commands take turns, and the medians are compared. Warm is a second
submission on one worker. The cost of sandbox and forks is that of a submission whose functions do nothing.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from common import PYTHON, finish

from grader.course import Course
from grader.grading.protocol import WorkerOptions
from grader.grading.worker_process import Worker
from grader.intake.find import open_submission


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def warm(course: Course, folder: Path, topic: str, times: int) -> list[float]:
    """Seconds of later submissions on a worker that has graded one."""
    worker = Worker()
    names = tuple(exercise.full_name for exercise in course.topic(topic).exercises)
    worker.configure(WorkerOptions(exercises=names))
    submission = open_submission(folder, [t.name for t in course.topics]).read()
    found = []
    for _ in range(times + 2):
        start = time.perf_counter()
        worker.grade(submission, 600)
        found.append(time.perf_counter() - start)
    worker.end()
    return found[2:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    course = Course.load(None)
    check = [PYTHON, "-m", "grader", "check", "tensor_ops", "--submission", str(course.solutions_dir)]
    cold, imports, helps = [], [], []
    for _ in range(args.rounds + 1):
        imports.append(seconds([PYTHON, "-c", "import torch"]))
        cold.append(seconds(check))
        helps.append(seconds([PYTHON, "-m", "grader", "--help"]))
    later = warm(course, course.solutions_dir, "tensor_ops", 10)
    with tempfile.TemporaryDirectory() as temporary:
        exercises = course.topic("tensor_ops").exercises
        empty = "\n".join(f"def {e.name}(*args): raise NotImplementedError" for e in exercises)
        Path(temporary, "tensor_ops.py").write_text(empty, encoding="utf-8")
        nothing = warm(course, Path(temporary), "tensor_ops", 10)
    medians = {
        "import_torch_s": statistics.median(imports[1:]),
        "check_cold_s": statistics.median(cold[1:]),
        "help_s": statistics.median(helps[1:]),
        "check_warm_s": statistics.median(later),
        "forks_ms_per_exercise": 1000 * statistics.median(nothing) / len(exercises),
    }
    for name, value in medians.items():
        print(f"{name:24} {value:8.3f}")
    finish("latency", **medians, cold_over_import_s=medians["check_cold_s"] - medians["import_torch_s"])


if __name__ == "__main__":
    main()
