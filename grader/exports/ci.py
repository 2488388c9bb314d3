"""``grader ci``: a workflow that grades every push with exactly this version of the grader.

The workflow never runs a file of the repository and installs nothing from it: it passes the folder to the grader.
"""

import re
import shlex
import textwrap
from collections.abc import Iterator, Sequence

from grader.errors import UserError
from grader.exports.requirements import TORCH_INDEX, filled, python_version, requirements
from grader.package import __version__


def workflow(
    host: str, requirement: str, course_repository: str | None = None, only: Sequence[str] = (), *, hashes: bool = True
) -> str:
    """The text of the workflow file.

    Args:
        host: ``github`` or ``gitlab``.
        requirement: what pip installs as the grader: ``torchkata==VERSION``, the address or file of a wheel, or
            ``git+URL@COMMIT``.
        course_repository: ``URL@COMMIT`` of a git repository with an instructor's own course.
        only: topics or exercises to grade; none means all.
        hashes: whether the packages that the grader needs are installed with the hashes of their wheels.

    Raises:
        UserError: a value is unsafe in a workflow, the repository is not given with a commit, or hashes are not known.
    """
    lines = []
    course = ""
    if course_repository is not None:
        lines += ["git init --quiet course", *_clone(course_repository)]
        course = " --course course"
    if host == "gitlab" and (course or "git+" in requirement):
        lines.insert(0, "apt-get update -qq && apt-get install -qq -y --no-install-recommends git ca-certificates")
    lines += _installing(_word(requirement), hashes)
    indent = " " * (10 if host == "github" else 6)
    values = {"VERSION": __version__, "PYTHON": python_version(), "COURSE": course}
    values["ONLY"] = "".join(f" --only {_word(name)}" for name in only)
    values["INSTALL"] = textwrap.indent("\n".join(lines), indent)
    return filled(f"{host}.yml", values)


def _installing(grader: str, hashes: bool) -> Iterator[str]:
    """The lines of a shell that install the packages of this machine, and then the grader itself."""
    wanted = requirements(hashes=hashes)
    pip = "grader/bin/python -m pip install --quiet --disable-pip-version-check --no-deps"
    checked = f"{pip} --require-hashes" if hashes else pip
    yield from ("cat > others.txt <<'END'", *wanted.others, "END")
    yield from ("cat > torch.txt <<'END'", *wanted.torch, "END")
    yield f"{checked} -r others.txt"
    yield f"{checked} --index-url {TORCH_INDEX} -r torch.txt"
    yield f"{pip} {grader}"
    yield "grader/bin/python -m pip check"


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
