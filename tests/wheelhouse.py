"""A folder of small wheels with the names and versions of the installed packages: what pip finds without a network."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

from grader.exports.package import pinned


def make_wheels(folder: Path) -> dict[str, str]:
    """Writes the wheels; returns the environment in which pip looks for packages there and nowhere else."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, version in pinned().items():
        label = f"{name.replace('-', '_')}-{version}"
        with zipfile.ZipFile(folder / f"{label}-py3-none-any.whl", "w") as wheel:
            about = f"{label}.dist-info"
            wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
            wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{about}/RECORD", "")
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": os.devnull}
