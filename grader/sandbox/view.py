"""Which files submitted code may see: the system's libraries, Python and its packages, and nothing hidden.

A mount namespace shows them; Landlock allows them once more, by another part of the kernel. Must never offer a home
folder, the project, or a folder of `sys.path` that is not a package folder.
"""

import ctypes
import os
import stat
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from grader import machine
from grader.sandbox import kernel

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/sys/devices/system")
_ETC = (
    *("alternatives", "group", "host.conf", "hosts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime"),
    *("mime.types", "nsswitch.conf", "os-release", "passwd", "protocols", "services", "timezone"),
)
_DEVICES = ("/dev/null", "/dev/full", "/dev/random", "/dev/urandom")  # not /dev/zero: it gives shared memory
NETWORK_CARDS = Path("/sys/class/net")
"""The cards of the machine; a real GPU needs other folders beside it."""
_PROC_FILES = ("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime")
_PACKAGE_FOLDERS = ("site-packages", "dist-packages")

# The rights of Landlock, and the version that the later ones came with.
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_FIRST_VERSION, _LATER = (1 << 13) - 1, ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV))
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_DEVICE = _READ_FILE | _WRITE_FILE | _IOCTL_DEV
_WRITE = (_FIRST_VERSION | _REFER | _TRUNCATE) & ~(1 << 6 | 1 << 11)  # all but making devices
_OF_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_SCOPES, _RULE_PATH_BENEATH = 0b11, 1  # abstract Unix sockets and signals stay within the sandbox


class View(msgspec.Struct, frozen=True):
    """The readable and the hidden paths, absolute and without symlinks.

    `readable` and `hidden` may lie within each other; the innermost path counts.
    A path in both is hidden. `links` are the symbolic links on the way to them, such as /bin -> usr/bin, which a new
    root needs too: path -> target.
    """

    readable: tuple[str, ...]
    hidden: tuple[str, ...]
    links: dict[str, str]

    def layers(self) -> list[tuple[str, bool]]:
        """Pairs (path, whether it is readable), outer folders first: the order in which they are mounted."""
        covers = [h for h in self.hidden if any(_within(h, r) for r in self.readable)]
        entries = [(r, True) for r in self.readable if r not in self.hidden] + [(h, False) for h in covers]
        return sorted(entries, key=lambda entry: (entry[0].count("/"), entry[0]))

    def rules(self, work: str, *, own_root: bool, own_proc: bool, gpus: bool) -> Iterator[tuple[str, int]]:
        """Landlock's rules: read all that is shown, write the work folder and, in a root of our own, /dev/shm.

        With GPUs, a /proc of its own may be written to, as far as the user id allows: CUDA does not start unless it can
        name its threads there.

        They can allow but not forbid. So a folder with a hidden path in it is not allowed as a whole: each of its other
        entries is.
        """
        waiting = [*self.readable]
        while waiting:
            path = waiting.pop()
            if path in self.hidden:
                continue
            is_whole = not any(_within(h, path) for h in self.hidden)
            access = _DEVICE if path.startswith("/dev/") else _READ
            yield path, access if is_whole else _READ_DIR
            if not is_whole and os.access(path, os.R_OK | os.X_OK):
                with os.scandir(path) as entries:
                    waiting += [entry.path for entry in entries if not entry.is_symlink()]
        yield work, _WRITE
        if own_root:
            yield "/dev/shm", _WRITE & ~_EXECUTE
        else:  # gloo lists devices: it goes on if there is no such folder, and not if it may not read one
            yield from ((path, _READ) for path in machine.DEVICE_FOLDERS)
        for path in ("/proc",) if own_proc else _PROC_FILES:
            yield path, _READ | (_WRITE_FILE | _TRUNCATE if gpus and own_proc else 0)


def python_view(*, hidden: Sequence[Path], readable: Sequence[Path]) -> View:
    """The view that lets this interpreter import its standard library and the installed packages."""
    hide = {os.path.realpath(path) for path in hidden}
    folders = [path for path in sys.path if os.path.basename(os.path.normpath(path)) in _PACKAGE_FOLDERS]
    chosen = {os.path.realpath(path) for path in (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)}
    chosen -= {"/", os.path.realpath(os.path.expanduser("~"))}
    chosen |= {os.path.realpath(path) for path in (*(f"/etc/{name}" for name in _ETC), *folders, *map(str, readable))}
    chosen |= {path for path in (*_SYSTEM, *_DEVICES) if not os.path.islink(path)}
    chosen = {path for path in chosen if os.path.exists(path)}

    def is_covered(path: str, by: str) -> bool:
        return path != by and _within(path, by) and not any(_within(path, h) and _within(h, by) for h in hide)

    outer = (path for path in chosen if not any(is_covered(path, other) for other in chosen))
    return View(readable=tuple(sorted(outer)), hidden=tuple(sorted(hide)), links=_links())


def _links() -> dict[str, str]:
    names = [p for p in _SYSTEM if p.count("/") == 1] + [f"/etc/{name}" for name in _ETC]
    found: dict[str, str] = {}
    for start in [*names, sys.prefix, sys.base_prefix, *(p for p in sys.path if os.path.isabs(p))]:
        path = os.path.normpath(start)
        while link := next((p for p in _on_the_way(path) if os.path.islink(p) and p not in found), None):
            found[link] = os.path.realpath(link)
            path = found[link] + path[len(link) :]
    return found


def closed_to_others(paths: Iterable[str]) -> str | None:
    """The first folder on the way to `paths` that another user cannot pass, None when all are open."""
    for folder in (folder for path in sorted(paths) for folder in _on_the_way(path)):
        mode = os.stat(folder).st_mode
        if stat.S_ISDIR(mode) and not mode & stat.S_IXOTH:
            return folder
    return None


def _on_the_way(path: str) -> list[str]:
    return [*(str(parent) for parent in reversed(Path(path).parents)), path]


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def build_ruleset(rules: Iterable[tuple[str, int]]) -> int:
    """Makes a ruleset of Landlock from (path, access rights there and below); `enter_ruleset` uses it.

    Returns:
        Its descriptor.

    Raises:
        OSError: this kernel has no Landlock, or it is turned off.
    """
    abi = kernel.syscall("landlock_create_ruleset", 0, 0, 1)
    handled = _FIRST_VERSION | sum(right for since, right in _LATER if abi >= since)
    words = (ctypes.c_uint64 * 3)(handled, 0, _SCOPES if abi >= 6 else 0)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    ruleset = kernel.syscall("landlock_create_ruleset", ctypes.byref(words), size, 0)
    for path, access in rules:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except (FileNotFoundError, PermissionError, NotADirectoryError):
            continue
        try:
            if not stat.S_ISDIR(os.fstat(fd).st_mode):
                access &= _OF_A_FILE
            rule = struct.pack("=Qi", access & handled, fd)
            kernel.syscall("landlock_add_rule", ruleset, _RULE_PATH_BENEATH, rule, 0)
        finally:
            os.close(fd)
    return ruleset


def enter_ruleset(ruleset: int) -> None:
    """Confines this process, and what it forks, to a ruleset, which it closes. Needs no_new_privs.

    Raises:
        OSError: the kernel refused; nothing is confined then.
    """
    kernel.syscall("landlock_restrict_self", ruleset, 0)
    os.close(ruleset)
