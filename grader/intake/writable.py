"""Which files of a submission can be written into the work folder of its processes, and why another cannot.

Names that no file can have, a file and a folder of one name, and more than there is room for. The file of a topic
always comes first: it is never left out in favour of others.
"""

from collections.abc import Collection, Mapping
from typing import Final

MOST_BYTES: Final = 8 << 20
"""All files together; the work folder has room for as much again that the submission writes (bytes)."""
MOST_ENTRIES: Final = 2_000
"""All files and folders together."""
_MOST_NAME: Final = 255
_MOST_PATH: Final = 1_000


def writable(
    files: Mapping[str, bytes], own: Collection[str], most_bytes: int = MOST_BYTES
) -> tuple[dict[str, bytes], dict[str, str]]:
    """The files that can be written, the topics' own first, and of each other one why it cannot, by path.

    Args:
        own: files of topics, for which there is always room.
        most_bytes: of all files together.
    """
    found: dict[str, bytes] = {}
    folders: set[str] = set()
    left_out: dict[str, str] = {}
    size = 0
    for path in sorted(files, key=lambda path: (path not in own, path)):
        above = _folders_of(path)
        size_with = size + len(files[path])
        if reason := _why_no_name(path):
            left_out[path] = reason
        elif path in folders or not above.isdisjoint(found):
            left_out[path] = "there is a file and a folder of that name: left out"
        elif path not in own and size_with > most_bytes:
            left_out[path] = f"more than {most_bytes >> 10:,} KiB of Python files: left out"
        elif path not in own and len(found) + len(folders | above) >= MOST_ENTRIES:
            left_out[path] = f"more than {MOST_ENTRIES:,} Python files and folders: left out"
        else:
            found[path] = files[path]
            folders |= above
            size = size_with
    return found, left_out


def _folders_of(path: str) -> set[str]:
    parts = path.split("/")
    return {"/".join(parts[:length]) for length in range(1, len(parts))}


def _why_no_name(path: str) -> str:
    try:
        encoded = path.encode()
    except UnicodeEncodeError:
        return "its name is no text: left out"
    parts = encoded.split(b"/")
    if b"\0" in encoded or not {b"", b".", b".."}.isdisjoint(parts):
        return "no file can have that name: left out"
    if max(map(len, parts)) > _MOST_NAME:
        return f"its name has more than {_MOST_NAME} bytes: left out; give it a shorter one"
    return "its path is too long: left out" if len(encoded) > _MOST_PATH else ""
