"""Everything that only a real GPU can prove, in one run of at most eight minutes.

    make gpu                                    # with a Python that has a torch with CUDA
    PIP_NO_INDEX=1 PIP_FIND_LINKS=wheels make gpu   # on a machine without a network: pip's own variables

1. Makes `.venv-gpu`, whose torch is that of the Python that runs this file, and installs the project and what else it
   needs there. Torch itself is never installed or changed.
2. Runs the tests that need a CUDA device.
3. Times the same work on real and on simulated devices (`benchmarks/real_gpu.py`), and NCCL if there are two GPUs.
4. Grades the right and wrong answers of devices, efficiency and ddp on both, and prints every verdict that differs
   (`compare.py`).

Without a GPU it says so in one line, runs a few of the answers on simulated devices, and ends with code 0.

Imports nothing but the standard library: the project is not installed yet.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import site
import subprocess
import sys
import time
import venv
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent.parent
ROOM = REPO / ".venv-gpu"
PYTHON = ROOM / "bin" / "python"
OLDEST_TORCH = (2, 6)
FACTS = (
    "import json, torch; gpus = torch.cuda.device_count(); "
    "print(json.dumps([torch.__version__, [torch.cuda.get_device_name(i) for i in range(gpus)]]))"
)


def main() -> int:
    """Runs all steps, also after one has failed; 1 if one has."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, help="grade only every so many answers (40 without a GPU)")
    every = parser.parse_args().every
    version, gpus = torch_here()
    print(f"Python {sys.version.split()[0]}, torch {version}, {len(gpus)} GPUs{': ' if gpus else ''}{', '.join(gpus)}")
    if not gpus:
        print(
            "no GPU here: real devices, their tests and their times are left out; a few answers run on simulated ones"
        )
    prepare()
    if gpus:
        steps = [
            ("tests that need a CUDA device", ["-m", "pytest", "-q", "-n", "4", "-m", "gpu", "tests"]),
            ("times", ["benchmarks/real_gpu.py"]),
            ("answers on real and on simulated devices", ["tests/gpu/compare.py", "--every", str(every or 1)]),
        ]
    else:
        steps = [("answers on simulated devices", ["tests/gpu/compare.py", "--every", str(every or 40)])]
    codes = [step(title, [str(PYTHON), *arguments]) for title, arguments in steps]
    return 1 if any(codes) else 0


def torch_here() -> tuple[str, list[str]]:
    """The version of torch that this Python has, and the names of its GPUs.

    Ends the program if there is no torch, or one that is too old.
    """
    asked = subprocess.run([sys.executable, "-c", FACTS], capture_output=True, text=True, check=False)
    if asked.returncode:
        last = asked.stderr.strip().splitlines()[-1:]
        sys.exit(f"this Python cannot use torch ({' '.join(last)}): make gpu PYTHON=/path/to/a/python/with/torch")
    version, gpus = json.loads(asked.stdout.splitlines()[-1])
    if tuple(map(int, version.split(".")[:2])) < OLDEST_TORCH:
        sys.exit(f"torch {version} is too old: the project needs {'.'.join(map(str, OLDEST_TORCH))} or newer")
    return version, gpus


def prepare() -> None:
    """Makes the environment, unless it is there: this Python's packages, and the project with what it needs.

    The packages are taken over by a `.pth` file: an environment "with system packages" would show those of the Python
    below this one, which is another one if this Python belongs to an environment itself.
    """
    began = time.monotonic()
    if not PYTHON.exists():
        shutil.rmtree(ROOM, ignore_errors=True)
        venv.create(ROOM, symlinks=True)  # pip is the other Python's: some systems have no `ensurepip`
    (packages,) = (ROOM / "lib").glob("python*/site-packages")
    outside = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
    lines = [f"import site; site.addsitedir({folder!r})\n" for folder in outside if Path(folder).is_dir()]
    (packages / "outside.pth").write_text("".join(lines), encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", PYTHON, "--disable-pip-version-check"]
    if subprocess.run([*map(str, pip), "install", "--quiet", "-e", str(REPO), "psutil"], check=False).returncode:
        sys.exit("pip could not install the project beside this torch (see above)")
    print(f"installed in {time.monotonic() - began:.0f} s", flush=True)


def step(title: str, command: list[str]) -> int:
    """Runs one step, with its title before and its time after; its exit code."""
    print(f"\n== {title}", flush=True)
    began = time.monotonic()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    code = subprocess.run(command, cwd=REPO, env=environment, check=False).returncode
    print(f"== {title}: {'done' if not code else f'FAILED with exit code {code}'} in {time.monotonic() - began:.0f} s")
    return code


if __name__ == "__main__":
    sys.exit(main())
