"""Whether this system offers all that forked processes in a sandbox need: found by trying it.

macOS counts as a system that cannot fork: there, libraries that torch uses end a process that was forked.
"""

import importlib.util
import os
import signal
import socket
import sys

from grader.sandbox import process_tree


def why_not_forked() -> str:
    """The first thing that forked processes need and this system has not; empty if it has all."""
    if sys.platform == "darwin":
        return "on macOS, a process that has loaded torch cannot be forked safely"
    for module, names in ((os, ("fork", "pidfd_open", "waitpid")), (signal, ("SIGUSR1",)), (socket, ("send_fds",))):
        for name in names:
            if not hasattr(module, name):
                return f"this system has no {module.__name__}.{name}"
    for name in ("fcntl", "resource"):
        if importlib.util.find_spec(name) is None:
            return f"this system has no module {name}"
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError as error:  # a kernel older than Python's
        return f"this system refuses os.pidfd_open ({error.strerror})"
    return "" if process_tree.HAS_PROC else "this system has no /proc"
