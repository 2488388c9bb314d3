"""The pytest plugin: the same checks under a plain ``pytest``, in this process, with the same verdicts.

``pytest --submission DIR CHECKS`` grades the modules in DIR. It does nothing in sessions that have no check. The
judge uses the same hook over a sandboxed process; only the desk differs.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from grader.judge.check import Check
    from grader.judge.desk import Desk
    from grader.results import CheckResult

DeskFor: pytest.StashKey[Callable[[Check], Desk]] = pytest.StashKey()
Checks: pytest.StashKey[dict[str, Check]] = pytest.StashKey()
Results: pytest.StashKey[dict[str, CheckResult]] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("torchkata", "grading PyTorch exercises in-process (no isolation)")
    group.addoption("--submission", metavar="DIR", help="folder with the topic modules to check")
    group.addoption("--course", metavar="DIR", help="course folder (default: the shipped course)")
    group.addoption("--devices", choices=["auto", "simulated", "real"], default="auto", help="GPUs that checks get")
    group.addoption("--grader-seed", type=int, default=0, metavar="N", help="seed of the generated inputs")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "exercise(name, hidden=False): the exercise that a check belongs to")


class Later:
    """Stands for the submission until the check runs: fixtures are set up before there is one."""

    def __getattr__(self, name: str) -> Any:
        raise pytest.UsageError("`submission` can be used in a check, not in a fixture")


@pytest.fixture(name="submission", scope="session")
def submission_fixture() -> Later:
    """The proxy to the submitted module: each check gets its own when it runs."""
    return Later()


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> None:
    """Loads the course's kit before one of its check files is imported."""
    named = parent.config.getoption("--course")
    shipped = Path(__file__).resolve().parent.parent / "checks"
    if named is None and module_path.parent != shipped:
        return
    from grader.course import Course
    from grader.course.kit import load, require_imported_names
    from grader.errors import UserError

    try:
        course = Course.load(Path(named) if named else None)
        if module_path.resolve().parent == course.checks_dir:
            load(course.kit)
            require_imported_names(module_path, course.kit)
    except UserError as error:
        raise parent.CollectError(str(error)) from None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    found = [item for item in items if isinstance(item, pytest.Function) and item.get_closest_marker("exercise")]
    if not found:
        return
    from grader.judge.check import Check

    seed = config.getoption("--grader-seed")
    checks = config.stash[Checks] = {}
    config.stash.setdefault(Results, {})
    for item in found:
        mark = item.get_closest_marker("exercise")
        assert mark is not None
        checks[item.nodeid] = Check(item, mark.args[0], bool(mark.kwargs.get("hidden")), seed)
    if DeskFor not in config.stash:
        from grader.course import Course
        from grader.errors import UserError
        from grader.judge.in_process import LocalDesks
        from grader.machine import resolve_devices
        from grader.testkit import devices

        try:
            devices.choose(resolve_devices(config.getoption("--devices")))
        except UserError as error:
            raise pytest.UsageError(str(error)) from None
        folder = config.getoption("--submission")
        course = config.getoption("--course")
        config.stash[DeskFor] = LocalDesks(
            Path(folder or "."), Course.load(Path(course) if course else None), seed
        ).desk_for


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    check = pyfuncitem.config.stash.get(Checks, {}).get(pyfuncitem.nodeid)
    if check is None:
        return None
    from grader.judge import run

    desk = pyfuncitem.config.stash[DeskFor](check)
    fixtures = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    result, trace = run.run(check, desk, fixtures)
    pyfuncitem.config.stash[Results][pyfuncitem.nodeid] = result
    pyfuncitem.stash[LastTrace] = trace
    if result.verdict != "passed":
        pytest.fail(f"[{result.verdict}] {result.message}", pytrace=False)
    return True


LastTrace = pytest.StashKey[Any]()
