"""Keeps process groups and DDP modules alive, because destroying one can deadlock.

Its thread wants the interpreter's lock to drop a reference while the destructor holds that lock. A process that made
one keeps it until it ends by ``os._exit``.
"""

from typing import Any

_kept: list[object] = []
_modules: list[Any] = []


def keep_what_deadlocks() -> list[Any]:
    """Keeps every process group and DDP module made from now on; returns the list to which each module is added, and
    which `forget_modules` empties."""
    from torch.distributed import distributed_c10d
    from torch.nn.parallel import DistributedDataParallel

    make_group: Any = distributed_c10d._new_process_group_helper
    wrap = DistributedDataParallel.__init__

    def keeping_group(*args: Any, **kwargs: Any) -> Any:
        made = make_group(*args, **kwargs)
        _kept.append(made)
        return made

    def keeping_module(self: Any, *args: Any, **kwargs: Any) -> None:
        wrap(self, *args, **kwargs)
        _kept.append(self)
        _modules.append(self)

    distributed_c10d._new_process_group_helper = keeping_group
    DistributedDataParallel.__init__ = keeping_module  # type: ignore[method-assign]
    return _modules


def forget_modules() -> None:
    """Empties the list of modules; they are still kept."""
    _modules.clear()
