"""Finds the line of an endless loop, not the line that the process was in when its time was up.

That line differs from run to run, the loop does not. Reads the source as text only: submitted code must not run here,
and parsing deeply nested code could crash the judge.
"""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from grader.results import Frame

MOST_LINES = 3000
"""How many lines above a line its loop is looked for."""
_HEAD = re.compile(rb"^([ \t]*)(?:async[ \t]+)?(while|for|def|class)\b")


def endless_loop(frames: Sequence[Frame], source: bytes) -> Frame | None:
    """The most likely loop round the lines that a process was in; the innermost of these lines if there is no loop.

    A ``while`` is likelier than a ``for``. Of several, the outermost ``while`` is taken, which the process is in each
    time, but the innermost ``for``.

    Args:
        frames: lines of one file, innermost first.
        source: that file.
    """
    lines = source.splitlines()
    loops = [(frame, *loop) for frame in frames if (loop := _loop(lines, frame.line))]
    for kind in (b"while", b"for"):
        of_kind = [(frame, line) for frame, keyword, line in loops if keyword == kind]
        if of_kind:
            frame, line = of_kind[-1 if kind == b"while" else 0]
            return _with_text(lines, Frame(frame.file, line, frame.function))
    return _with_text(lines, frames[0]) if frames else None


def _with_text(lines: Sequence[bytes], frame: Frame) -> Frame:
    text = lines[frame.line - 1] if 0 < frame.line <= len(lines) else b""
    return replace(frame, text=text.strip()[:200].decode("utf-8", "replace"))


def _loop(lines: Sequence[bytes], number: int) -> tuple[bytes, int] | None:
    """Keyword and line of a loop round the line: its function's outermost ``while``, else its outermost ``for``."""
    if not 0 < number <= len(lines):
        return None
    found: dict[bytes, int] = {}
    depth = _indent(lines[number - 1]) + 1
    for index in range(number, max(number - MOST_LINES, 0), -1):
        line = lines[index - 1]
        if not line.strip() or line.lstrip().startswith(b"#") or _indent(line) >= depth:
            continue
        depth = _indent(line)
        head = _HEAD.match(line)
        if head and head[2] in (b"def", b"class"):
            break
        if head:
            found[head[2]] = index
    return next(((kind, found[kind]) for kind in (b"while", b"for") if kind in found), None)


def _indent(line: bytes) -> int:
    expanded = line.expandtabs()
    return len(expanded) - len(expanded.lstrip())
