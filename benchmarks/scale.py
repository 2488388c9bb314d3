"""A large class from submissions to exports: rate, processor time, memory of the main process.

    python benchmarks/scale.py [--submissions 5000] [--small 500] [--jobs 2]

Tiny submissions of the course in ``examples/own_course``, every third an untouched stub. The main process's peak memory
is shown for a small class as well: it must not grow with the class.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from common import PYTHON, finish

OWN = Path(__file__).resolve().parent.parent / "examples" / "own_course"
EXPORTS = ("csv", "json", "junit", "gradescope", "canvas", "moodle")


class Cost(NamedTuple):
    """Wall time, processor time with all processes that it started, and the peak memory of that process alone."""

    seconds: float
    processor: float
    peak_mb: float


def grader(*arguments: str | Path) -> Cost:
    """Runs a command of the grader."""
    started, used = time.perf_counter(), processor_time()
    command = [PYTHON, "-m", "grader", *map(str, arguments), "--course", str(OWN)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, high_water(process.pid))
        time.sleep(0.02)
    assert process.returncode in (0, 1), (arguments, process.returncode)
    return Cost(time.perf_counter() - started, processor_time() - used, peak)


def processor_time() -> float:
    """Of all processes that have ended below this one, in seconds: what does not depend on how busy the machine is."""
    of_children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return of_children.ru_utime + of_children.ru_stime


def high_water(process: int) -> float:
    """Peak resident memory of a process in MB so far; 0 when it has ended."""
    try:
        text = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("VmHWM:")), 0.0)


def make(folder: Path, count: int) -> Path:
    """Writes `count` submissions, all different."""
    solved, stub = ((OWN / part / "vectors.py").read_text(encoding="utf-8") for part in ("solutions", "exercises"))
    for number in range(count):
        target = folder / f"student{number:05d}"
        target.mkdir(parents=True)
        (target / "vectors.py").write_text(f"{solved if number % 3 else stub}\n# {number}\n", encoding="utf-8")
    return folder


def downloads(folder: Path, count: int) -> dict[str, Path]:
    """The files of Canvas and Moodle that the exports fill."""
    names = [f"student{number:05d}" for number in range(count)]
    canvas = "Student,ID,SIS Login ID,Section,Week 1 (7)\n    Points Possible,,,,3\n"
    canvas += "".join(f"{name},{number},{name},A,\n" for number, name in enumerate(names))
    moodle = "Identifier,Full name,Grade,Maximum grade,Last modified (grade),Feedback comments\n"
    moodle += "".join(f"Participant {number},{name},,3.00,-,\n" for number, name in enumerate(names))
    made = {"canvas": folder / "canvas-in.csv", "moodle": folder / "moodle-in.csv"}
    for kind, text in (("canvas", canvas), ("moodle", moodle)):
        made[kind].write_text(text, encoding="utf-8")
    return made


def size_mb(folder: Path) -> float:
    """What the files of a folder come to."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def one_class(folder: Path, count: int, jobs: int) -> dict[str, float]:
    """Grades, reports and exports a class; prints and returns the figures."""
    out = folder / f"grades{count}"
    submissions = make(folder / f"class{count}", count)
    graded = grader("grade", submissions, "--out", out, "--jobs", str(jobs), "--seed", "1")
    figures = {
        "per_minute": 60 * count / graded.seconds,
        "grade_processor_seconds": graded.processor,
        "grade_peak_mb": graded.peak_mb,
    }
    print(
        f"{count} submissions: {figures['per_minute']:.0f} a minute, {graded.processor:.1f} s of processor time,"
        f" peak {graded.peak_mb:.0f} MB",
        flush=True,
    )
    again = grader("grade", submissions, "--out", out, "--jobs", str(jobs))
    figures |= {"again_seconds": again.seconds, "again_processor_seconds": again.processor}
    print(f"  again, nothing to grade   {again.seconds:6.1f} s, {again.processor:.1f} s of processor time", flush=True)
    report = grader("report", "--out", out)
    figures |= {
        "report_seconds": report.seconds,
        "report_processor_seconds": report.processor,
        "report_mb": size_mb(out / "report"),
        "report_peak_mb": report.peak_mb,
    }
    figures["class_page_mb"] = (out / "report" / "index.html").stat().st_size / 1e6
    print(
        f"  report                    {report.seconds:6.1f} s ({report.processor:.1f} s),"
        f" {figures['report_mb']:.1f} MB of HTML (class page {figures['class_page_mb']:.1f} MB),"
        f" peak {report.peak_mb:.0f} MB",
        flush=True,
    )
    into = downloads(folder, count)
    for kind in EXPORTS:
        extra: list[str | Path] = ["--into", into[kind]] if kind in into else []
        cost = grader("export", kind, "--out", out, *extra)
        figures |= {f"{kind}_seconds": cost.seconds, f"{kind}_processor_seconds": cost.processor}
        figures |= {f"{kind}_peak_mb": cost.peak_mb}
        print(
            f"  export {kind:<18} {cost.seconds:6.1f} s ({cost.processor:.1f} s), peak {cost.peak_mb:.0f} MB",
            flush=True,
        )
    figures["gradebook_mb"] = (out / "gradebook.sqlite").stat().st_size / 1e6
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=5000)
    parser.add_argument("--small", type=int, default=500)
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        small = one_class(Path(temporary), args.small, args.jobs)
        large = one_class(Path(temporary), args.submissions, args.jobs)
    finish(
        "scale",
        submissions=args.submissions,
        jobs=args.jobs,
        small=args.small,
        small_grade_peak_mb=small["grade_peak_mb"],
        small_report_seconds=small["report_seconds"],
        **large,
    )


if __name__ == "__main__":
    sys.exit(main())
