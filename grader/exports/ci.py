"""``grader ci``: a workflow that grades every push with exactly this version of the grader.

The workflow never runs a file of the repository and installs nothing from it: it passes the folder to the grader.
"""

from __future__ import annotations

import importlib.metadata
import re
import shlex
import textwrap
from importlib import resources

from grader import __version__
from grader.errors import UserError

_PYTHON = "3.12"
_TORCH_INDEX = "https://download.pytorch.org/whl/cpu"


def workflow(host: str, requirement: str | None = None, course_repository: str | None = None) -> str:
    """The text of the workflow file.

    Args:
        host: ``github`` or ``gitlab``.
        requirement: what pip installs, instead of this version of torchkata.
        course_repository: ``URL@COMMIT`` of a git repository with an instructor's own course.

    Raises:
        UserError: a value is unsafe in a workflow, or the repository is not given with a commit.
    """
    template = resources.files("grader.exports").joinpath("templates", f"{host}.yml").read_text(encoding="utf-8")
    pip = "grader/bin/python -m pip install --quiet --disable-pip-version-check"
    lines = [f"{pip} --index-url {_TORCH_INDEX} torch=={_torch()}"]
    lines.append(f"{pip} {_word(requirement or f'torchkata=={__version__}')} torch=={_torch()}")
    course = ""
    if course_repository is not None:
        lines += ["git init --quiet course", *_clone(course_repository)]
        course = " --course course"
        if host == "gitlab":
            lines.insert(0, "apt-get update -qq && apt-get install -qq -y --no-install-recommends git ca-certificates")
    indent = " " * (10 if host == "github" else 6)
    values = {"VERSION": __version__, "PYTHON": _PYTHON, "COURSE": course}
    values["INSTALL"] = textwrap.indent("\n".join(lines), indent)
    for name, value in values.items():
        template = template.replace(f"@{name}@", value)
    return template


def _clone(repository: str) -> list[str]:
    url, _, commit = repository.rpartition("@")
    if not url or not re.fullmatch(r"[0-9a-f]{40}", commit):
        raise UserError(
            f"{repository!r} does not name a commit", fix="write URL@COMMIT with the commit's 40 hexadecimal digits"
        )
    return [
        f"git -C course fetch --quiet --depth 1 -- {_word(url)} {commit}",
        "git -C course checkout --quiet FETCH_HEAD",
    ]


def _word(text: str) -> str:
    """The text quoted as one word of the shell.

    Raises:
        UserError: it could be read as an option, or as an expression of the CI system.
    """
    if re.search(r"[\x00-\x1f\x7f]|\$\{\{", text) or text.startswith("-"):
        raise UserError(f"{text!r} cannot be used in a workflow", fix="name a package or an address")
    return shlex.quote(text)


def _torch() -> str:
    """The installed version of torch without its build, such as ``+cpu``."""
    return importlib.metadata.version("torch").partition("+")[0]
