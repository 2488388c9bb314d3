"""Notes on stderr: urgent ones first, one line each, and of a flood only the number."""

from __future__ import annotations

import pytest

from grader.reports.terminal import NoteList, print_note


def test_a_note_is_one_line_without_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    print_note("a\x1b[31m\nb")
    assert capsys.readouterr() == ("", "note: a b\n")


def test_urgent_notes_come_first_and_the_rest_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    notes = NoteList("; all of them: elsewhere")
    for number in range(30):
        notes.add(f"other {number}")
    notes.add("urgent", urgent=True)
    notes.print()
    lines = capsys.readouterr().err.splitlines()
    assert lines[:2] == ["note: urgent", "note: other 0"]
    assert len(lines) == 21 and lines[-1] == "note: 11 more like these; all of them: elsewhere"
