"""Fixtures for all tests; they live in shared.py, whose name no other folder has. And which tests are slow."""

import compileall
import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from shared import *  # noqa: F403

from grader.package import FOLDER

collect_ignore = ["answers", "courses"]

for _size in ("COLUMNS", "LINES"):  # the size of somebody's terminal must not fold what tests read
    os.environ.pop(_size, None)

# No test is timed: on a busy machine the same example takes several times as long. And every run has the same examples.
hypothesis.settings.register_profile(
    "untimed", deadline=None, derandomize=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("untimed")

CACHE = "" if "PYTEST_XDIST_WORKER" in os.environ else tempfile.mkdtemp(prefix="torchkata-tests-")
"""What the grader keeps between runs: for all tests of a session, and neither from an earlier one nor from a user's."""
HERE = Path(__file__).resolve().parent

if CACHE:
    os.environ["XDG_CACHE_HOME"] = CACHE
    # Once, as pip does where it installs: where PYTHONDONTWRITEBYTECODE is set, each of the hundreds of commands and
    # workers that the tests start would compile the package again.
    compileall.compile_dir(FOLDER, quiet=1)

# Where PYTHONDONTWRITEBYTECODE is set, each tester would rewrite the asserts of all files of tests in each session.
sys.dont_write_bytecode = False
gc.disable()  # until everything is collected, which stays
SLOW = (
    "adopt/test_adopt.py",
    "adopt/test_adopted_notebooks.py",
    "attacks",
    "border/test_total_decoding.py",
    "border/test_wire_hostile.py",
    "checks/test_devices_grading.py",
    "checks/test_double_slips.py",
    "cli/test_assignments_of_a_class.py",
    "cli/test_bad_places.py",
    "cli/test_cli.py",
    "cli/test_course_here.py",
    "cli/test_devices_option.py",
    "cli/test_mark.py",
    "cli/test_owners_of_uploads.py",
    "cli/test_student_commands.py",
    "exports/test_ci.py",
    "exports/test_classroom50.py",
    "exports/test_package_gradescope.py",
    "grading/test_dask.py",
    "grading/test_parts.py",
    "grading/test_questions.py",
    "grading/test_verify.py",
    "intake/test_intake_archives.py",
    "intake/test_intake_limits.py",
    "intake/test_notebook_programs.py",
    "judge/test_arguments.py",
    "judge/test_assessed.py",
    "judge/test_cheap_forks.py",
    "judge/test_clock.py",
    "judge/test_credit.py",
    "judge/test_hostile_texts.py",
    "judge/test_judge.py",
    "judge/test_kit_grading.py",
    "judge/test_limits_named.py",
    "judge/test_needs.py",
    "judge/test_one_desk.py",
    "judge/test_outside.py",
    "judge/test_own_copies.py",
    "judge/test_pictures.py",
    "judge/test_plugin.py",
    "judge/test_points_and_names.py",
    "judge/test_reuse.py",
    "judge/test_top_level_code.py",
    "packaging",
    "portable/test_portable_engine.py",
    "portable/test_what_is_ended.py",
    "reports/test_pictures_hostile.py",
    "similar",
    "suites/test_suite_cheats.py",
    "suites/test_suite_runs.py",
    "suites/test_suite_tables.py",
    "testkit/test_devices_modules.py",
    "testkit/test_devices_operations.py",
    "testkit/test_devices_training.py",
    "testkit/test_ranks.py",
    "testkit/test_torchrun.py",
)
"""Folders and files whose tests are all slow: most start workers, commands or ranks, or try thousands of inputs. Others
say so test by test.
"""
SLOW_PLACES = [HERE / name for name in SLOW]


LONGEST = (
    "docs/test_commands.py",
    "checks/test_wrong_answers.py",
    "checks/test_right_answers.py",
    "grading/test_sample_class.py",
    "checks/test_promises.py",
    "suites/test_suite_runs.py",
    "grading/test_judge_ends.py",
    "attacks/test_attacks_ranks.py",
    "attacks/test_eats_the_machine.py",
    "grading/test_verify.py",
    "portable/test_portable_engine.py",
)
"""Files that take half a minute and more, the longest first: they start in this order, before all others."""


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """The usual folder, but in memory where gradebooks are tested: SQLite waits for the disk at every write."""
    if request.path.parent.name not in ("gradebook", "marking") or not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="torchkata-", dir="/dev/shm") as folder:
        yield Path(folder)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files whose tests are all slow are not even imported where slow tests are left out."""
    leaves_out = "not slow" in config.option.markexpr.split(" and ")
    return True if leaves_out and any(map(collection_path.is_relative_to, SLOW_PLACES)) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files start first, then others with slow tests: begun last, they would leave cores idle."""
    gone = [name for name in (*SLOW, *LONGEST) if not (HERE / name).exists()]
    assert not gone, f"SLOW or LONGEST names what does not exist: {gone}"
    all_slow = {path for path in {item.path for item in items} if any(map(path.is_relative_to, SLOW_PLACES))}
    for item in items:
        if item.path in all_slow or item.get_closest_marker("nightly"):
            item.add_marker("slow")
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    order = {HERE / name: at for at, name in enumerate(LONGEST)}
    items.sort(key=lambda item: (item.path not in slow, order.get(item.path, len(order))))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Ends the session's cache, and prints the processor time of all processes, so that everybody sees it grow."""
    if CACHE:
        shutil.rmtree(CACHE, ignore_errors=True)
        used = os.times()
        seconds = used.user + used.system + used.children_user + used.children_system
        kernel = used.system + used.children_system
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and config.inipath == HERE.parent / "pyproject.toml" and not config.option.collectonly:
            reporter.write_line(f"processor time: {seconds:.0f} s, of which {kernel:.0f} s in the system")


def pytest_collection_finish() -> None:
    """Torch has one thread, as in workers: several that wait for each other take twice the processor's time.

    Thousands of collected tests live as long as the session: the collector need not look at them again and again, and
    seldom at the rest.
    """
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    gc.enable()
