"""Runs pytest in a process of its own, and records which functions and classes of students each test calls.

Wraps and replaces nothing: a profile function sees the calls, so that the tests run as they do anywhere.
"""

from __future__ import annotations

import gc
import inspect
import json
import os
import sys
from collections.abc import Generator
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any, Final

import pytest

from grader.course.source import names_of_code

_LIMITS: Final = "setrlimit"
"""The function of the system by which a test limits its own process, and the mark that such a test gets."""


ONLY_READS: Final = "only reads"
"""The mark of a test that calls nothing of the students', and whose calls are the names that it says."""
_STARTS: Final = "starts processes"
"""The mark of a test that starts processes itself, other than the workers of a loader."""
_START: Final = BaseProcess.start.__code__


class Recorder:
    """A pytest plugin. Calls of the students' code by their own code are not recorded.

    Attributes:
        tests: for each test function: its outcome, its line, and the names that it called, the last one last.
        errors: the files that could not be read, each with the reason.
    """

    def __init__(self, names: dict[str, list[tuple[int, int, str]]]) -> None:
        """Args:
        names: for each file of students its top-level definitions: first line, last line, name.
        """
        self.tests: dict[str, dict[str, Any]] = {}
        self.errors: list[tuple[str, str]] = []
        self._names = names
        self._by_fixture: dict[str, dict[str, None]] = {}
        self._known: dict[tuple[str, int], str | None] = {}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.errors.append((report.nodeid, _reason(report)))

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        found = {"outcome": "skipped", "line": item.location[1] or 0, "calls": {}}
        found["marks"] = [mark.name for mark in item.iter_markers()]
        self.tests.setdefault(_name(item), found)

    def pytest_collection_finish(self) -> None:
        if self._names and "torch" in sys.modules:  # else nothing is recorded, or the tests need no torch
            from grader.student import late_dynamo

            late_dynamo.install()  # under the profile function, torch's compiler would take seconds to import

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        found = self.tests[_name(item)]
        calls = found["calls"]
        for fixture in getattr(item, "fixturenames", ()):
            calls |= self._by_fixture.get(fixture, {})
        try:
            return (yield from self._recording(calls))
        finally:
            for mark in (_LIMITS, _STARTS):
                if mark in calls:
                    del calls[mark]
                    found["marks"].append(mark)
            if not calls and (read := self._read_by(item)):
                calls |= read
                found["marks"].append(ONLY_READS)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
        return (yield from self._recording(self._by_fixture.setdefault(fixturedef.argname, {})))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        found = self.tests[report.nodeid.partition("[")[0]]
        if report.failed:
            found |= {"outcome": "failed", "reason": _reason(report)}
        elif hasattr(report, "wasxfail"):
            found["marks"].append("xfail")
        elif report.skipped:
            found.setdefault("reason", _reason(report))
        elif report.when == "call" and found["outcome"] == "skipped":
            found["outcome"] = "passed"

    def _recording(self, calls: dict[str, None]) -> Generator[None, object, object]:
        """While the wrapped hook runs, notes the students' names that are called from elsewhere."""
        depth = 0

        def profile(frame: FrameType, event: str, called: object) -> None:
            nonlocal depth
            if event == "c_call" and getattr(called, "__name__", "") == _LIMITS:
                calls[_LIMITS] = None
            if event not in ("call", "return"):
                return
            if event == "call" and depth == 0 and frame.f_code is _START and not _is_in_loader(frame):
                calls[_STARTS] = None
            name = self._name_of(frame)
            if name is None:
                return
            if event == "return":
                depth -= 1
                return
            if depth == 0:
                calls.pop(name, None)
                calls[name] = None
            depth += 1

        before = sys.getprofile()
        sys.setprofile(profile)
        try:
            return (yield)
        finally:
            sys.setprofile(before)

    def _read_by(self, item: pytest.Item) -> dict[str, None]:
        """The students' names in the code of a test, which may read an enum, or a class, and call nothing of it."""
        test = inspect.unwrap(getattr(item, "function", None) or item.runtest)
        known, names = getattr(test, "__globals__", {}), names_of_code(getattr(test, "__code__", None))
        found: dict[str, None] = {}
        for module in [*sys.modules.values()]:
            file = getattr(module, "__file__", None)
            for *_, name in self._names.get(file, ()) if isinstance(file, str) else ():
                value = vars(module).get(name)
                if name not in names or not isinstance(value, type | FunctionType):
                    continue
                if module.__name__ in names or any(known.get(one) is home for one in names for home in (value, module)):
                    found[f"{file}::{name}"] = None
        return found

    def _name_of(self, frame: FrameType) -> str | None:
        """``FILE::NAME`` of the students' function or class whose code this is; None if it is not theirs."""
        code = frame.f_code
        file, line = place = code.co_filename, code.co_firstlineno
        if place in self._known:
            return self._known[place]
        if file == "<string>" and "self" in frame.f_locals:  # a method that a dataclass made
            made_for = type(frame.f_locals["self"])
            file = getattr(sys.modules.get(made_for.__module__), "__file__", None) or ""
            return f"{file}::{made_for.__qualname__.partition('.')[0]}" if file in self._names else None
        definitions = self._names.get(file, ())
        found = next((f"{file}::{name}" for first, last, name in definitions if first <= line <= last), None)
        self._known[place] = found
        return found


def _is_in_loader(frame: FrameType | None) -> bool:
    while frame is not None and not frame.f_code.co_filename.endswith("dataloader.py"):
        frame = frame.f_back
    return frame is not None


def _name(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    """The line that pytest's summary shows."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
    lines = [line.removeprefix("E").strip() for line in str(text).strip().splitlines() if line.strip()]
    if missing := getattr(report.longrepr, "errorstring", ""):
        return str(missing).strip().splitlines()[0]  # of a fixture that is not there
    return (lines[0] if crash or len(lines) == 1 else lines[-1]) if lines else "no reason"


def main(settings_file: str) -> None:
    """Runs the tests that the file of settings names, and writes the record beside it."""
    settings = json.loads(Path(settings_file).read_text(encoding="utf-8"))
    gc.freeze()  # pytest has the collector look at everything at its end
    sys.path[:0] = settings["path"]
    recorder = Recorder(settings["names"])
    arguments = ["-q", "-p", "no:cacheprovider", "-p", "no:torchkata", "-n0", "--continue-on-collection-errors"]
    pytest.main([*arguments, f"--rootdir={os.getcwd()}", "-c", os.devnull, *settings["tests"]], plugins=[recorder])
    modules = {name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
    files = {name: file for name, file in modules.items() if isinstance(file, str)}
    found = {"tests": recorder.tests, "errors": recorder.errors, "modules": files}
    Path(settings_file).with_suffix(".out").write_text(json.dumps(found), encoding="utf-8")
