"""The prints of submitted code: the first of a call come line by line, thousands in few blocks, and none is lost."""

from __future__ import annotations

import io
import os

import pytest

from grader.border.output import Output


class Sent:
    """A stream over `Output`, and what it has sent."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.blocks: list[bytes] = []
        self.output = Output(1)
        self.stream = io.TextIOWrapper(self.output, encoding="utf-8", line_buffering=True)
        monkeypatch.setattr(os, "write", self._write)

    def _write(self, descriptor: int, data: memoryview) -> int:
        self.blocks.append(bytes(data[:50_000]))  # a pipe takes no more at once
        return len(self.blocks[-1])

    @property
    def text(self) -> str:
        return b"".join(self.blocks).decode()


def test_each_line_is_sent_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = Sent(monkeypatch)
    print("one", file=sent.stream)
    print("two", file=sent.stream)
    assert sent.blocks == [b"one\n", b"two\n"]


def test_thousands_of_lines_are_sent_in_few_blocks_and_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = Sent(monkeypatch)
    lines = [f"row {number} of many, and its loss" for number in range(200_000)]
    for line in lines:
        print(line, file=sent.stream)
    sent.stream.flush()
    sent.output.end_call()
    assert sent.text.splitlines() == lines
    assert len(sent.blocks) < len(lines) / 20


def test_the_next_call_is_sent_line_by_line_again(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = Sent(monkeypatch)
    print("x" * 100_000, file=sent.stream)
    sent.output.end_call()
    sent.blocks.clear()
    print("last words", file=sent.stream)
    assert sent.blocks == [b"last words\n"]
