"""torchkata: PyTorch exercises and a grader that never lets submitted code decide its own verdict.

In a notebook: ``from grader import check, hint``. Importing the package imports neither these nor torch.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_MODULES = {"check": "grader.notebook.api", "hint": "grader.notebook.api"}
"""The public functions, by the module that is imported when one is first asked for."""


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
