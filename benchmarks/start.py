"""How long a student looks at nothing: ``grader`` alone, and ``grader check`` up to its first line.

Beside them: ``import torch``.

    python benchmarks/start.py [--rounds 5]

The folder is new, with one exercise answered. Each command is a fresh process; they take turns, and the medians count.
"""

from __future__ import annotations

import argparse
import signal
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from common import PYTHON, finish

ANSWER = "return torch.tensor(values, dtype=torch.float32)"


def whole(command: list[str], folder: Path) -> float:
    """Seconds until a command has ended."""
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def first_line(command: list[str], folder: Path) -> float:
    """Seconds until the first line that is not blank; then the command is interrupted."""
    start = time.perf_counter()
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=folder, **pipes) as process:
        assert process.stdout is not None
        while not process.stdout.readline().strip():
            assert process.poll() is None, "it ended without a line"
        found = time.perf_counter() - start
        process.send_signal(signal.SIGINT)
        process.stdout.read()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    grader = [PYTHON, "-m", "grader"]
    imports, alone, first = [], [], []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "kata")
        subprocess.run([*grader, "init", str(folder)], check=True, stdout=subprocess.DEVNULL)
        file = folder / "tensor_ops.py"
        stub = file.read_text(encoding="utf-8")
        answered = stub.replace('raise NotImplementedError("write `make_tensor` here")', ANSWER)
        assert answered != stub
        file.write_text(answered, encoding="utf-8")
        for _ in range(args.rounds + 1):
            imports.append(whole([PYTHON, "-c", "import torch"], folder))
            alone.append(whole(grader, folder))
            first.append(first_line([*grader, "check"], folder))
    medians = {
        "import_torch_s": statistics.median(imports[1:]),
        "grader_alone_s": statistics.median(alone[1:]),
        "check_first_line_s": statistics.median(first[1:]),
    }
    over = medians["check_first_line_s"] - medians["import_torch_s"]
    for name, value in {**medians, "first_line_over_import_s": over}.items():
        print(f"{name:26} {value:8.3f}")
    finish("start", **medians, first_line_over_import_s=over)


if __name__ == "__main__":
    main()
