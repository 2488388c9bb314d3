"""The package itself: its version and its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Final

__version__: Final = "0.1.0"
FOLDER: Final = Path(__file__).absolute().parent
