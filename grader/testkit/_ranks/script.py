"""Runs the student's script for a worker of torchrun, in a process of its own.

It runs as ``python SCRIPT`` does, but for torch's own end: taking process groups apart can hang or abort. The script
may end in any way; torchrun's worker has to return when all went well.
"""

import os
import runpy
import signal
import sys
import traceback
from typing import NoReturn

import torch

from grader.border.output import flush_output
from grader.sandbox import kernel
from grader.testkit._ranks.deadlocks import keep_what_deadlocks


def run_script() -> None:
    """Runs the script that ``sys.argv[1]`` names; returns if it ends well, else ends this process in the same way."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)  # the launcher's handlers would run late, or never amid a collective
    torch.set_num_threads(1)  # the threads of the process that this one was forked from are not here
    keep_what_deadlocks()
    sys.argv = sys.argv[1:]
    sys.path.insert(0, os.path.dirname(sys.argv[0]))
    worker = os.getpid()
    script = os.fork()
    if not script:
        kernel.close_all_but({0, 1, 2})  # the launcher's own
        kernel.die_with_parent()
        if os.getppid() != worker:
            os._exit(1)
        _run(sys.argv[0])
    code = os.waitstatus_to_exitcode(os.waitpid(script, 0)[1])
    if code < 0:
        os.kill(worker, -code)
    if code:
        os._exit(code)


def run_script_here() -> NoReturn:
    """The same in this process, which is torchrun's worker: a new Python, of which nothing else is needed."""
    torch.set_num_threads(1)
    keep_what_deadlocks()
    sys.argv = sys.argv[1:]
    sys.path.insert(0, os.path.dirname(sys.argv[0]))
    _run(sys.argv[0])


def _run(script: str) -> NoReturn:
    code = 0
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        code = end.code if type(end.code) is int else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        code = 1
    flush_output()
    os._exit(code)
