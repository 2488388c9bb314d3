"""Which files submitted code may see: the system's libraries, Python and its packages, and nothing hidden.

Must never offer a home folder, the project, or a folder of `sys.path` that is not a package folder.
"""

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/sys/bus", "/sys/class", "/sys/devices")
_ETC = (
    *("alternatives", "group", "host.conf", "hosts", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime"),
    *("mime.types", "nsswitch.conf", "os-release", "passwd", "protocols", "services", "timezone"),
)
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_PACKAGE_FOLDERS = ("site-packages", "dist-packages")


class View(msgspec.Struct, frozen=True):
    """The readable and the hidden paths, absolute and without symlinks.

    `readable` and `hidden` may lie within each other; the innermost path counts.
    A path in both is hidden.
    """

    readable: tuple[str, ...]
    hidden: tuple[str, ...]

    def layers(self) -> list[tuple[str, bool]]:
        """Pairs (path, whether it is readable), outer folders first: the order in which they are mounted."""
        covers = [h for h in self.hidden if any(_within(h, r) for r in self.readable)]
        entries = [(r, True) for r in self.readable if r not in self.hidden] + [(h, False) for h in covers]
        return sorted(entries, key=lambda entry: (entry[0].count("/"), entry[0]))

    def rules(self) -> Iterator[tuple[str, bool]]:
        """Pairs (path, whether all that is in it can be read; else it can be listed only).

        An access list can allow but not forbid. So a folder with a hidden path in it is not allowed as a whole: each of
        its other entries is.
        """
        waiting = [*self.readable]
        while waiting:
            path = waiting.pop()
            if path in self.hidden:
                continue
            is_whole = not any(_within(h, path) for h in self.hidden)
            yield path, is_whole
            if not is_whole and os.access(path, os.R_OK | os.X_OK):
                with os.scandir(path) as entries:
                    waiting += [entry.path for entry in entries if not entry.is_symlink()]


def python_view(*, hidden: Sequence[Path], readable: Sequence[Path]) -> View:
    """The view that lets this interpreter import its standard library and the installed packages."""
    hide = {os.path.realpath(path) for path in hidden}
    folders = [path for path in sys.path if os.path.basename(os.path.normpath(path)) in _PACKAGE_FOLDERS]
    chosen = {os.path.realpath(path) for path in (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)}
    chosen -= {"/", os.path.realpath(os.path.expanduser("~"))}
    chosen |= {os.path.realpath(path) for path in (*(f"/etc/{name}" for name in _ETC), *folders, *map(str, readable))}
    chosen |= {path for path in _SYSTEM if os.path.isdir(path) and not os.path.islink(path)}
    chosen = {path for path in chosen if os.path.exists(path)}

    def is_covered(path: str, by: str) -> bool:
        return path != by and _within(path, by) and not any(_within(path, h) and _within(h, by) for h in hide)

    outer = (path for path in chosen if not any(is_covered(path, other) for other in chosen))
    return View(readable=tuple(sorted(outer)), hidden=tuple(sorted(hide)))


def links() -> dict[str, str]:
    """Symbolic links on the way to the shown folders, such as /bin -> usr/bin, which a new root needs too."""
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
    for path in sorted(paths):
        for folder in _on_the_way(path):
            mode = os.stat(folder).st_mode
            if stat.S_ISDIR(mode) and not mode & stat.S_IXOTH:
                return folder
    return None


def _on_the_way(path: str) -> list[str]:
    return [*(str(parent) for parent in reversed(Path(path).parents)), path]


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
