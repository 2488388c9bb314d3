"""``grader doctor``: versions, machine, and which layers of the sandbox work here. Never imports torch."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from grader.cli.help import app
from grader.cli.output import print_lines
from grader.text import counted

_PACKAGES = ("torchkata", "torch", "pytest", "hypothesis", "msgspec", "typer", "rich")


@app.command(epilog="\b\nExample:\n  grader doctor")
def doctor() -> None:
    """Show what this machine offers: versions, cores, memory, layers of the sandbox."""
    print_lines(_report())


def _report() -> Iterator[str]:
    import importlib.metadata
    import platform

    from grader import machine
    from grader.sandbox.sandbox import probe_layers
    from grader.student import engine

    yield f"python      {platform.python_version()} ({sys.executable})"
    for name in _PACKAGES:
        version = "not installed"
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            version = importlib.metadata.version(name)
        yield f"{name:<11} {version}"
    yield f"system      {platform.platform()}"
    yield f"cores       {machine.cores()}"
    if memory := machine.memory_bytes():
        workers = min(machine.workers_in_memory(), machine.cores())
        yield f"memory      {memory / 2**30:.1f} GiB, enough for {counted(workers, 'submission')} at a time"
    reason = machine.why_no_gpu()
    count = sum(path.name.removeprefix("nvidia").isdigit() for path in machine.gpu_files())
    real = f"real ones ({count}) where enough, else simulated" if reason is None else f"simulated ({reason})"
    yield f"devices     --devices auto means {real}"
    choice = engine.choose()
    yield f"engine      {choice.engine} student processes: {choice.why}"
    layers = probe_layers() if choice.engine == "forked" else {}
    yield ""
    if not layers:
        yield "sandbox     none: submissions run in processes of their own, but can read and change your files"
        return
    missing = sum(reason is not None for reason in layers.values())
    yield "sandbox     " + (f"{missing} of {len(layers)} layers are missing" if missing else "all layers are active")
    for layer, reason in layers.items():
        yield f"  {'yes' if reason is None else 'NO ':<4} {layer:<16} {reason or ''}".rstrip()
    if missing:
        yield "Work of people you do not know is best graded where all layers are active."
