"""Keeps alive what torch cannot take apart: destroying a process group or a DDP module can deadlock.

Its thread wants the interpreter's lock to drop a reference while the destructor holds that lock. A process that made
one keeps it until it ends by ``os._exit``.
"""

from __future__ import annotations

from typing import Any

_groups: list[object] = []


def keep_what_deadlocks() -> list[Any]:
    """Keeps every process group and DDP module made from now on; returns the list to which each module is added."""
    from torch.distributed import distributed_c10d
    from torch.nn.parallel import DistributedDataParallel

    make_group: Any = distributed_c10d._new_process_group_helper
    wrap = DistributedDataParallel.__init__
    modules: list[Any] = []

    def keeping_group(*args: Any, **kwargs: Any) -> Any:
        made = make_group(*args, **kwargs)
        _groups.append(made)
        return made

    def keeping_module(self: Any, *args: Any, **kwargs: Any) -> None:
        wrap(self, *args, **kwargs)
        modules.append(self)

    distributed_c10d._new_process_group_helper = keeping_group
    DistributedDataParallel.__init__ = keeping_module  # type: ignore[method-assign]
    return modules
