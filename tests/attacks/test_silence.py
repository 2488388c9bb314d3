"""Whoever keeps the grader from taking notes, or acts where few look, is flagged: in calls, ranks and scripts."""

from __future__ import annotations

from pathlib import Path

import pytest
from shared import Warm, WarmUp

from grader.results import SubmissionResult

COURSES = Path(__file__).resolve().parent.parent / "courses"
LAB = (COURSES / "needs" / "solutions" / "lab.py").read_text()
TEAM = (COURSES / "team" / "solutions" / "team.py").read_text()
CLOSED = "closed the grader's notes about it"
FRAMES = "looked at the frames of its callers"
HIDDEN = '[__import__("sys")][0].__getattribute__("_get" + "frame")()'
"""Looks at frames, and no reader of the source sees it."""
CLOSE = """
import os as system, stat
def close(close_one):
    for one in range(3, 64):
        try:
            if stat.S_ISFIFO(system.fstat(one).st_mode):
                close_one(one)
        except OSError:
            pass
"""


def seen(result: SubmissionResult) -> list[str]:
    return [flag.text for flag in result.flags]


@pytest.fixture
def lab(warm: WarmUp) -> Warm:
    return warm(COURSES / "needs")


@pytest.fixture
def team(warm: WarmUp) -> Warm:
    return warm(COURSES / "team")


@pytest.mark.parametrize(
    "close",
    {
        "at import": f"{CLOSE}\nclose(system.close)\ndef plain():\n    return 1\n",
        "in a call": f"{CLOSE}\ndef plain():\n    close(system.close)\n    return 1\n",
        "as a file": f"{CLOSE}\ndef plain():\n    close(lambda one: open(one, 'wb').close())\n    return 1\n",
        "and then ends": (
            f"{CLOSE}\ndef plain():\n    close(system.close)\n    return 1\n"
            "def marked():\n    system._exit(0)\n"  # the next call
        ),
    }.items(),
    ids=lambda one: one[0],
)
def test_the_end_of_the_notes_while_the_process_lives_is_a_flag(lab: Warm, close: tuple[str, str]) -> None:
    assert CLOSED in seen(lab.grade(lab=f"{LAB}\n{close[1]}"))


@pytest.mark.parametrize(
    "end", ["return 1", "system._exit(3)", "system.kill(system.getpid(), 9)", "raise ValueError", "[0] * 10**12"]
)
def test_a_process_that_merely_ends_has_closed_nothing(lab: Warm, end: str) -> None:
    assert CLOSED not in seen(lab.grade(lab=f"{LAB}\nimport os as system\ndef plain():\n    {end}\n"))


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        ('__import__("socket").socket', "sendall"),
        ('__import__("socket")', "socket"),
        ('__import__("os")', "write"),
        ('__import__("msgspec")', "convert"),
        ('__import__("msgspec").msgpack', "Decoder"),
        ('__import__("traceback")', "walk_tb"),
    ],
)
def test_functions_that_the_border_uses_do_nothing_if_replaced_but_are_flagged(
    lab: Warm, owner: str, name: str
) -> None:
    """The owner is reached by way of a list, so that the source says nothing."""
    source = f"{LAB}\nput = [setattr]\nput[0]([{owner}][0], {name!r}, lambda *args, **more: 1 / 0)\n"
    honest, result = lab.grade(lab=LAB), lab.grade(lab=source)
    assert result.exercises == honest.exercises
    assert any(text.startswith("replaced ") and text.endswith(f".{name}") for text in seen(result)), seen(result)


def test_what_a_rank_does_is_flagged(team: Warm) -> None:
    honest = team.grade(team=TEAM)
    assert honest.flags == ()
    result = team.grade(team=TEAM.replace("    dist.all_reduce(x)\n", f"    dist.all_reduce(x)\n    {HIDDEN}\n"))
    assert result.exercises == honest.exercises and seen(result) == [FRAMES]
    closing = CLOSE + TEAM.replace("    dist.all_reduce(x)\n", "    dist.all_reduce(x)\n    close(system.close)\n")
    result = team.grade(team=closing)
    assert result.exercises == honest.exercises and CLOSED in seen(result)
