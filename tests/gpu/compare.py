"""Right and wrong answers of the project, graded on real GPUs and on simulated ones: prints every verdict that differs.

    python tests/gpu/compare.py [--topics devices efficiency ddp] [--every 1] [--jobs 8]

Without a GPU only the simulated half runs. Exit code 1 if a verdict differs, if a right answer fails, or if a wrong one
passes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # where `answer_files` is

from answer_files import answers

from grader import machine
from grader.course import Course, misconceptions_of
from grader.grading.local_workers import LocalWorkers
from grader.grading.protocol import WorkerOptions
from grader.intake.submission import Submission
from grader.sandbox.limits import Limits

COURSE = Course.load(None)
TOPICS = ("devices", "efficiency", "ddp")
LIMITS = Limits(check_seconds=30.0, topic_seconds=600.0, memory_bytes=8 << 30)
"""Generous: each process that uses a GPU starts CUDA first, and memory of its libraries counts."""
MOST_JOBS = 8


@dataclass(frozen=True)
class Case:
    """An answer to compare.

    Attributes:
        exercises: full names of the exercises that it answers.
        is_right: whether it must earn all points.
    """

    submission: Submission
    exercises: tuple[str, ...]
    is_right: bool


Verdicts = dict[str, tuple[str, str]]
"""Verdict and first sentence by ``exercise, check``."""


def cases(topic: str) -> Iterator[Case]:
    """The solution, the project's other right answers, its wrong answers, and the misconceptions of a topic."""
    every = tuple(one.full_name for one in COURSE.topic(topic).exercises)
    needed = {need.partition(".")[0] for one in COURSE.topic(topic).exercises for need in one.needs} - {topic}
    beside = {f"{name}.py": COURSE.solution_file(name).read_bytes() for name in needed}
    solution = COURSE.solution_file(topic).read_text(encoding="utf-8")
    yield Case(Submission("the solution", {**beside, f"{topic}.py": solution.encode()}), every, True)
    for kind in ("right", "wrong"):
        for one in answers(kind, topic=topic):
            yield Case(one.submission(), (one.exercise,) if one.exercise else every, kind == "right")
    wrong = COURSE.misconceptions_file(topic).read_text(encoding="utf-8")
    wrong = wrong.replace("from __future__ import annotations\n", "")
    for mistake in misconceptions_of(COURSE, topic):
        text = f"{solution}\n\n{wrong}\n\n{mistake.part} = {mistake.function}\n"
        files = {**beside, f"{topic}.py": text.encode()}
        yield Case(Submission(mistake.name, files), (mistake.exercise,), False)


def graded(chosen: list[Case], devices: machine.Devices, jobs: int) -> list[Verdicts]:
    """The verdicts of each case on these devices."""
    exercises = tuple(dict.fromkeys(name for one in chosen for name in one.exercises))
    options = WorkerOptions(
        exercises=COURSE.with_needs(exercises), limits=LIMITS, misconceptions=False, devices=devices
    )
    with LocalWorkers(COURSE, options, jobs=jobs) as workers:
        futures = [workers.submit(one.submission, exercises=one.exercises) for one in chosen]
        results = [one.result().result for one in futures]
    return [
        {
            f"{exercise.name}, {check.name}": (check.verdict, check.message.partition("\n")[0])
            for exercise in result.exercises
            if exercise.name in case.exercises
            for check in exercise.checks
        }
        for case, result in zip(chosen, results, strict=True)
    ]


def problems(case: Case, verdicts: Verdicts, devices: str) -> list[str]:
    """What is wrong with the verdicts on one kind of devices by themselves."""
    failed = {name: one for name, one in verdicts.items() if one[0] not in ("passed", "skipped")}
    if case.is_right:
        return [f"right answer: {name}: {one[0]} on {devices} devices: {one[1]}" for name, one in failed.items()]
    is_assessed = all(verdict != "skipped" for verdict, _ in verdicts.values())
    return [] if failed or not is_assessed else [f"wrong answer that passes on {devices} devices"]


def compare(topic: str, every: int, only: str, jobs: int, has_gpu: bool) -> int:
    """Prints what differs in a topic; how many problems there are."""
    chosen = [one for one in list(cases(topic))[::every] if only in one.submission.name]
    began = time.monotonic()
    simulated = graded(chosen, "simulated", jobs)
    after = time.monotonic()
    real = graded(chosen, "real", jobs) if has_gpu else []
    found = []
    skipped: Counter[str] = Counter()
    compared = 0
    for number, case in enumerate(chosen):
        lines = problems(case, simulated[number], "simulated")
        if has_gpu:
            lines += problems(case, real[number], "real")
            for name, (verdict, _) in simulated[number].items():
                other, said = real[number][name]
                if "skipped" in (verdict, other):  # it is about real devices, or wants more than there are
                    skipped[name] += 1
                    continue
                compared += 1
                if verdict != other:
                    lines.append(f"{name}: {verdict} on simulated devices, {other} on real ones: {said}")
        found += [f"  {case.submission.name}: {line}" for line in lines]
    times = f"simulated {after - began:.0f} s" + (f", real {time.monotonic() - after:.0f} s" if has_gpu else "")
    print(f"{topic}: {len(chosen)} answers, {compared} verdicts on both, {len(found)} problems ({times})")
    for name, count in sorted(skipped.items()):
        print(f"  not compared, {count} times: {name}")
    print("\n".join(found), end="\n" if found else "", flush=True)
    return len(found)


def main() -> int:
    """Compares the topics that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", nargs="+", default=TOPICS)
    parser.add_argument("--every", type=int, default=1, help="only every so many answers")
    parser.add_argument("--only", default="", help="only answers with this text in their names")
    parser.add_argument("--jobs", type=int, default=min(MOST_JOBS, max(machine.cores() // 2, 1)))
    arguments = parser.parse_args()
    has_gpu = machine.why_no_gpu() is None
    return (
        1
        if sum(compare(one, arguments.every, arguments.only, arguments.jobs, has_gpu) for one in arguments.topics)
        else 0
    )


if __name__ == "__main__":
    sys.exit(main())
