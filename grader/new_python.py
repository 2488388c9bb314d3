"""How a further Python is started that runs this package, wherever the current folder is."""

import sys
from pathlib import Path

# Not `-m`: that would put the current folder, perhaps a submission with a torch.py in it, before everything else.
_START = (
    "import sys; sys.path[:] = [p for p in sys.path if p]; root = sys.argv.pop(1); "
    "root in sys.path or sys.path.insert(0, root); "
)


def command(statements: str, *arguments: str) -> list[str]:
    """The command line of a Python that runs some statements, with `arguments` in ``sys.argv``."""
    root = str(Path(__file__).resolve().parent.parent)
    return [sys.executable, "-c", _START + statements, root, *arguments]
