"""A warm host that is forked off the test's own process, so that the test can change what the host finds there.

Elsewhere hosts come from the zygote, which is a new Python.
"""

from __future__ import annotations

import os
import socket

from grader.sandbox import kernel
from grader.sandbox.limits import Limits
from grader.student import forked, host


def forked_host(limits: Limits) -> forked.HostClient:
    """A host, which must be prepared and closed; this process must have a single thread."""
    ours, theirs = socket.socketpair()
    process = os.fork()
    if not process:
        try:
            kernel.close_all_but({0, 1, 2, theirs.fileno()})
            host.WarmHost(theirs).run()
        finally:
            os._exit(0)
    theirs.close()
    return forked.HostClient(ours, process, limits)
