"""Submissions per minute: ``grader grade``, plain pytest, and the floor without isolation, side by side in one run.

    python benchmarks/throughput.py [--submissions 20] [--topics TOPIC ...] [--flat 300] [--peers 200]

The floor is one process per core that has imported torch and collected the checks once, and runs them in-process with
Hypothesis afresh for each submission. All three grade the first three topics unless others are named. ``--flat N`` also
grades N submissions and reports a worker's memory on the way.

``--peers N`` measures another class instead: that of ``peers_course``, on which other graders were measured. It has
five functions, each with three examples and one property of 50.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from common import PYTHON, finish, make_class, peak_memory, pss

from grader.course import Course
from grader.kit import load

JOBS = 2
TOPICS = ["tensor_ops", "autograd", "parameters"]
PEERS = Path(__file__).resolve().parent / "peers_course"


def graded(folder: Path, out: Path, topics: list[str], course: Path | None = None) -> float:
    """Seconds of ``grader grade`` over a class, start-up included; with a seed whose records are not kept."""
    start = time.perf_counter()
    command = [PYTHON, "-m", "grader", "grade", str(folder), "--out", str(out), "--jobs", str(JOBS), "--seed", "1"]
    command += [part for topic in topics for part in ("--only", topic)]
    command += ["--course", str(course)] if course else []
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    assert done.returncode in (0, 1), done.returncode
    return time.perf_counter() - start


def plain_pytest(submissions: list[Path], course: Course, topics: list[str], own: bool = False) -> float:
    """Seconds of one pytest process per submission, two at a time; `own`: it is not the shipped course."""

    def one(submission: Path) -> None:
        command = [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null"]
        command += ["--rootdir", str(course.checks_dir), "--submission", str(submission)]
        command += ["--course", str(course.root)] if own else []
        command += [str(course.check_file(topic)) for topic in topics]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        assert done.returncode in (0, 1), done.returncode

    start = time.perf_counter()
    with ThreadPoolExecutor(JOBS) as pool:
        list(pool.map(one, submissions))
    return time.perf_counter() - start


def floor(submissions: list[Path], topics: list[str]) -> float:
    """Seconds of the checks alone: the slower of two processes that share the class, start-up left out."""
    command = [PYTHON, __file__, "--topics", *topics, "--floor-worker"]
    workers = [
        subprocess.Popen([*command, *map(str, submissions[part::JOBS])], stdout=subprocess.PIPE, text=True)
        for part in range(JOBS)
    ]
    return max(float(worker.communicate()[0].split()[-1]) for worker in workers)


def floor_worker(submissions: list[str], names: list[str]) -> None:
    """Runs every check on each submission in this process, Hypothesis and shrinking as in plain pytest."""
    import pytest
    import torch
    from hypothesis import settings

    from grader.border.proxies import SubmissionProxy
    from grader.judge import examples
    from grader.judge.session import collected_checks
    from grader.judge.topic_desk import LocalDesk

    torch.set_num_threads(1)
    course = Course.load(None)
    topics = [course.topic(name) for name in names]
    load(course.kit)
    with collected_checks([course.check_file(name) for name in names], course.checks_dir, 0) as collected:
        start = time.perf_counter()
        for folder in submissions:
            for topic in topics:
                for exercise in topic.exercises:
                    desk: Any = LocalDesk(Path(folder), topic.name, course)
                    for check in collected.of(exercise.full_name):
                        test: Any = check.item.obj
                        params = dict(check.item.callspec.params) if hasattr(check.item, "callspec") else {}
                        try:
                            with pytest.MonkeyPatch.context() as patch:
                                if examples.is_property(test):
                                    own = settings(examples.settings_of(test), database=None, deadline=None)
                                    patch.setattr(test, examples.SETTINGS, own)
                                test(submission=SubmissionProxy(desk.channel()), **params)
                        except BaseException as error:
                            if isinstance(error, KeyboardInterrupt):
                                raise
        print(time.perf_counter() - start)


def memory_over(count: int, topics: list[str]) -> dict[str, float]:
    """A worker's own memory (judge and host, MB) after 20 and after `count` submissions."""
    from grader.grading.protocol import WorkerOptions
    from grader.grading.starting import ForkedProcess
    from grader.grading.worker_process import Worker
    from grader.intake.find import open_submission
    from grader.sandbox.process_tree import descendants

    course = Course.load(None)
    seen = {}
    with tempfile.TemporaryDirectory() as temporary:
        submissions = make_class(course, Path(temporary), 20, topics)
        worker = Worker()
        worker.configure(WorkerOptions(exercises=tuple(course.select(topics))))
        for number in range(count):
            worker.grade(open_submission(submissions[number % 20], topics).read(), 600)
            if number + 1 in (20, count):
                assert isinstance(worker.process, ForkedProcess)
                judge, host = worker.process.pid, worker.process.host
                seen[number + 1] = sum(pss(process) for process in (judge, host, *descendants(host)))
        worker.end()
    return {"worker_mb_after_20": seen[20], f"worker_mb_after_{count}": seen[count]}


def peers(count: int) -> None:
    """The class of the five functions; plain pytest takes a tenth of it, as each submission is a process of its own."""
    course = Course.load(PEERS)
    names = [topic.name for topic in course.topics]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        submissions = make_class(course, folder / "class", count, names)
        few = make_class(course, folder / "few", max(4, count // 10), names)
        grade_seconds = graded(folder / "class", folder / "out", names, PEERS)
        few_seconds = graded(folder / "few", folder / "few-out", names, PEERS)
        pytest_seconds = plain_pytest(few, course, names, own=True)
    rates = {
        "peers_grade_per_minute": 60 * count / grade_seconds,
        "peers_grade_per_minute_warm": 60 * (count - len(few)) / max(grade_seconds - few_seconds, 1e-9),
        "peers_pytest_per_minute": 60 * len(few) / pytest_seconds,
    }
    for name, rate in rates.items():
        print(f"{name:30} {rate:7.1f} submissions/min", flush=True)
    times = rates["peers_grade_per_minute"] / rates["peers_pytest_per_minute"]
    finish("throughput_peers", submissions=len(submissions), **rates, peers_times_pytest=times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=20)
    parser.add_argument("--topics", nargs="+", default=TOPICS, metavar="TOPIC")
    parser.add_argument("--flat", type=int, default=0, metavar="N")
    parser.add_argument("--peers", type=int, default=0, metavar="N")
    parser.add_argument("--floor-worker", nargs="*")
    args = parser.parse_args()
    if args.floor_worker is not None:
        floor_worker(args.floor_worker, args.topics)
        return
    if args.peers:
        peers(args.peers)
        return
    course = Course.load(None)
    with tempfile.TemporaryDirectory() as temporary:
        submissions = make_class(course, Path(temporary) / "class", args.submissions, args.topics)
        with peak_memory() as memory:
            grade_seconds = graded(Path(temporary) / "class", Path(temporary) / "out", args.topics)
        count = len(submissions)
        print(f"grader grade --jobs {JOBS}: {60 * count / grade_seconds:7.1f} submissions/min", flush=True)
        twice = graded_again(Path(temporary), course, count * 3, args.topics)
        marginal = (twice - grade_seconds) / (count * 2)
        print(f"  without start-up:     {60 / marginal:7.1f} submissions/min", flush=True)
        floor_seconds = floor(submissions, args.topics)
        print(f"floor, no isolation:    {60 * count / floor_seconds:7.1f} submissions/min", flush=True)
        pytest_seconds = plain_pytest(submissions, course, args.topics)
        print(f"plain pytest:           {60 * count / pytest_seconds:7.1f} submissions/min", flush=True)
    figures: dict[str, object] = {
        "topics": args.topics,
        "submissions": count,
        "grade_per_minute": 60 * count / grade_seconds,
        "grade_per_minute_warm": 60 / marginal,
        "pytest_per_minute": 60 * count / pytest_seconds,
        "floor_per_minute": 60 * count / floor_seconds,
        "times_pytest": pytest_seconds / grade_seconds,
        "times_pytest_warm": pytest_seconds / count / marginal,
        "of_floor_time": grade_seconds / floor_seconds,
        "of_floor_time_warm": marginal * count / floor_seconds,
        "peak_mb": memory["peak"],
    }
    if args.flat:
        figures |= memory_over(args.flat, args.topics)
    finish("throughput", **figures)


def graded_again(folder: Path, course: Course, count: int, topics: list[str]) -> float:
    """Seconds for another class, three times as large: the difference leaves out start-up."""
    make_class(course, folder / "larger", count, topics)
    return graded(folder / "larger", folder / "out2", topics)


if __name__ == "__main__":
    sys.exit(main())
