"""How many calls of torch an answer makes in the example of its docstring, for a student who compares two answers.

It runs in a new Python without a sandbox, as `grader debug` does: for a student's own work on their own machine only.
Two answers never run in one process.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from grader import new_python
from grader.course import Course, Exercise
from grader.judge.docstrings import written_examples

_SECONDS: Final = 60
_PROGRAM: Final = "from grader.testkit.torch_calls import main; main()"


def torch_calls(course: Course, exercise: Exercise, files: Mapping[str, bytes]) -> int | None:
    """The number of calls; None if the docstring has no example to run, or it does not run with these files."""
    examples = written_examples(course, exercise)
    if not examples:
        return None
    with tempfile.TemporaryDirectory(prefix="grader-calls-") as folder:
        for name, content in files.items():
            if name.endswith(".py") and "/" not in name:
                Path(folder, name).write_bytes(content)
        total = 0
        for one in examples:
            sources = [statement.source for statement in one.statements]
            given: dict[str, object] = {"folder": folder, "topic": exercise.topic, "sources": sources}
            given |= {"imports": one.imports, "names": one.names, "gpus": one.gpus}
            try:
                ended = subprocess.run(
                    new_python.command(_PROGRAM),
                    input=json.dumps(given),
                    capture_output=True,
                    text=True,
                    env=new_python.environment(),
                    cwd=folder,
                    timeout=_SECONDS,
                    check=False,
                )
                total += int(ended.stdout)
            except (subprocess.TimeoutExpired, ValueError):
                return None
    return total
