"""The pytest plugin: the same checks under a plain ``pytest``, in this process, with the same verdicts.

``pytest --submission DIR CHECKS`` grades the modules in DIR. It does nothing in sessions that have no check.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from grader.judge import hooks

if TYPE_CHECKING:
    from grader.course import Course
    from grader.judge.hooks import DeskFor

_COURSE: Final = pytest.StashKey["Course"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("torchkata", "grading PyTorch exercises in-process (no isolation)")
    group.addoption("--submission", metavar="DIR", help="folder with the topic modules to check")
    group.addoption("--course", metavar="DIR", help="course folder (default: the shipped course)")
    group.addoption("--devices", choices=["auto", "simulated", "real"], default="auto", help="GPUs that checks get")
    group.addoption("--grader-seed", type=int, default=0, metavar="N", help="seed of the generated inputs")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(hooks, "torchkata-hooks")
    checks = hooks.CheckHooks(config.getoption("--grader-seed"), lambda: _in_process_desks(config))
    config.pluginmanager.register(checks, "torchkata-checks")


def _in_process_desks(config: pytest.Config) -> DeskFor:
    """The desks of the submission that the options name.

    Raises:
        pytest.UsageError: real devices are wanted and there are none.
    """
    from grader.errors import UserError
    from grader.judge.in_process import LocalDesks
    from grader.machine import resolve_devices
    from grader.testkit import devices

    try:
        devices.choose(resolve_devices(config.getoption("--devices")))
    except UserError as error:
        raise pytest.UsageError(str(error)) from None
    folder = config.getoption("--submission")
    return LocalDesks(Path(folder or "."), _course(config), config.getoption("--grader-seed")).desk_for


def _course(config: pytest.Config) -> Course:
    """The course that the options name, read once: pytest makes a module of every file beside the one that it runs."""
    from grader.course import Course

    if _COURSE not in config.stash:
        named = config.getoption("--course")
        config.stash[_COURSE] = Course.load(Path(named) if named else None)
    return config.stash[_COURSE]


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> None:
    """Loads the course's kit before one of its check files is imported."""
    named = parent.config.getoption("--course")
    shipped = Path(__file__).resolve().parent.parent / "checks"
    if named is None and module_path.parent != shipped:
        return
    from grader.errors import UserError
    from grader.kit import load, require_imported_names

    try:
        course = _course(parent.config)
        if module_path.resolve().parent == course.checks_dir:
            load(course.kit)
            require_imported_names(module_path, course.kit)
    except UserError as error:
        raise parent.CollectError(str(error)) from None
