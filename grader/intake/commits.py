"""The time of the last commit in a student's clone. Git reads the student's objects, never the student's settings."""

import datetime
import os
import re
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import msgspec

from grader.intake.archive import read_file
from grader.intake.submission import FILE_TIME, LAST_COMMIT, Arrival

_BRANCH: Final = re.compile(rb"ref: (refs/heads/(?:[\w-][\w.-]*/)*[\w-][\w.-]*)\s*")
_ID: Final = re.compile(rb"[0-9a-f]{40}\s*")
_COMMITTED: Final = re.compile(rb"^committer .*> (\d{1,11}) [+-]\d{4}$", re.MULTILINE)
_MOST_BYTES: Final = 1 << 20
_SECONDS: Final = 10.0


def with_commit_time(arrival: Arrival, folder: Path) -> Arrival:
    """The arrival, with the time of the last commit if the folder is a clone and only its files have a time."""
    if arrival.submitted and arrival.by != FILE_TIME:
        return arrival
    time = _last_commit(folder / ".git")
    return msgspec.structs.replace(arrival, submitted=time, by=LAST_COMMIT) if time else arrival


def _last_commit(repository: Path) -> str:
    """The ISO time of the commit that is checked out; empty if it cannot be read, or git is not installed."""
    commit, git = _checked_out(repository), shutil.which("git")
    if not commit or git is None or not _is_plain(repository / "objects"):
        return ""
    # Asked from a repository without settings: in the student's, they name programs that git would run.
    with tempfile.TemporaryDirectory(prefix="torchkata-") as own:
        for name in ("objects", "refs"):
            Path(own, name).mkdir()
        Path(own, "HEAD").write_text("ref: refs/heads/main\n")
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_DIR": own,
            "GIT_OBJECT_DIRECTORY": str(repository.absolute() / "objects"),
        }
        command = [git, "cat-file", "commit", commit]
        try:
            shown = subprocess.run(
                command, env=environment, cwd=own, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
    found = _COMMITTED.search(shown.stdout.partition(b"\n\n")[0])
    try:
        return datetime.datetime.fromtimestamp(int(found[1])).astimezone().isoformat() if found else ""
    except (ValueError, OverflowError, OSError):
        return ""


def _is_plain(objects: Path) -> bool:
    """Whether there are only folders and files, and no other place is named: git would wait at a named pipe."""
    inside = (os.path.join(at, name) for at, folders, files in os.walk(objects) for name in (*folders, *files))
    try:
        kinds = {stat.S_IFMT(os.lstat(one).st_mode) for one in (str(objects), *inside)}
    except OSError:
        return False
    return kinds <= {stat.S_IFDIR, stat.S_IFREG} and not (objects / "info" / "alternates").exists()


def _checked_out(repository: Path) -> str:
    """The id of the commit that is checked out; empty if it is not known."""
    if repository.is_symlink():
        return ""
    head = _content(repository / "HEAD")
    branch = _BRANCH.fullmatch(head)
    if branch:
        name = branch[1].decode()
        packed = re.search(rb"^([0-9a-f]{40}) %s$" % re.escape(branch[1]), _content(repository / "packed-refs"), re.M)
        head = _content(repository / name) or (packed[1] if packed else b"")
    return head.decode().strip() if _ID.fullmatch(head) else ""


def _content(file: Path) -> bytes:
    content = read_file(file)(_MOST_BYTES)
    return content if isinstance(content, bytes) else b""
