"""The command ``grader``: its options, its exit codes, and how errors are printed.

The subcommands are in one module for each kind of user. Importing this module never imports torch, pytest,
hypothesis or rich.
"""

import contextlib
import os
import platform
import shutil
import sys
import traceback
from collections.abc import Iterator
from typing import Annotated, Any, NoReturn

import typer

from grader import machine
from grader.cli import author, instructor, marking, student, working  # noqa: F401 - adds them
from grader.cli.command_line import app, print_lines
from grader.course import Course
from grader.course.home import Home
from grader.errors import UserError
from grader.package import __version__
from grader.reports.where import where_lines
from grader.text import clean, counted

_INTERRUPTED = 130
"""The exit code that typer returns for Ctrl-C."""
_PACKAGES = ("torchkata", "torch", "pytest", "hypothesis", "msgspec", "typer", "rich")
"""Packages whose versions `grader doctor` shows."""
_FIRST_LINES = (
    "PyTorch exercises that are checked in seconds.",
    "  grader init kata   start a folder to work in",
    "  grader help        all commands, for instructors and authors too",
)


@app.callback(
    invoke_without_command=True,
    epilog="\b\nExamples:\n  grader init my-work\n  grader check tensor_ops\n  grader grade submissions/\n"
    "\n\b\nExit codes: 0 all passed, 1 some failed, 2 interrupted (Ctrl-C),\n3 a fault of the grader, 4 usage.",
)
def grader(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    """PyTorch exercises, and a grader that never lets submitted code decide its own verdict."""
    if version:
        typer.echo(f"torchkata {__version__}")
    elif context.invoked_subcommand is None:
        _show_where()


@app.command("help")
def show_help(
    context: typer.Context, name: Annotated[str, typer.Argument(metavar="COMMAND", show_default=False)] = ""
) -> None:
    """Show all commands, or the options of one.

    Examples:
      grader help
      grader help check
    """
    whole = context.parent
    assert whole is not None, "a command has the command line above it"
    if not name:
        typer.echo(whole.get_help())
        return
    group: Any = whole.command
    command = group.get_command(whole, name)
    if command is None:
        raise UserError(f"there is no command `{name}`", fix="all of them: grader help")
    typer.echo(command.get_help(typer.Context(command, info_name=name, parent=whole)))


def _show_where() -> None:
    """Shows a student's progress, if this is a folder that `grader init` made; else how to begin."""
    home = Home.find()
    if home is None:
        print_lines(_FIRST_LINES)
        return
    width = shutil.get_terminal_size().columns
    course = Course.load(home.course, complete=False)
    here = course.part_of(home.origin.assignments)
    others = [one for one in course.assignments if one not in here.assignments]
    print_lines(where_lines(here, home.folder, home.progress(), width, others))


@app.command()
def doctor() -> None:
    """Show what this machine offers: versions, cores, memory, layers of the sandbox.

    Example:
      grader doctor
    """
    print_lines(_doctor_lines())


def _doctor_lines() -> Iterator[str]:
    from grader.sandbox.limits import Limits
    from grader.sandbox.sandbox import probe_layers
    from grader.student import engine

    found = machine.versions(_PACKAGES)
    yield f"python      {found['python']} ({sys.executable})"
    yield from (f"{name:<11} {found.get(name, 'not installed')}" for name in _PACKAGES)
    yield f"system      {platform.platform()}"
    yield f"cores       {machine.cores()}"
    if memory := machine.memory_bytes():
        workers = min(machine.workers_in_memory(), machine.cores())
        usable, asked = machine.affordable(Limits().memory_bytes), Limits().memory_bytes
        each = f", each with {usable / 2**30:.1f} GiB at most" if usable < asked else ""
        yield f"memory      {memory / 2**30:.1f} GiB, enough for {counted(workers, 'submission')} at a time{each}"
    reason = machine.why_no_gpu()
    count = sum(path.name.removeprefix("nvidia").isdigit() for path in machine.gpu_files())
    real = f"real ones ({count}) where enough, else simulated" if reason is None else f"simulated ({reason})"
    yield f"devices     --devices auto means {real}"
    choice = engine.choose()
    yield f"engine      {choice.engine} student processes: {choice.why}"
    layers = probe_layers() if choice.engine == "forked" else {}
    yield ""
    if not layers:
        yield "sandbox     none: submissions run in processes of their own, but can read and change your files"
        return
    missing = sum(reason is not None for reason in layers.values())
    yield "sandbox     " + (f"{missing} of {len(layers)} layers are missing" if missing else "all layers are active")
    for layer, reason in layers.items():
        yield f"  {'yes' if reason is None else 'NO ':<4} {layer:<16} {reason or ''}".rstrip()
    if missing:
        yield "Work of people you do not know is best graded where all layers are active."


def main(arguments: list[str] | None = None) -> NoReturn:
    """Runs the command line and exits with its code."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.exit(_run(sys.argv[1:] if arguments is None else arguments))


def _run(arguments: list[str]) -> int:
    command = typer.main.get_command(app)
    try:
        code = command.main(arguments, prog_name="grader", standalone_mode=False)
        sys.stdout.flush()
        if code == _INTERRUPTED:
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except UserError as error:
        _print_error(str(error), error.fix)
        return 4
    except PermissionError as error:
        what = f"{error.filename or 'a file'} cannot be used ({error.strerror})"
        _print_error(what, "choose another place, or ask whose it is")
        return 4
    except (KeyboardInterrupt, typer.Abort):
        _print_error("interrupted")
        return 2
    except BrokenPipeError:  # The reader of our output has ended, for example `head`: print no more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        # Usage errors: not every version of typer has their class in its public part.
        format_message = getattr(error, "format_message", None)
        if format_message is None:
            traceback.print_exc()
            _print_error("a fault of the grader's own, see above; please report it")
            return 3
        context = getattr(error, "ctx", None)
        _print_error(str(format_message()), f"see: {context.command_path if context else 'grader'} --help")
        return 4


def _print_error(message: str, fix: str | None = None) -> None:
    """Prints an error, and below it the fix."""
    print(f"error: {clean(message)}" + (f"\n  {clean(fix)}" if fix else ""), file=sys.stderr)
