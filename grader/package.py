"""The package itself: its version and its folder."""

from pathlib import Path
from typing import Final

__version__ = "0.1.0"  # the only place: pyproject.toml takes it from here
FOLDER: Final = Path(__file__).absolute().parent
