"""The cost of ranks in the sandbox, and whether they ever hang: right answers run on two ranks, many times.

    python benchmarks/ranks.py [RUNS]

Prints figures and exits with 1 if one of the runs failed or hung.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

REPO = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPO))

from grader.border.proxies import SubmissionProxy  # noqa: E402
from grader.sandbox.limits import Limits  # noqa: E402
from grader.student.forked import HostClient  # noqa: E402
from grader.student.host import start_host  # noqa: E402
from grader.student.topic import TopicProcess  # noqa: E402

PRELOAD = ["torch._dynamo", "torch.distributed.run"]


def main(runs: int) -> int:
    """Runs and prints; the exit code."""
    torch.set_num_threads(1)
    control, process = start_host()
    from grader.border.channel import Channel
    from grader.course import Course
    from grader.kit import load
    from grader.testkit import ranks

    kit = Course.load().kit
    distributed = load(kit)["kit.distributed"]

    host = HostClient(control, process, Limits(topic_seconds=3600))
    before = time.perf_counter()
    host.prepare([str(REPO / "grader")], PRELOAD, kit=kit)
    host.finish_preparing()
    print(f"preload                                {time.perf_counter() - before:6.2f} s, once per worker")
    files = {"ddp.py": (REPO / "solutions" / "ddp.py").read_bytes()}
    topic = TopicProcess(host, "ddp", files, time.monotonic() + 3600)

    def measured(name: str, run: Callable[[SubmissionProxy], object], times: int) -> int:
        """Runs it so many times, each in a fresh exercise process; returns how often it failed."""
        seconds, failed = [], 0
        for _ in range(times):
            exercise = topic.exercise()
            assert exercise is not None
            exercise.deadline = time.monotonic() + 60
            start = time.perf_counter()
            try:
                run(SubmissionProxy(Channel(exercise, "kit")))
            except BaseException as error:
                failed += 1
                print(f"  {name}: {type(error).__name__}: {error}")
            seconds.append(time.perf_counter() - start)
            exercise.close()
        middle, worst = statistics.median(seconds), max(seconds)
        print(f"{name:38} {middle:6.3f} s median, {worst:6.3f} s worst of {times}, {failed} failed")
        return failed

    grads = ranks.call(distributed.with_grads, "mlp", ranks.RANK)
    model, rows = ranks.call(distributed.watched, "mlp", ranks.RANK), ranks.call(distributed.rows, 32)
    failed = 0
    for name, run, times in (
        ("average_gradients, 2 ranks", lambda s: ranks.run(s.average_gradients, grads), runs),
        ("ddp_setup, 2 ranks", lambda s: ranks.run(s.ddp_setup, ranks.RANK, ranks.WORLD_SIZE, group=False), runs),
        ("train (DDP, 8 steps), 2 ranks",
         lambda s: ranks.run(s.train, ranks.RANK, ranks.WORLD_SIZE, model, rows, 2, 0.5, 4), runs),
        ("main, 2 ranks", lambda s: ranks.run(s.main, group=False), max(runs // 10, 1)),
        ("main, torchrun --nproc-per-node=2", lambda s: ranks.torchrun(s.main, "ddp.py"), max(runs // 10, 1)),
    ):  # fmt: skip
        failed += measured(name, run, times)
    topic.close()
    host.close()
    print(f"load of the machine                    {os.getloadavg()[0]:6.2f} on {os.cpu_count()} cores")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 50))
