"""``grader debug``: the checks of one exercise under plain pytest, in one process, so that a debugger can stop there.

There is no sandbox and no time limit: only for one's own code. Importing it imports nothing slow.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from grader import new_python
from grader.cli.arguments import complete_name, course_path, one_exercise, split_targets
from grader.cli.options import CourseOption


def add_to(app: typer.Typer) -> None:
    """Adds the command to a command line."""
    app.command(epilog="\b\nExamples:\n  grader debug tensor_ops.gram\n  grader debug gram --check rows_dotted")(debug)


def debug(
    name: Annotated[str, typer.Argument(metavar="EXERCISE", autocompletion=complete_name)],
    check: Annotated[
        str | None, typer.Option("--check", metavar="WORDS", help="Only checks with these words in their name.")
    ] = None,
    submission: Annotated[
        Path | None, typer.Option("--submission", metavar="DIR", help="Folder with the work.  [default: here]")
    ] = None,
    course: CourseOption = None,
) -> int:
    """Run an exercise's checks where `breakpoint()` and prints work: no sandbox, no time limit."""
    from grader.course import Course, checks_of

    path = course_path(course, [submission] if submission else [])
    loaded = Course.load(path)
    folder, _ = split_targets((), submission, [topic.name for topic in loaded.modules])
    exercise = one_exercise(loaded, name, "debug")
    topic = exercise.partition(".")[0]
    file = loaded.check_file(topic)
    wanted = [f"{file}::{one.function}" for one in checks_of(loaded, topic) if one.exercise == exercise]
    options = ["-c", os.devnull, "--rootdir", str(folder.resolve()), "-p", "no:cacheprovider", "-s", "-x", "-q"]
    options += ["--tb=short", "--submission", str(folder), *(["-k", check] if check else [])]
    options += [] if path is None else ["--course", str(loaded.root)]
    environment = {**os.environ, "PYTEST_ADDOPTS": "", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        new_python.command("import pytest; sys.exit(pytest.main(sys.argv[1:]))", *options, *wanted),
        env=environment,
        check=False,
    )
    return min(done.returncode, 1)
