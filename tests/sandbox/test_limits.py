"""`Limits`: its ranges, and that it is the same after a way through msgpack, as from the command line to a worker."""

from __future__ import annotations

import msgspec
import pytest

from grader.cli.options import GradingGroup
from grader.grading.protocol import WorkerOptions
from grader.sandbox.limits import InvalidLimit, Limits


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("check_seconds", 0.0),
        ("check_seconds", float("nan")),
        ("topic_seconds", -1.0),
        ("topic_seconds", 1e6),
        ("memory_bytes", 0),
        ("processes", 0),
        ("file_bytes", -1),
        ("print_bytes", 0),
    ],
)
def test_a_limit_out_of_its_range_is_refused_by_name(field: str, value: float) -> None:
    with pytest.raises(InvalidLimit) as refused:
        Limits(**{field: value})
    assert refused.value.name == field


def test_the_options_of_the_command_line_reach_a_worker_as_they_are() -> None:
    limits = GradingGroup("auto", None, False, 2.0, 6.0, "512MiB", 24, "1MiB", "4KiB").limits()
    assert limits == Limits(2.0, 6.0, 512 << 20, 24, 1 << 20, 4 << 10)
    options = msgspec.msgpack.decode(msgspec.msgpack.encode(WorkerOptions(limits=limits)), type=WorkerOptions)
    assert options.limits == limits


def test_options_that_are_not_given_ask_for_the_limits_that_a_worker_has_anyway() -> None:
    assert GradingGroup().limits() == Limits()
