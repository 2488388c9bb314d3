"""What the benchmarks share: a class of submissions, memory of a process tree, and the closing JSON line."""

from __future__ import annotations

import json
import os
import platform
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from grader.course import Course, misconceptions_of
from grader.sandbox.process_tree import descendants

PYTHON = sys.executable


def make_class(course: Course, folder: Path, count: int, topics: list[str]) -> list[Path]:
    """Writes submissions of some topics: every third is right, one in five is half done, the others have mistakes.

    Always the same ones. A wrong one is the solution with one misconception in each of three exercises of every topic.
    """
    made = []
    for number in range(count):
        target = folder / f"student{number:04d}"
        target.mkdir(parents=True)
        for topic in topics:
            solution = course.solution_file(topic).read_text(encoding="utf-8")
            if number % 5 == 4 and topic is topics[-1]:
                solution = course.stub_file(topic).read_text(encoding="utf-8")
            elif number % 3:
                solution += _mistakes(course, topic, number)
            (target / f"{topic}.py").write_text(solution, encoding="utf-8")
        made.append(target)
    return made


def _mistakes(course: Course, topic: str, number: int) -> str:
    found = list(misconceptions_of(course, topic))
    chosen = {m.exercise: m for m in (found[(number * 7 + step * 11) % len(found)] for step in range(3))}
    source = course.misconceptions_file(topic).read_text(encoding="utf-8")
    source = source.replace("from __future__ import annotations\n", "")
    return f"\n\n{source}\n\n" + "\n".join(f"{m.exercise.split('.')[1]} = {m.function}" for m in chosen.values()) + "\n"


@contextmanager
def peak_memory() -> Iterator[dict[str, float]]:
    """Samples the memory (PSS, MB) of this process's descendants; ``peak`` is filled when the block ends."""
    found = {"peak": 0.0}
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(0.2):
            found["peak"] = max(found["peak"], sum(pss(process) for process in descendants(os.getpid())))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield found
    finally:
        stop.set()
        thread.join()


def pss(process: int) -> float:
    """Proportional set size of a process in MB; 0 when it has ended."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("Pss:")), 0.0)


def finish(name: str, **figures: object) -> None:
    """Prints the last line: one JSON object with the figures and where they were measured."""
    import torch

    rounded = {key: round(value, 4) if isinstance(value, float) else value for key, value in figures.items()}
    place = {"cores": os.cpu_count(), "python": platform.python_version(), "torch": torch.__version__}
    print(json.dumps({"benchmark": name, **rounded, **place}), flush=True)
