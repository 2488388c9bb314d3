"""Small wheels with the names and versions of the installed packages: what pip and uv find without a network."""

from __future__ import annotations

import contextlib
import functools
import http.server
import os
import threading
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from grader.exports.package import pinned


def make_wheels(folder: Path) -> dict[str, str]:
    """Writes the wheels; returns the environment in which pip looks for packages there and nowhere else."""
    for name, version in pinned().items():
        make_wheel(folder, name, version)
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": os.devnull}


def make_wheel(folder: Path, name: str, version: str, files: Mapping[str, str] | None = None) -> Path:
    """Writes a wheel without dependencies, and with files if they are given; scripts are files of ``.data/scripts``."""
    folder.mkdir(parents=True, exist_ok=True)
    label = f"{name.replace('-', '_')}-{version}"
    path = folder / f"{label}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in (files or {}).items():
            entry = zipfile.ZipInfo(file)
            entry.external_attr = 0o100755 << 16
            wheel.writestr(entry, text)
        about = f"{label}.dist-info"
        wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    return path


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        pass


@contextlib.contextmanager
def served_index(folder: Path) -> Iterator[str]:
    """The address of a package index with a folder of wheels for each package, as the lists of files that pip reads."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()
