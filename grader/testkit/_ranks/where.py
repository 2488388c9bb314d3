"""Reads from a stack dump where a rank is: in which collective it waits, and in which of the student's lines.

Reads text that ``faulthandler`` wrote in a process of the student's: it may say anything, so nothing here trusts it.
"""

from __future__ import annotations

import os
import re
import sysconfig
from pathlib import Path
from typing import Final

import torch

from grader.border.failures import one_line
from grader.package import FOLDER
from grader.testkit._ranks.states import State

MAX_DUMP: Final = 20_000
"""Characters of a dump that are read."""
_FRAME: Final = re.compile(r'File "([^"\n]+)", line (\d{1,9}) in ([^\s]+)')
_OUTERMOST: Final = re.compile(r'/_ranks/rank\.py", line \d+ in (?:prepare|make|perform|look)\n')
"""The last line of interest: these functions call everything else that a rank does."""
_LIBRARIES: Final = tuple(
    os.path.join(os.path.realpath(folder), "")
    for folder in (
        Path(torch.__file__).parent,
        FOLDER,
        sysconfig.get_path("stdlib"),
        sysconfig.get_path("purelib"),
        sysconfig.get_path("platlib"),
    )
)
_COLLECTIVE_FILES: Final = ("/torch/distributed/", "/torch/nn/parallel/distributed.py")
_NO_NAMES: Final = frozenset({"wrapper", "inner", "_call_impl", "_wrapped_call_impl", "__call__", "<lambda>"})
_JOINING: Final = frozenset({"init_process_group", "rendezvous", "new_group"})
_SHOWN: Final = {"__init__": "DistributedDataParallel(...)", "_pre_forward": "forward", "forward": "forward"}


def is_whole(dump: str) -> bool:
    """Whether all of a dump has come that `state_of` reads."""
    return _OUTERMOST.search(dump[:MAX_DUMP]) is not None


def state_of(dump: str) -> State:
    """Where a process is.

    Args:
        dump: the text that faulthandler wrote, the innermost frame first.
    """
    text = dump[:MAX_DUMP]
    end = _OUTERMOST.search(text)
    frames = [(file, int(line), name) for file, line, name in _FRAME.findall(text[: end.start()] if end else text)]
    own = next((index for index, (file, _, _) in enumerate(frames) if not _is_library(file)), None)
    inner = frames if own is None else frames[:own]
    at: tuple[str, int, str] = ("", 0, "")
    if own is not None:
        file, line, name = frames[own]
        at = one_line(file.rpartition("/")[2], 60), line, one_line(name, 60)
    waits_in = _collective(inner)
    return State("waits", waits_in, *at) if waits_in else State("runs", "", *at)


def is_joining(state: State) -> bool:
    """Whether it is still setting up the group: then the others may just be slow to come."""
    return state.name in _JOINING


def _is_library(file: str) -> bool:
    return file.startswith(("<", *_LIBRARIES)) or os.path.realpath(file).startswith(_LIBRARIES)


def _collective(inner: list[tuple[str, int, str]]) -> str:
    """The torch function, nearest to the student's line, in which the ranks wait for each other."""
    if not inner:
        return ""
    file, _, name = inner[0]
    if name == "_engine_run_backward" and file.endswith("/torch/autograd/graph.py"):
        return "backward"
    if not any(part in file for part in _COLLECTIVE_FILES):
        return ""
    for file, _, name in reversed(inner):
        if "/torch/" in file and name not in _NO_NAMES:
            shown = _SHOWN.get(name, name) if "/parallel/" in file else name
            return one_line(shown, 40)
    return ""
