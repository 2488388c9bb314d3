"""Whether a busy machine fails anybody: the course's solutions, graded beside busy processes and under ``nice 19``.

    python benchmarks/busy.py [--runs 20] [--beside 8] [--topics TOPIC ...]

The busy processes are as nice as the grader: eight that are not would leave it a hundredth of a processor, and a run
would take half an hour. Every run must give full marks, and the same bytes as the others; else the exit code is 1.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from common import PYTHON, finish

from grader.course import Course
from grader.results import SubmissionResult, from_json

BUSY = "while True: sum(range(10_000))"
NICE = 19
NICELY = ("nice", "-n", str(NICE), PYTHON)


@contextlib.contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Processes that use all the processor time that they get."""
    started = [subprocess.Popen([*NICELY, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()


def graded(solutions: Path, topics: list[str]) -> tuple[SubmissionResult, str]:
    """The result of one run of ``grader grade`` under ``nice``, and a digest of its bytes."""
    with tempfile.TemporaryDirectory() as out:
        command = [*NICELY, "-m", "grader", "grade", str(solutions)]
        command += ["--out", out, "--jobs", "1", "--seed", "0"]
        command += [part for topic in topics for part in ("--only", topic)]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        assert done.returncode in (0, 1, 3), done.returncode
        line = (Path(out) / "results.jsonl").read_bytes()
    return from_json(line), hashlib.sha256(line).hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--beside", type=int, default=8, metavar="N")
    parser.add_argument("--topics", nargs="+", default=[], metavar="TOPIC")
    args = parser.parse_args()
    course = Course.load(None)
    full = 0
    digests: set[str] = set()
    begin = time.perf_counter()
    with busy_processes(args.beside):
        for number in range(args.runs):
            start = time.perf_counter()
            result, digest = graded(course.solutions_dir, args.topics)
            lost = [
                f"{exercise.name}: {check.name}: {check.verdict}: {check.message}"
                for exercise in result.exercises
                for check in exercise.checks
                if check.verdict not in ("passed", "skipped")
            ]
            full += not lost
            digests.add(digest)
            took = time.perf_counter() - start
            print(f"{number + 1:3}  {digest[:16]}  {result.score:g}/{result.max:g}  {took:.1f} s", flush=True)
            for line in lost:
                print(f"     {line}", flush=True)
    print(f"{full} of {args.runs} runs with full marks, beside {args.beside} busy processes and under nice {NICE}")
    finish(
        "busy",
        runs=args.runs,
        beside=args.beside,
        full_marks=full,
        different_results=len(digests),
        seconds=time.perf_counter() - begin,
    )
    return int(full != args.runs or len(digests) != 1)


if __name__ == "__main__":
    sys.exit(main())
