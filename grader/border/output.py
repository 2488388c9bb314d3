"""Standard output and standard error of a process that runs submitted code: sent to descriptors of the grader."""

import contextlib
import os
import sys


def use_output(output: int, errors: int) -> None:
    """Makes two descriptors, which may be one, the process's standard output and standard error, and closes them."""
    os.dup2(output, 1)
    os.dup2(errors, 2)
    for descriptor in {output, errors}:
        if descriptor > 2:
            os.close(descriptor)
    # By lines: what was printed before an endless loop or a crash says where it happened.
    sys.stdout = open(1, "w", encoding="utf-8", errors="replace", closefd=False, buffering=1)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="replace", closefd=False, buffering=1)  # noqa: SIM115


def flush_output() -> None:
    """Sends prints on, if that is possible: submitted code may have put anything in place of a stream."""
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
        sys.stderr.flush()
