"""The settings of a test around its calls, for the submission: torch's modes, the environment, patched functions.

Each is compared with how it was when the test began, and only differences are sent.
"""

from __future__ import annotations

import builtins
import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from unittest import mock

import pytest
import torch
from torch.utils.data import get_worker_info

from grader.suites.passing import Passing, is_made_file

_WATCHED: Final[tuple[tuple[ModuleType, str], ...]] = ((builtins, "input"), (sys, "stdin"), (sys, "argv"))
_NAME_OF_TEST: Final = os.environ.encodekey("PYTEST_CURRENT_TEST")


class AroundTest:
    """The settings around a test as it begins."""

    def __init__(self) -> None:
        self._dtype = torch.get_default_dtype()
        self._environ = _entries()
        self._place = os.getcwd()
        self._filters = warnings.filters[:1]
        self._recorder = _recorder()
        self._over_there: dict[tuple[ModuleType, str], Any] = {}
        self._patched = {(home, name): getattr(home, name) for home, name in _WATCHED}

    def changes(self, passing: Passing) -> Iterator[tuple[str, Any]]:
        """The test's changes, as data."""
        if not torch.is_grad_enabled():
            yield "grad", ("value", False)
        for kind in ("cpu", "cuda"):
            if torch.is_autocast_enabled(kind):
                yield "autocast", ("value", (kind, torch.get_autocast_dtype(kind)))
        if (dtype := torch.get_default_dtype()) != self._dtype:
            yield "dtype", ("value", dtype)
        if (worker := get_worker_info()) is not None:
            yield "worker", passing.tree((worker.id, worker.num_workers, worker.seed, worker.dataset))
        if (entries := _entries()) != self._environ:
            names = {name for name, _ in entries.items() ^ self._environ.items()}
            texts = [os.environ.decodekey(name) for name in names]
            yield "environ", ("value", {text: os.environ.get(text) for text in texts})
        if (place := os.getcwd()) != self._place:
            yield "place", passing.tree(Path(place))
        if warnings.filters[:1] != self._filters or _recorder() != self._recorder:
            is_set = warnings.filters[:1] != self._filters and warnings.filters[0][0] == "error"
            yield "warnings", ("value", "error" if is_set else "always")
        for home, name, now, _ in self._replaced():
            is_sent = isinstance(now, StringIO | list) if home is sys else (home, name) != (builtins, "open")
            if is_sent or is_made_file(getattr(now, "return_value", None)):  # another `open` may open any file
                with contextlib.suppress(TypeError):
                    yield "patch", ("tuple", [("value", home.__name__), ("value", name), passing.tree(now)])

    def _replaced(self) -> list[tuple[ModuleType, str, Any, Any]]:
        """The test's patches: the module, the name, the value now and the one before."""
        found = [(home, name, getattr(home, name, one), one) for (home, name), one in self._patched.items()]
        return [one for one in found if one[2] is not one[3]]

    def undone(self) -> AbstractContextManager[None]:
        """The grader itself has the functions meanwhile that the test has patched.

        If the solution runs in this process, and has asked a function of the test, it gets its own ones back.
        """
        replaced = self._replaced()
        return self._put_back(replaced) if replaced else contextlib.nullcontext()

    @contextlib.contextmanager
    def _put_back(self, replaced: list[tuple[ModuleType, str, Any, Any]]) -> Iterator[None]:
        for home, name, _, before in replaced:
            setattr(home, name, self._over_there.get((home, name), before))
        try:
            yield
        finally:
            for home, name, now, _ in replaced:
                self._over_there[home, name] = getattr(home, name)
                setattr(home, name, now)

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Sees meanwhile which functions of libraries the test patches."""
        set_attribute, enter = pytest.MonkeyPatch.setattr, mock._patch.__enter__

        def setattr_(patch: Any, *args: Any, **kwargs: Any) -> None:
            set_attribute(patch, *args, **kwargs)
            self._add(*patch._setattr[-1])

        def enter_(patch: Any) -> Any:
            result = enter(patch)
            self._add(patch.target, patch.attribute, patch.temp_original)
            return result

        with pytest.MonkeyPatch.context() as own:
            own.setattr(pytest.MonkeyPatch, "setattr", setattr_)
            own.setattr(mock._patch, "__enter__", enter_)
            yield

    def _add(self, owner: object, name: str, before: object) -> None:
        if type(owner) is ModuleType and owner.__name__ in sys.modules:
            self._patched.setdefault((owner, name), before)


def _entries() -> dict[Any, Any]:
    """The environment in bytes, which is quick, and without the test's name, which pytest notes there."""
    entries = dict(vars(os.environ)["_data"])
    entries.pop(_NAME_OF_TEST, None)
    return entries


def _recorder() -> object:
    return getattr(warnings, "_showwarnmsg_impl", None), warnings.showwarning
