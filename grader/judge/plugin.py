"""The pytest plugin: the same checks under a plain ``pytest``, in this process, with the same verdicts.

``pytest CHECKS --submission DIR`` grades the modules in DIR. Every pytest of the environment loads this module, so it
must never be in the way of a project that has nothing to do with torchkata: it adds no option unless the command line
or the current folder names a course, and no mark, fixture or hook before a course's check file is collected.
"""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grader.course import Course
    from grader.judge.check import Check, Desk
    from grader.judge.session import DeskFor
    from grader.kit import Kit

_SHIPPED_CHECKS: Final = Path(__file__).resolve().parent.parent / "checks"
_TOPICS: Final = re.compile(rb"^[ \t]*(\[\[[ \t]*topics\b|topics[ \t]*=)", re.MULTILINE)
_SUITE: Final = re.compile(rb"^[ \t]*\[suite\]", re.MULTILINE)
_MANIFESTS: Final = ("course.toml", "exercises/course.toml")
_COURSES: Final = pytest.StashKey["dict[Path, Course]"]()


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    config = pluginmanager.get_plugin("pytestconfig")
    if not isinstance(config, pytest.Config) or not any(map(_course_of, _named_paths(config))):
        return
    group = parser.getgroup("torchkata", "grading PyTorch exercises in-process (no isolation)")
    add = functools.partial(group.addoption, action="store")
    add("--submission", dest="grader_submission", metavar="DIR", help="folder with the topic modules to check")
    add("--course", dest="grader_course", metavar="DIR", help="course folder (default: the one that the checks are in)")
    add("--devices", dest="grader_devices", choices=["auto", "simulated", "real"], help="GPUs that checks get")
    add("--grader-seed", type=int, metavar="N", help="seed of the generated inputs (default: 0)")


def _named_paths(config: pytest.Config) -> Iterator[Path]:
    """The current folder, and the files and folders that the command line may name."""
    here = config.invocation_params.dir
    yield here
    for argument in config.invocation_params.args:
        path = here / str(argument).partition("::")[0].rpartition("=")[2]
        if os.path.exists(path):
            yield path


def _course_of(path: Path) -> Path | None:
    """The course folder that a path is, or whose ``checks`` it is in; or the shipped checks."""
    path = Path(os.path.realpath(path))
    if path.is_relative_to(_SHIPPED_CHECKS):
        return _SHIPPED_CHECKS
    for folder in (path, *path.parents):
        if any(_is_manifest(folder / place) for place in _MANIFESTS):
            is_checks = path.relative_to(folder).parts[:1] in ((), ("checks",))
            return folder if is_checks or _suite_of(folder, path) else None
    return None


def _suite_of(folder: Path, path: Path) -> Path | None:
    """The folder of a course's suite, if a path is in it."""
    manifests = [folder / place for place in _MANIFESTS if (folder / place).is_file()]
    if not any(_SUITE.search(one.read_bytes()) for one in manifests):
        return None
    from grader.course import Course
    from grader.errors import UserError

    try:
        course = Course.load(folder, complete=False)
    except UserError:
        return None
    return course.checks_dir if course.suite is not None and path.is_relative_to(course.checks_dir) else None


@pytest.hookimpl(trylast=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before a suite is imported: its imports find the submission that is named, as they would without a grader."""
    folder = getattr(early_config.known_args_namespace, "grader_submission", None)
    if not isinstance(folder, str):
        return
    for path in _named_paths(early_config):
        root = _course_of(path)
        if root is None or root == _SHIPPED_CHECKS or not _suite_of(root, path.resolve()):
            continue
        from grader.judge.suite import find_submission

        find_submission(root, Path(folder).resolve())
        early_config.addinivalue_line("markers", "timeout(seconds): the test's own limit, while a course grades it")
        return


def _is_manifest(file: Path) -> bool:
    """Whether that is a course's manifest, and not another program's file of the same name."""
    try:
        return _TOPICS.search(file.read_bytes()) is not None
    except OSError:
        return False


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Before one of a course's check files is imported: makes checks of its tests, and loads the course's kit."""
    config = parent.config
    root = config.getoption("grader_course", None) or _course_of(module_path)
    if root is None:
        return None
    from grader.errors import UserError
    from grader.kit import let_checks_import, load

    try:
        course = _course(config, Path(root))
        if course.suite is not None or module_path.resolve().parent != course.checks_dir:
            return None
        load(course.kit)
        let_checks_import(course.checks_dir)
    except UserError as error:
        raise parent.CollectError(str(error)) from None
    if not config.pluginmanager.has_plugin("torchkata-checks"):
        from grader.judge import session

        # From now on, the marked tests of this session are checks.
        hooks = session.CheckHooks(_seed(config), lambda: _in_process_desks(config))
        config.pluginmanager.register(session, "torchkata-session")
        config.pluginmanager.register(hooks, "torchkata-checks")
    module: _CheckFile = _CheckFile.from_parent(parent, path=module_path)
    module.kit = course.kit
    return module


class _CheckFile(pytest.Module):
    """A check file of a course with this kit; of those beside it, pytest makes one too, and does not collect them."""

    kit: Kit | None

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        try:
            return super().collect()
        except self.CollectError:
            from grader.errors import UserError
            from grader.kit import require_imported_names

            try:
                require_imported_names(self.path, self.kit)  # says it better
            except UserError as error:
                raise self.CollectError(str(error)) from None
            raise


def _in_process_desks(config: pytest.Config) -> DeskFor:
    """The desks of the submission that the options name.

    Raises:
        pytest.UsageError: real devices are wanted and there are none.
    """
    import torch

    from grader.errors import UserError
    from grader.judge.plain_pytest import LocalDesks
    from grader.machine import resolve_devices
    from grader.testkit import devices

    try:
        devices.choose(resolve_devices(config.getoption("grader_devices", None) or "auto"))
    except UserError as error:
        raise pytest.UsageError(str(error)) from None
    folder = Path(config.getoption("grader_submission", None) or ".")
    config.add_cleanup(functools.partial(torch.set_num_threads, torch.get_num_threads()))
    torch.set_num_threads(1)  # as workers have: with more, a check that trains takes many times as long

    @functools.cache
    def desks(root: Path) -> LocalDesks:
        return LocalDesks(folder, _course(config, root), _seed(config))

    def desk_for(check: Check) -> Desk:
        root = config.getoption("grader_course", None) or _course_of(check.item.path)
        if root is None:
            pytest.fail("this check is not in the folder `checks` of a course", pytrace=False)
        return desks(Path(root)).desk_for(check)

    return desk_for


def _course(config: pytest.Config, root: Path) -> Course:
    """A course, read once: pytest makes a module of every file beside the one that it runs."""
    from grader.course import Course

    courses = config.stash.setdefault(_COURSES, {})
    if root not in courses:
        courses[root] = Course.load(None if root == _SHIPPED_CHECKS else root)
    return courses[root]


def _seed(config: pytest.Config) -> int:
    return int(config.getoption("grader_seed", None) or 0)
