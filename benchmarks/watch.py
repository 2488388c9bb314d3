"""How long `grader watch` takes from a save to the verdict on the screen, in a real pseudo terminal.

    python benchmarks/watch.py [--saves 20] [--exercise tensor_ops.gram]

Saves wrong answers that differ, as an editor does (a new file takes the old one's place), and waits for each verdict
to be on the screen. The first save is reported by itself: what the worker learns for it, it learns in the pause before.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import pexpect
from common import PYTHON, finish

_SECONDS = 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--saves", type=int, default=20)
    parser.add_argument("--exercise", default="tensor_ops.gram")
    parser.add_argument("--pause", type=float, default=4.0, help="seconds between the first screen and the first save")
    args = parser.parse_args()
    topic, _, name = args.exercise.partition(".")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "kata")
        subprocess.run([PYTHON, "-m", "grader", "init", str(folder)], check=True, stdout=subprocess.DEVNULL)
        file = folder / f"{topic}.py"
        stub = file.read_text(encoding="utf-8")

        def save(number: int) -> float:
            answer = re.sub(
                rf'raise NotImplementedError\("write `{name}` here"\)', f"return torch.tensor([{number}.0])", stub
            )
            assert answer != stub
            new = file.with_name("new~")
            new.write_text(answer, encoding="utf-8")
            started = time.perf_counter()
            new.replace(file)
            return started

        started = time.perf_counter()
        command = ["-m", "grader", "watch", args.exercise]
        child = pexpect.spawn(
            PYTHON, command, cwd=str(folder), encoding="utf-8", dimensions=(50, 100), timeout=_SECONDS
        )
        child.expect_exact("not written yet")
        ready = time.perf_counter() - started
        taken = []
        time.sleep(args.pause)
        for number in range(args.saves + 1):
            started = save(1000 + number)
            child.expect_exact(f"returned  tensor([{1000 + number}.])")
            taken.append(time.perf_counter() - started)
            child.expect_exact(" quit")
        child.send("q")
        child.expect(pexpect.EOF)
        child.close()
    first, *later = taken
    figures = {
        "ready_s": ready,
        "first_save_s": first,
        "save_median_s": statistics.median(later),
        "save_most_s": max(later),
        "share_within_0.3_s": sum(one <= 0.3 for one in later) / len(later),
    }
    for label, value in figures.items():
        print(f"{label:24} {value:8.3f}")
    finish("watch", **figures)


if __name__ == "__main__":
    main()
