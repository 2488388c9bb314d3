"""Which packages another machine must install to grade as this one does: their versions and the hashes of their wheels.

torch comes from an index of its own, whose builds have no CUDA.
"""

import importlib.metadata
import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, Final

import msgspec

from grader.errors import UserError
from grader.package import FOLDER

TORCH_INDEX: Final = "https://download.pytorch.org/whl/cpu"
_PLATFORMS: Final = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64", "linux_x86_64")
"""What the wheels must fit: the machines of CI systems and of Gradescope."""
_SECONDS: Final = 120.0


class Requirements(msgspec.Struct, frozen=True):
    """The lines of two files for ``pip install -r``: torch, and everything else."""

    torch: tuple[str, ...]
    others: tuple[str, ...]


def filled(template: str, values: Mapping[str, str]) -> str:
    """A file for another machine: the template of that name, with a value for each ``@NAME@`` in it."""
    text = resources.files("grader.exports").joinpath("templates", template).read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def python_version() -> str:
    """The Python that the packages are for: this one's, such as ``3.11``."""
    return ".".join(platform.python_version_tuple()[:2])


def requirements(*, hashes: bool) -> Requirements:
    """The packages that the grader needs on this machine, directly or indirectly, with their versions.

    Args:
        hashes: whether each names the hash of its wheel; pip asks the package index for them.

    Raises:
        UserError: pip could not find one of the wheels.
    """
    versions = pinned()
    torch = {"torch": versions.pop("torch")}
    if not hashes:
        return Requirements(tuple(_lines(torch, {})), tuple(_lines(versions, {})))
    return Requirements(
        tuple(_lines(torch, _hashes(torch, "--index-url", TORCH_INDEX))), tuple(_lines(versions, _hashes(versions)))
    )


def pinned() -> dict[str, str]:
    """The versions of all packages that the grader needs on this machine, directly or indirectly, by name."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    found: dict[str, str] = {}
    waiting = [Requirement(text) for text in _required()]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        try:
            found[name] = importlib.metadata.version(name).partition("+")[0]
        except importlib.metadata.PackageNotFoundError:
            continue  # Not needed here: torch lists CUDA packages that its CPU build does not install.
        waiting += [Requirement(text) for text in importlib.metadata.requires(name) or ()]
    return found


def _required() -> list[str]:
    try:
        return importlib.metadata.requires("torchkata") or []
    except importlib.metadata.PackageNotFoundError:  # Run from a checkout.
        project = FOLDER.parent / "pyproject.toml"
        return list(msgspec.toml.decode(project.read_bytes())["project"]["dependencies"])


def _lines(versions: Mapping[str, str], hashes: Mapping[str, str]) -> list[str]:
    return [
        f"{name}=={version}" + (f" --hash=sha256:{hashes[name]}" if name in hashes else "")
        for name, version in sorted(versions.items())
    ]


def _hashes(versions: Mapping[str, str], *options: str) -> dict[str, str]:
    """SHA-256 (hex) of the wheel of each package, as the package index gives it.

    Raises:
        UserError: pip cannot say.
    """
    from packaging.utils import canonicalize_name

    found: dict[str, str] = {}
    for item in _pip_report(_lines(versions, {}), options)["install"]:
        name = canonicalize_name(item["metadata"]["name"])
        archive = item["download_info"]["archive_info"]
        # pip 23.0 and older report the older form alone, "sha256=...".
        found[name] = archive["hashes"]["sha256"] if "hashes" in archive else archive["hash"].removeprefix("sha256=")
    return found


def _pip_report(lines: Sequence[str], options: Sequence[str]) -> Any:
    """What pip would install, as its installation report says."""
    with tempfile.TemporaryDirectory() as nowhere:
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--disable-pip-version-check"]
        command += ["--no-deps", "--ignore-installed", "--only-binary=:all:", "--target", nowhere, "--report", "-"]
        command += ["--python-version", python_version(), "--implementation", "cp"]
        command += [f"--platform={name}" for name in _PLATFORMS]
        try:
            ended = subprocess.run(
                [*command, *options, *lines], capture_output=True, text=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired as problem:
            raise _cannot("no answer in two minutes") from problem
    if ended.returncode:
        errors = [line.removeprefix("ERROR: ") for line in ended.stderr.splitlines() if line.startswith("ERROR: ")]
        raise _cannot((errors or ["pip failed"])[0])
    return json.loads(ended.stdout)


def _cannot(reason: str) -> UserError:
    return UserError(
        f"the hashes of the packages are not known: {reason}",
        fix="try again where the package index can be reached, or leave them out: --no-hashes",
    )
