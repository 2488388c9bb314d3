"""How a further Python is started that runs this package, wherever the current folder is, and in which environment.

The variables of whoever starts the grader must not change a mark, so few of them are kept, before torch is imported.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from grader import machine

# Not `-m`: that would put the current folder, perhaps a submission with a torch.py in it, before everything else.
_START = (
    "import sys; sys.path[:] = [p for p in sys.path if p]; root = sys.argv.pop(1); "
    "root in sys.path or sys.path.insert(0, root); "
)
_KEPT: Final = (
    *("PATH", "HOME", "TMPDIR", "TEMP", "TMP", "LANG", "LC_ALL", "LC_CTYPE", "TZ"),  # places, names of files, the time
    *("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONNOUSERSITE"),  # which packages
    *("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"),
    *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"),  # which libraries
    *("CUDA_HOME", "CUDA_PATH", *machine.GPU_VARIABLES),
    *("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "NUMBER_OF_PROCESSORS"),  # of Windows
    *("USERPROFILE", "APPDATA", "LOCALAPPDATA"),
    "TORCHKATA_ENGINE",
)
"""The variables that a new Python gets as they are here."""


def command(statements: str, *arguments: str) -> list[str]:
    """The command line of a Python that runs some statements, with `arguments` in ``sys.argv``."""
    root = str(Path(__file__).resolve().parent.parent)
    return [sys.executable, "-c", _START + statements, root, *arguments]


def environment(hash_seed: int | str = 0) -> dict[str, str]:
    """The environment of a new Python that judges, or reads or runs submitted code.

    Args:
        hash_seed: decides the order of sets and the like.
    """
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    # NumPy's threads would turn for a while beside torch's import.
    return {**kept, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": str(hash_seed)}


def start(statements: str, *arguments: str, hash_seed: int | str = 0, **streams: Any) -> subprocess.Popen[bytes]:
    """Starts a Python that runs some statements. Ctrl-C reaches the process that starts it only; that one ends it.

    Args:
        streams: as of `subprocess.Popen`, with their buffers.
    """
    streams["creationflags"] = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)  # the same on Windows
    made_for = environment(hash_seed)
    return subprocess.Popen(command(statements, *arguments), env=made_for, start_new_session=True, **streams)
