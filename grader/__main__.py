"""``python -m grader``: the same as the command ``grader``.

Never leaves the current folder (perhaps a submission with a ``rich.py`` in it) on the import path.
"""

import gc
import os
import sys

try:
    _here = os.getcwd()
except FileNotFoundError:
    sys.stderr.write("error: the current folder is not there any more\n  go to another one: cd DIR\n")
    sys.exit(4)
_root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if sys.path and sys.path[0] in ("", _here) and os.path.realpath(_here) != os.path.realpath(_root):
    del sys.path[0]

gc.disable()  # while modules are imported, which stay
from grader.cli.app import main  # noqa: E402

gc.freeze()
gc.enable()

if __name__ == "__main__":
    main()
