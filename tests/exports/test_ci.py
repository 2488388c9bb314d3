"""Workflows that `grader ci` prints: they are valid, pinned, and run nothing of the repository that they grade."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from grader import __version__
from grader.errors import UserError
from grader.exports.ci import workflow
from grader.text import clean

COMMIT = "0123456789abcdef0123456789abcdef01234567"
HOSTS = ["github", "gitlab"]


def commands(text: str) -> list[str]:
    """The lines that a shell runs."""
    return [line.strip() for line in text.splitlines() if not line.lstrip().startswith("#")]


@pytest.mark.parametrize("host", HOSTS)
def test_workflow_is_yaml_with_every_name_filled_in(host: str) -> None:
    yaml = pytest.importorskip("yaml")
    text = workflow(host, None, f"https://example.org/course.git@{COMMIT}")
    read = yaml.safe_load(text)
    assert not re.search("@[A-Z]+@", text)
    assert ("jobs" in read) if host == "github" else ("script" in read["grade"])


@pytest.mark.parametrize("host", HOSTS)
def test_workflow_pins_the_grader_and_torch(host: str) -> None:
    text = workflow(host)
    assert f" torchkata=={__version__} torch==" in text
    assert all(re.search(r"@[0-9a-f]{40} # v", line) for line in text.splitlines() if "uses:" in line)
    assert "'torchkata @ git+https://example.org/x@abc'" in workflow(host, "torchkata @ git+https://example.org/x@abc")


@pytest.mark.parametrize("host", HOSTS)
def test_workflow_installs_before_or_outside_of_the_repository_and_runs_nothing_in_it(host: str) -> None:
    text = workflow(host)
    installs = [line for line in commands(text) if "pip install" in line]
    assert installs and all(
        not re.search(r"-r |-e |\s\.(\s|$)|requirements|WORKSPACE|PROJECT_DIR", line) for line in installs
    )
    if host == "github":
        assert text.index("pip install") < text.index("actions/checkout")
        assert text.count("run: |") == text.count("working-directory: ${{ runner.temp }}")
        assert "persist-credentials: false" in text and "contents: read" in text
    else:
        assert text.index("cd /tmp") < text.index("pip install")
    assert not any(re.search(r"\b(pytest|source|bash|make)\b", line) for line in commands(text))
    assert "PYTHONSAFEPATH" in text


@pytest.mark.parametrize("host", HOSTS)
def test_scripts_of_the_workflow_are_valid_shell(host: str) -> None:
    yaml = pytest.importorskip("yaml")
    read = yaml.safe_load(workflow(host, None, f"https://example.org/course.git@{COMMIT}"))
    scripts = (
        [step["run"] for step in read["jobs"]["grade"]["steps"] if "run" in step]
        if host == "github"
        else read["grade"]["script"]
    )
    for script in scripts:
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_github_takes_no_commands_while_submissions_are_graded() -> None:
    text = workflow("github")
    assert text.index("::stop-commands::$stop") < text.index("grader grade") < text.index('echo "::$stop::"')
    assert "export github" in text and "export junit" in text and "outputs.result" in text


def test_gitlab_hands_over_junit_and_lines() -> None:
    text = workflow("gitlab")
    assert "junit: grader-results/junit.xml" in text and "codequality: grader-results/code-quality.json" in text


@pytest.mark.parametrize("value", ["a\nb", "${{ secrets.X }}", "-r requirements.txt", "x\x00"])
def test_value_that_would_change_the_workflow_is_refused(value: str) -> None:
    with pytest.raises(UserError):
        workflow("github", value)
    with pytest.raises(UserError):
        workflow("github", None, f"{value}@{COMMIT}")


def test_course_must_be_pinned_to_a_commit() -> None:
    for repository in ("https://example.org/course", "https://example.org/course@main", f"@{COMMIT}"):
        with pytest.raises(UserError, match="does not name a commit"):
            workflow("github", None, repository)
    words = shlex.split(
        next(line for line in workflow("gitlab", None, f"a;b c@{COMMIT}").splitlines() if "fetch" in line)
    )
    assert words[-2:] == ["a;b c", COMMIT]


@pytest.mark.parametrize(
    "print_", ["::error::x", "  ::set-env name=A::b", "##[group]x", "##vso[a]x", "\x1b[0K::debug::", "x\r::error::"]
)
def test_clean_breaks_every_form_of_command(print_: str) -> None:
    text = clean(print_)
    assert not re.search(r"(?m)^\s*::|##\w*\[|\x1b|\r", text)


def test_clean_leaves_slices_alone() -> None:
    assert clean("y = x[::2]\nreturn a[:, ::-1]") == "y = x[::2]\nreturn a[:, ::-1]"


def test_command_prints_the_workflow() -> None:
    root = Path(__file__).resolve().parent.parent.parent
    ended = subprocess.run(
        [sys.executable, "-m", "grader", "ci", "gitlab"], cwd=root, capture_output=True, text=True, check=True
    )
    assert ended.stdout == workflow("gitlab")


@pytest.mark.parametrize("name", ["report", "export", "package", "ci"])
def test_commands_have_help_with_an_example(name: str) -> None:
    root = Path(__file__).resolve().parent.parent.parent
    command = [sys.executable, "-m", "grader", name, "--help"]
    ended = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert f"grader {name}" in ended.stdout.partition("Example")[2]
