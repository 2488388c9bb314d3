"""Reads from a stack dump where a rank is: in which collective it waits, and in which of the student's lines.

Reads text that ``faulthandler`` wrote in a process of the student's: it may say anything, so nothing here trusts it.
"""

from __future__ import annotations

import re
from typing import Final

from grader.testkit._ranks.states import State

_FRAME: Final = re.compile(r'File "([^"\n]+)", line (\d+) in ([^\s]+)')
_COLLECTIVE_FILES: Final = ("/torch/distributed/", "/torch/nn/parallel/distributed.py")
_NO_NAMES: Final = frozenset({"wrapper", "inner", "_call_impl", "_wrapped_call_impl", "__call__", "<lambda>"})
_JOINING: Final = frozenset({"init_process_group", "rendezvous", "new_group"})
_SHOWN: Final = {"__init__": "DistributedDataParallel(...)", "_pre_forward": "forward", "forward": "forward"}


def state_of(dump: str, folder: str) -> State:
    """Where a process is.

    Args:
        dump: what faulthandler wrote, the innermost frame first.
        folder: the folder of the student's files.
    """
    frames = [(file, int(line), name) for file, line, name in _FRAME.findall(dump[:20_000])]
    own = next((index for index, (file, _, _) in enumerate(frames) if file.rpartition("/")[0] == folder), None)
    inner = frames if own is None else frames[:own]
    at: tuple[str, int, str] = ("", 0, "")
    if own is not None:
        file, line, name = frames[own]
        at = file.rpartition("/")[2][:60], line, name[:60]
    waits_in = _collective(inner)
    return State("waits", waits_in, *at) if waits_in else State("runs", "", *at)


def is_joining(state: State) -> bool:
    """Whether it is still setting up the group: then the others may just be slow to come."""
    return state.name in _JOINING


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
            return _SHOWN.get(name, name[:40]) if "/parallel/" in file else name[:40]
    return ""
