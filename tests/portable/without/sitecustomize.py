"""Takes from Python what Windows does not offer, wherever this folder is on PYTHONPATH.

The modules of Python itself and of installed packages keep what they need on Linux; the grader, checks and submissions
do without. What nobody else needs is gone for all. With NUMBER_OF_PROCESSORS=1, the machine has one core.
"""

from __future__ import annotations

import builtins
import functools
import io
import os
import signal
import socket
import sys
from types import ModuleType

GONE = {
    "os": ("fork", "forkpty", "memfd_create", "pidfd_open"),
    "signal": ("SIGUSR1", "SIGALRM", "setitimer"),
    "socket": ("send_fds", "recv_fds"),
}
"""Names that are gone for all."""
HIDDEN = {
    "os": (
        "pread", "getuid", "geteuid", "getgid", "getegid", "setsid", "killpg", "setpgid", "getpgid", "chown", "sysconf",
        "sched_getaffinity", "mkfifo", "set_blocking", "O_CLOEXEC", "O_NOFOLLOW", "O_DIRECTORY", "O_PATH", "waitid",
        "wait3", "wait4", "register_at_fork",
    ),
    "signal": (
        "SIGUSR2", "SIGVTALRM", "SIGPROF", "SIGKILL", "SIGHUP", "SIGQUIT", "SIGCHLD", "SIGXFSZ", "getitimer", "alarm",
        "pthread_sigmask", "set_wakeup_fd", "ITIMER_REAL", "ITIMER_VIRTUAL", "ITIMER_PROF",
    ),
    "socket": ("AF_UNIX",),
    "faulthandler": ("register", "unregister"),
}  # fmt: skip
"""Names that are gone for the grader, checks and submissions."""
ADDED = {"signal": {"SIGBREAK": 21}}
"""Names that Windows has, and what they are there."""
MODULES = ("fcntl", "grp", "pwd", "resource")
INSTALLED = tuple({sys.prefix, sys.base_prefix})


def is_ours(names: dict[str, object]) -> bool:
    """Whether a module, by what it holds, is part of neither Python nor an installed package."""
    file = str(names.get("__file__", ""))
    return not file.startswith(("<", *INSTALLED)) and (bool(file) or names.get("__name__") == "__main__")


def without(module: ModuleType) -> ModuleType:
    """The module as it would be on Windows."""
    name = module.__name__
    facade = ModuleType(name)
    vars(facade).update({key: value for key, value in vars(module).items() if key not in HIDDEN.get(name, ())})
    vars(facade).update(ADDED.get(name, {}))
    return facade


def change_imports() -> None:
    import_really = builtins.__import__
    facades = {}

    def import_(name, globals=None, locals=None, fromlist=(), level=0):
        if level or not is_ours(globals or {}):
            return import_really(name, globals, locals, fromlist, level)
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        module = import_really(name, globals, locals, fromlist, level)
        if name in HIDDEN:
            if name not in facades:
                facades[name] = without(module)
            return facades[name]
        return module

    builtins.__import__ = import_


def hide_proc() -> None:
    def refusing(real):
        def call(path=".", *args, **kwargs):
            if str(path).startswith("/proc") and is_ours(sys._getframe(1).f_globals):
                raise FileNotFoundError(2, "No such file or directory", str(path))
            return real(path, *args, **kwargs)

        return functools.partial(call)  # as a class's attribute, a function would become a method

    builtins.open = io.open = refusing(builtins.open)
    os.listdir = refusing(os.listdir)


for module in (os, signal, socket):
    for name in GONE[module.__name__]:
        if hasattr(module, name):
            delattr(module, name)
change_imports()
hide_proc()
if os.environ.get("NUMBER_OF_PROCESSORS") == "1":
    os.cpu_count = lambda: 1
