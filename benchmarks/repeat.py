"""Whether grading is repeatable: the course's solutions are graded again and again, and results must be equal bytes.

    python benchmarks/repeat.py [--runs 10]

Every second run is a fresh worker process, the others are later submissions on it. Exit code 1 when two results differ.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections import Counter

from common import finish

from grader.course import Course
from grader.grading.protocol import WorkerOptions
from grader.grading.worker_process import Worker
from grader.intake.find import open_submission
from grader.results import SubmissionResult, to_json


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    runs: int = parser.parse_args().runs
    course = Course.load(None)
    submission = open_submission(course.solutions_dir, [topic.name for topic in course.topics]).read()
    found: Counter[str] = Counter()
    not_passed: Counter[str] = Counter()
    begin = time.perf_counter()
    worker = None
    for number in range(runs):
        if worker is None or number % 2 == 0:
            if worker is not None:
                worker.end()
            worker = Worker()
            worker.configure(WorkerOptions())
        start = time.perf_counter()
        result = worker.grade(submission, 900)
        assert isinstance(result, SubmissionResult), result
        digest = hashlib.sha256(to_json(result)).hexdigest()
        found[digest] += 1
        for exercise in result.exercises:
            for check in exercise.checks:
                if check.verdict != "passed":
                    not_passed[f"{exercise.name}: {check.name}: {check.verdict}: {check.message}"] += 1
        took = time.perf_counter() - start
        print(f"{number + 1:3}  {digest[:16]}  {result.score:g}/{result.max:g}  {took:.1f} s", flush=True)
    if worker is not None:
        worker.end()
    for line, times in not_passed.items():
        print(f"{times} times  {line}")
    finish("repeat", runs=runs, different_results=len(found), seconds=time.perf_counter() - begin)
    return int(len(found) != 1)


if __name__ == "__main__":
    sys.exit(main())
