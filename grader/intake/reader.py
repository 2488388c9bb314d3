"""Reads submissions in a process of its own, with limits.

Parsers and unpackers have inputs that cost them minutes or gigabytes. Those end this process: the submission counts as
one that could not be read, and the class goes on. No submitted code runs here.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import pickle
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Final

import msgspec

from grader import new_python
from grader.border import frames
from grader.intake.archive import read_file
from grader.intake.assemble import assemble
from grader.intake.bag import Bag
from grader.intake.several import SeveralSources
from grader.intake.sources import PathSource, Source
from grader.intake.submission import FILE_TIME, LAST_COMMIT, Submission, Unreadable
from grader.text import counted, one_line

# How long a reply may take on a system that does not limit processor time.
_WAIT_SECONDS: Final = 600.0
_BRANCH: Final = re.compile(rb"ref: (refs/heads/(?:[\w-][\w.-]*/)*[\w-][\w.-]*)\s*")
_ID: Final = re.compile(rb"[0-9a-f]{40}\s*")
_COMMITTED: Final = re.compile(rb"^committer .*> (\d{1,11}) [+-]\d{4}$", re.MULTILINE)
_MOST_BYTES: Final = 1 << 20
_MOST_MESSAGE: Final = 256 << 20
_GIT_SECONDS: Final = 10.0
# The exit code of the process if it has used up its memory.
_OUT_OF_MEMORY: Final = 3
# The submission, or None and the fault of the grader's own that kept it from being read.
_ReadReply = tuple[Submission | None, str]


class Reader:
    """Reads one submission after the other; use it in a ``with`` statement. A process that has ended is replaced.

    Args:
        seconds: of processor time for one submission.
        memory: of the process (bytes); Windows and macOS do not limit it.
    """

    def __init__(self, seconds: int = 20, memory: int = 1 << 30) -> None:
        self._seconds = seconds
        self._memory = memory
        self._process: subprocess.Popen[bytes] | None = None
        self._is_ready = False

    def __enter__(self) -> Reader:
        self._start()  # now, so that it imports its modules while the caller does something else
        return self

    def __exit__(self, *problem: object) -> None:
        if self._process is not None:
            self._process.kill()  # it may be busy with a submission that nobody waits for any more
        self._end()

    def read(self, source: Source) -> Submission | Unreadable:
        """The submission, read now; never raises because of an upload.

        Raises:
            OSError: the process cannot be started.
        """
        process = self._process or self._start()
        assert process.stdin is not None and process.stdout is not None
        if not self._is_ready and frames.receive(process.stdout.read) is None:
            raise OSError(f"the process that reads submissions has not started: exit code {self._end()}")
        self._is_ready = True
        too_late = threading.Timer(_WAIT_SECONDS, process.kill)
        if os.name == "nt":  # Elsewhere the process ends itself, and a thread for each takes longer than reading.
            too_late.start()
        try:
            frames.write(process.stdin, pickle.dumps(source))
            reply = frames.receive(process.stdout.read, _MOST_MESSAGE)
        except (OSError, frames.BrokenFrame):
            reply = None
        finally:
            too_late.cancel()
        if reply is not None:
            submission, fault = msgspec.msgpack.decode(reply, type=_ReadReply)
            return submission or Unreadable(source.name, fault)
        code = self._end()
        limit = f"{self._memory >> 20:,} MiB of memory" if code == _OUT_OF_MEMORY else "its process could bear"
        if code == -getattr(signal, "SIGXCPU", 0):
            limit = f"{counted(self._seconds, 'second')} of processor time"
        bag = Bag(source.topics)
        bag.note("./", f"reading it took more than {limit}: nothing was read")
        return assemble(source.name, bag, source.arrival)

    def _start(self) -> subprocess.Popen[bytes]:
        self._is_ready = False
        limits = str(self._seconds), str(self._memory)
        program = "from grader.intake.reader import main; main()"
        self._process = new_python.start(program, *limits, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self._process

    def _end(self) -> int:
        """Ends the process, if there is one; its exit code."""
        process, self._process = self._process, None
        if process is None:
            return 0
        assert process.stdin is not None and process.stdout is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        code = process.wait()
        process.stdout.close()
        return code


def main() -> None:
    """Answers each source on standard input with its submission on standard output."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing but replies is written there
    seconds, memory = map(int, sys.argv[1:3])
    frames.write(replies, b"ready")
    while (request := frames.receive(sys.stdin.buffer.read, _MOST_MESSAGE)) is not None:
        _set_limits(seconds, memory)
        try:
            # Safe: it comes from the main process. The content of a submission only goes the other way, as msgpack.
            source: Source = pickle.loads(request)
            reply = msgspec.msgpack.encode(_read(source))
        except MemoryError:
            os._exit(_OUT_OF_MEMORY)
        frames.write(replies, reply)


def _read(source: Source) -> _ReadReply:
    try:
        if isinstance(source, SeveralSources):
            return source.combined([_with_commit(part) for part in source.parts]), ""
        return _with_commit(source), ""
    except MemoryError:
        raise
    except Exception as problem:
        return None, one_line(" ".join(f"{type(problem).__name__}: {problem}".split()))


def _with_commit(source: Source) -> Submission:
    """The submission, with the time of the last commit if it is a clone and only its files have a time."""
    submission = source.read()
    arrival = submission.arrival
    if not isinstance(source, PathSource) or (arrival.submitted and arrival.by != FILE_TIME):
        return submission
    time = _last_commit(source.path / ".git")
    if time:
        arrival = msgspec.structs.replace(arrival, submitted=time, by=LAST_COMMIT)
    return msgspec.structs.replace(submission, arrival=arrival)


def _set_limits(seconds: int, memory: int) -> None:
    """Gives the next submission its processor time and its memory."""
    with contextlib.suppress(ImportError, ValueError, OSError):  # Windows has no such limits, macOS not that of memory
        import resource

        until = int(time.process_time()) + 1 + seconds
        resource.setrlimit(resource.RLIMIT_CPU, (until, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


# ---------------------------------------------------------------- the time of the last commit


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
                command, env=environment, cwd=own, stdin=subprocess.DEVNULL, capture_output=True, timeout=_GIT_SECONDS
            )
            found = _COMMITTED.search(shown.stdout.partition(b"\n\n")[0])
            return datetime.datetime.fromtimestamp(int(found[1])).astimezone().isoformat() if found else ""
        except (OSError, subprocess.TimeoutExpired, ValueError, OverflowError):
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
