"""Every right and every wrong answer of the shipped course, graded with several seeds: no verdict depends on the seed.

    python tests/seeds.py [--topics tensor_ops autograd ...] [--seeds 0 1 2 3 4] [--only WORDS] [--whole]

Prints the wrong answers that pass with a seed and the right answers that fail with one, then the checks whose verdict
differs, as far as they were asked: of a wrong answer, no check after one that fails it, unless `--whole` says so. Exit
code 1 if there are any of the first two: where a check fails a wrong answer only sometimes, another may do it always.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if __name__ == "__main__":  # pragma: no cover - where `answer_files` and the project are
    sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent)]

from answer_files import answers

from grader.course import Course, misconceptions_of

if TYPE_CHECKING:
    from grader.judge.check import Check
    from grader.judge.judge import Judge
    from grader.judge.topic_desk import TopicDesk

SEEDS = (0, 1, 2, 3, 4)
CHECK_SECONDS = 40.0
"""Enough for right answers on a busy machine."""
RIGHT = ("passed", "skipped")


@dataclass
class Graded:
    """One answer to one exercise.

    Attributes:
        name: of the answer, behind the exercise's.
        is_right: whether it must earn all points.
        verdicts: by seed, the verdict of each check that was asked.
        same: of the checks that draw nothing, which are asked once; None if they were not yet.
        caught_by: the check that draws and failed it last.
    """

    name: str
    is_right: bool
    verdicts: dict[int, dict[str, str]] = field(default_factory=dict)
    same: dict[str, str] | None = None
    caught_by: str = ""

    def passes(self, seed: int) -> bool:
        return all_right(self.verdicts[seed])

    def problem(self) -> str:
        """What is wrong, on one line; empty if nothing is."""
        seeds = [seed for seed in self.verdicts if self.passes(seed) != self.is_right]
        if not seeds:
            return ""
        if not self.is_right:
            return f"{self.name}: wrong, and passes with {_seeds(seeds)}"
        failed = [
            f"{check} {verdict}"
            for seed in seeds
            for check, verdict in self.verdicts[seed].items()
            if verdict not in RIGHT
        ]
        return f"{self.name}: right, and fails with {_seeds(seeds)}: {', '.join(dict.fromkeys(failed))}"

    def differences(self) -> Iterator[str]:
        """A line for each check whose verdict is another one with another seed."""
        checks = dict.fromkeys(check for verdicts in self.verdicts.values() for check in verdicts)
        for check in checks:
            by_verdict: dict[str, list[int]] = {}
            for seed, verdicts in self.verdicts.items():
                if check in verdicts:
                    by_verdict.setdefault(verdicts[check], []).append(seed)
            if len(by_verdict) > 1:
                found = ", ".join(f"{verdict} with {_seeds(seeds)}" for verdict, seeds in by_verdict.items())
                yield f"{self.name}: {check} {found}"


def all_right(verdicts: Mapping[str, str]) -> bool:
    """Whether no check has failed."""
    return all(verdict in RIGHT for verdict in verdicts.values())


def _seeds(seeds: list[int]) -> str:
    return " ".join(map(str, seeds))


Cases = dict[str, Graded]


def ask(judge: Judge, desk: TopicDesk, checks: Sequence[Check], *, ends_early: bool) -> dict[str, str]:
    """The verdict of each of these checks, asked in a process of its own; none after a timeout.

    Args:
        ends_early: whether no check is asked after one that does not pass.
    """
    desk.use_fresh_process()
    desk.is_final = not ends_early  # if not, it ends at the first example that fails, and has less time
    desk.explains_failures = False
    verdicts = {}
    for check in checks:
        if not judge.assessment.reason(check):
            verdict = judge.checks.run(check, desk)[0].verdict
            verdicts[check.name] = verdict
            if verdict == "timeout" or (ends_early and verdict not in RIGHT):
                break
    desk.finish(is_right=False)
    return verdicts


def grade(judge: Judge, exercise: str, desk: TopicDesk, seed: int, case: Graded, *, is_whole: bool) -> None:
    """Grades an answer with one seed: what it needs beside its earlier verdicts.

    A check that draws nothing is asked once. If one fails a wrong answer, no further one is asked, unless all are
    wanted.
    """
    if why := desk.why_not_imported():
        case.verdicts[seed] = {"the import": why}
        return
    checks = judge.checks.of(exercise)
    ends_early = not (is_whole or case.is_right)
    from grader.judge.examples import is_property

    if case.same is None:
        example = judge.checks.example_of(exercise)
        fixed = [one for one in checks if not is_property(one.item.obj)]
        case.same = ask(judge, desk, [*fixed, *([example] if example else [])], ends_early=ends_early)
    case.verdicts[seed] = dict(case.same)
    if not ends_early or case.passes(seed):
        drawn = [one for one in checks if is_property(one.item.obj)]
        drawn.sort(key=lambda one: one.name != case.caught_by)
        found = ask(judge, desk, drawn, ends_early=ends_early)
        case.caught_by = next((name for name, verdict in found.items() if verdict not in RIGHT), case.caught_by)
        case.verdicts[seed] |= found


def grade_all(judge: Judge, topic: str, seed: int, only: str, cases: Cases, *, is_whole: bool) -> None:
    """Grades the solution, the answers and the misconceptions of a topic with one seed."""

    def case(name: str, *, is_right: bool) -> Graded | None:
        """The answer of this name, if it is to be graded with this seed."""
        one = cases.setdefault(name, Graded(name, is_right))
        is_decided = not (is_right or is_whole) and one.same is not None and not all_right(one.same)
        return one if only in name and not is_decided else None

    exercises = [one.full_name for one in judge.course.topic(topic).exercises]
    beside = {one.name: judge.course.solution_file(one.name).read_bytes() for one in judge.course.topics}
    with judge.desk(topic, {f"{name}.py": content for name, content in beside.items()}) as desk:
        for exercise in exercises:
            if one := case(f"{exercise}: the solution", is_right=True):
                grade(judge, exercise, desk, seed, one, is_whole=is_whole)
    for kind in ("right", "wrong"):
        for answer in answers(kind, topic=topic):
            for exercise in [answer.exercise] if answer.exercise else exercises:
                if one := case(f"{exercise}: {answer.file.stem.rpartition('__')[2]}", is_right=kind == "right"):
                    with judge.desk(topic, answer.submission().files) as desk:
                        grade(judge, exercise, desk, seed, one, is_whole=is_whole)
    with judge.misconceptions_desk(topic) as desk:
        for wrong in misconceptions_of(judge.course, topic):
            if one := case(f"{wrong.exercise}: {wrong.name}", is_right=False):
                desk.replace_functions(((wrong.part, wrong.function),))
                grade(judge, wrong.exercise, desk, seed, one, is_whole=is_whole)


@contextlib.contextmanager
def judges(course: Course, topic: str, seeds: list[int]) -> Iterator[Iterator[tuple[int, Judge]]]:
    """A judge for each of the seeds, one after the other; all use one host."""
    from grader.grading.starting import start_host
    from grader.grading.worker import hidden_paths

    gc.disable()  # while modules are imported, which stay
    make_host = start_host()
    import torch

    from grader.judge.judge import open_judge
    from grader.sandbox.limits import Limits
    from grader.testkit import devices

    exercises = [one.full_name for one in course.topic(topic).exercises]
    torch.set_num_threads(1)  # as workers have

    def one_by_one() -> Iterator[tuple[int, Judge]]:
        for seed in seeds:
            with open_judge(course, host, exercises=exercises, seed=seed, names_misconceptions=False) as judge:
                gc.enable()
                yield seed, judge

    with contextlib.closing(make_host(Limits(check_seconds=CHECK_SECONDS, topic_seconds=600.0))) as host:
        host.prepare(hidden_paths(course), course.preload([topic]), "simulated", course.kit)
        devices.choose("simulated")
        host.finish_preparing()
        yield one_by_one()


def compare(topic: str, seeds: list[int], only: str, *, is_whole: bool) -> int:
    """Prints what a topic's answers get with these seeds; how many problems there are."""
    began = time.monotonic()
    cases: Cases = {}
    with judges(Course.load(None), topic, seeds) as found:
        for seed, judge in found:
            grade_all(judge, topic, seed, only, cases, is_whole=is_whole)
            print(f"{topic}: seed {seed} after {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return show(topic, {name: one for name, one in cases.items() if one.verdicts})


def show(topic: str, cases: Mapping[str, Graded]) -> int:
    """Prints the problems of a topic, then the checks whose verdict depends on the seed; how many problems."""
    right = sum(one.is_right for one in cases.values())
    problems = [problem for one in cases.values() if (problem := one.problem())]
    different = [line for one in cases.values() for line in one.differences()]
    answered = f"{right} right and {len(cases) - right} wrong answers"
    print(f"{topic}: {answered}, {len(problems)} problems, {len(different)} verdicts that depend on the seed")
    for line in problems:
        print(f"  PROBLEM {line}")
    for line in different:
        print(f"  {line}")
    sys.stdout.flush()
    return len(problems)


def main() -> int:
    """Grades the topics that are named."""
    course = Course.load(None)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", nargs="+", default=[topic.name for topic in course.topics])
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--only", default="", help="only answers in whose name these words are, as it is printed")
    parser.add_argument("--whole", action="store_true", help="every check, also of wrong answers that one has failed")
    arguments = parser.parse_args()
    found = [compare(one, arguments.seeds, arguments.only, is_whole=arguments.whole) for one in arguments.topics]
    return 1 if any(found) else 0


if __name__ == "__main__":
    sys.exit(main())
