"""Settings of the process that a file may change when it is loaded, and that are put back afterwards.

A notebook on Colab begins with ``os.chdir``, a script with ``torch.set_default_dtype``. Only functions are asked, and
each finds the process as it is for everybody.
"""

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator

import torch


@contextlib.contextmanager
def put_back() -> Iterator[None]:
    """Puts them back: current folder, file mask, output, filters of warnings, and torch's modes and default type."""
    folder, filters = os.getcwd(), warnings.filters[:]
    os.umask(mask := os.umask(0o077))
    streams = sys.stdout, sys.stderr
    dtype, has_grad = torch.get_default_dtype(), torch.is_grad_enabled()
    try:
        yield
    finally:
        os.chdir(folder)
        os.umask(mask)
        sys.stdout, sys.stderr = streams
        if warnings.filters != filters:
            warnings.resetwarnings()  # Python also forgets which warnings it has shown
            warnings.filters[:] = filters  # type: ignore[index]
        if torch.get_default_dtype() != dtype:
            torch.set_default_dtype(dtype)
        if torch.is_anomaly_enabled():
            torch.autograd.set_detect_anomaly(False)
        if torch.is_grad_enabled() != has_grad:
            torch.set_grad_enabled(has_grad)
