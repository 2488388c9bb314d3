"""The whole course checked: ``grader check`` cold, and a later submission on a warm worker.

    python benchmarks/course.py [--rounds 3] [--exercises 12]

The submission is the course's solutions, all topics. Cold is a fresh ``grader check`` each time, warm a submission on a
worker that has graded two. Seconds per topic and the most expensive exercises are measured with a warm judge in this
process. Limits: at most 20 s cold and 8 s warm on 2 cores.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import time

from common import PYTHON, finish

from grader.course import Course
from grader.grading.protocol import WorkerOptions
from grader.grading.worker import host_for_author
from grader.grading.worker_process import Worker
from grader.intake.find import open_submission
from grader.judge.attempt import Attempt
from grader.judge.judge import Judge, open_judge


def cold(course: Course) -> float:
    """Seconds of one ``grader check`` of everything."""
    start = time.perf_counter()
    command = [PYTHON, "-m", "grader", "check", "--submission", str(course.solutions_dir)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def warm(course: Course, rounds: int) -> list[float]:
    """Seconds of later submissions on one worker; the first is cold, before the second the host settles."""
    worker = Worker()
    worker.configure(WorkerOptions())
    submission = open_submission(course.solutions_dir, [topic.name for topic in course.topics]).read()
    found = []
    for _ in range(rounds + 2):
        start = time.perf_counter()
        worker.grade(submission, 600)
        found.append(time.perf_counter() - start)
    worker.end()
    return found[2:]


def by_exercise(course: Course) -> dict[str, dict[str, float]]:
    """Warm seconds of each topic's exercises; ``(import)`` is the topic's process and the submission's import."""
    with (
        host_for_author(course, course.topics, "simulated") as host,
        open_judge(course, host, names_misconceptions=False) as judge,
    ):
        _once(course, judge)
        return _once(course, judge)


def _once(course: Course, judge: Judge) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    files = {file.name: file.read_bytes() for file in course.solutions_dir.glob("*.py")}
    for topic in course.topics:
        marks = [time.perf_counter()]
        with judge.desk(topic.name, files) as desk:
            marks.append(time.perf_counter())
            for exercise in topic.exercises:
                Attempt(exercise.full_name, desk, judge.assessment).run()
                marks.append(time.perf_counter())
        names = ["(import)", *(exercise.name for exercise in topic.exercises)]
        found[topic.name] = {name: after - before for name, before, after in zip(names, marks, marks[1:], strict=False)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--exercises", type=int, default=12, help="how many of the most expensive exercises to print")
    args = parser.parse_args()
    course = Course.load(None)
    costs = by_exercise(course)
    topics = {name: sum(exercises.values()) for name, exercises in costs.items()}
    for name, seconds in topics.items():
        print(f"{name:24} {seconds:8.2f} s warm")
    each = {f"{topic}.{name}": s for topic, exercises in costs.items() for name, s in exercises.items()}
    for name, seconds in sorted(each.items(), key=lambda item: -item[1])[: args.exercises]:
        print(f"  {name:38} {seconds:6.2f} s")
    later = warm(course, args.rounds)
    first = [cold(course) for _ in range(args.rounds)]
    figures = {"check_cold_s": statistics.median(first), "check_warm_s": statistics.median(later)}
    for name, seconds in figures.items():
        print(f"{name:24} {seconds:8.2f}")
    finish("course", **figures, topics_s={name: round(seconds, 2) for name, seconds in topics.items()})


if __name__ == "__main__":
    main()
