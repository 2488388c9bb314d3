"""Workflows that `grader ci` prints: they are valid, pinned, and run nothing of the repository that they grade."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path
from typing import Any

import pytest
from command_here import run_here
from odd_course import with_own, write_odd_course
from shared import REPO
from wheelhouse import make_wheels

from grader.errors import UserError
from grader.exports import package
from grader.exports.package import pinned, requirements
from grader.package import FOLDER
from grader.text import clean

COMMIT = "0123456789abcdef0123456789abcdef01234567"
HOSTS = ["github", "gitlab"]
GRADER = "torchkata==1.2.3"


def workflow(host: str, requirement: str = GRADER, course_repository: str | None = None, *only: str) -> str:
    """A workflow without hashes, which only pip knows."""
    return package.workflow(host, requirement, course_repository, only, hashes=False)


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where pip finds every package, and nothing else."""
    for name, value in make_wheels(tmp_path / "wheels").items():
        monkeypatch.setenv(name, value)
    return tmp_path / "wheels"


def commands(text: str) -> list[str]:
    """The lines that a shell runs."""
    return [line.strip() for line in text.splitlines() if not line.lstrip().startswith("#")]


@pytest.mark.parametrize("host", HOSTS)
def test_workflow_is_yaml_with_every_name_filled_in(host: str) -> None:
    yaml = pytest.importorskip("yaml")
    text = workflow(host, GRADER, f"https://example.org/course.git@{COMMIT}")
    read = yaml.safe_load(text)
    assert not re.search("@[A-Z]+@", text)
    assert ("jobs" in read) if host == "github" else ("script" in read["grade"])


@pytest.mark.parametrize("host", HOSTS)
def test_workflow_pins_the_grader_and_all_that_it_needs(host: str) -> None:
    text = workflow(host)
    assert f" {GRADER}\n" in text
    assert all(f"{name}=={version}\n" in text for name, version in pinned().items())
    assert all(re.search(r"@[0-9a-f]{40} # v", line) for line in text.splitlines() if "uses:" in line)
    assert "'torchkata @ git+https://example.org/x@abc'" in workflow(host, "torchkata @ git+https://example.org/x@abc")


def installing(text: str) -> str:
    """The lines of a workflow that install packages."""
    lines = text.splitlines()
    first = next(number for number, line in enumerate(lines) if "cat > others.txt" in line)
    last = next(number for number, line in enumerate(lines) if "torch.txt" in line and "pip install" in line)
    return textwrap.dedent("\n".join(lines[first : last + 1]))


def test_pip_installs_by_the_lines_of_the_workflow_and_refuses_another_wheel(wheels: Path, tmp_path: Path) -> None:
    assert installing(workflow("github")) == installing(workflow("gitlab"))  # so one of them is run for both
    script, versions = installing(package.workflow("github", GRADER)), pinned()
    lines = [line for line in script.splitlines() if "--hash" in line]
    assert len(lines) == len(versions)
    for line in lines:
        name, version, digest = re.fullmatch(r"(\S+)==(\S+) --hash=sha256:([0-9a-f]{64})", line).groups()  # type: ignore[union-attr]
        wheel = wheels / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
        assert versions[name] == version and hashlib.sha256(wheel.read_bytes()).hexdigest() == digest

    place = tmp_path / "runner"
    (place / "grader" / "bin").mkdir(parents=True)
    (place / "grader" / "bin" / "python").symlink_to(sys.executable)
    target = place / "installed"
    script = "wheels=wheels\n" + script.replace("pip install", f"pip install --target {target} --ignore-installed")

    def installed() -> subprocess.CompletedProcess[str]:
        shutil.rmtree(target, ignore_errors=True)
        return subprocess.run(["bash", "-e"], input=script, text=True, cwd=place, check=False, capture_output=True)

    assert installed().returncode == 0 and len(list(target.glob("*.dist-info"))) == len(versions)

    (kept,) = (place / "wheels").glob("hypothesis-*.whl")
    before = kept.read_bytes()
    spoil(kept)  # in the cache, which a student's own workflow can fill
    assert installed().returncode == 0 and kept.read_bytes() == before
    assert not (target / "hypothesis.py").exists()

    (there,) = wheels.glob("hypothesis-*.whl")
    spoil(there)
    assert installed().returncode == 0, "what was kept is still right"
    shutil.rmtree(place / "wheels")
    ended = installed()
    assert ended.returncode != 0 and "DO NOT MATCH THE HASHES" in ended.stderr


def spoil(wheel: Path) -> None:
    with zipfile.ZipFile(wheel, "a") as changed:
        changed.writestr("hypothesis.py", "print('not what was pinned')")


def test_github_keeps_packages_also_when_work_fails_and_only_those_that_have_hashes(wheels: Path) -> None:
    """The one action for both saves nothing when a later step fails, as grading does for nearly everybody."""
    yaml = pytest.importorskip("yaml")
    steps = yaml.safe_load(package.workflow("github", GRADER))["jobs"]["grade"]["steps"]
    kinds = [step.get("uses", step.get("name", "")).partition("@")[0] for step in steps]
    assert kinds[1:4] == ["actions/cache/restore", "Install the grader", "actions/cache/save"]
    assert steps[1]["with"] == steps[3]["with"] and re.fullmatch("grader-[0-9a-f]{16}", steps[1]["with"]["key"])
    assert steps[3]["if"] == "${{ steps.packages.outputs.cache-hit != 'true' }}"
    job = yaml.safe_load(package.workflow("gitlab", GRADER))["grade"]
    assert job["cache"] == {"key": steps[1]["with"]["key"], "when": "always", "paths": [".grader-wheels/"]}
    assert not any("cache" in workflow(host) for host in HOSTS)


def test_actions_are_of_the_majors_that_run_on_node_24() -> None:
    text = (FOLDER / "exports" / "templates" / "github.yml").read_text()
    found = dict(re.findall(r"uses: ([\w/-]+)@[0-9a-f]{40} # v(\d+)\.\d+\.\d+", text))
    assert found == {
        "actions/setup-python": "7",
        "actions/checkout": "7",
        "actions/upload-artifact": "7",
        "actions/cache/restore": "6",
        "actions/cache/save": "6",
    }


def starts(patterns: list[str], path: str) -> bool:
    """Whether a push that changes a file starts a workflow: ``**/`` is any folders, ``*`` anything but a slash."""
    parts = {"**/": "(.*/)?", "**": ".*", "*": "[^/]*", ".": r"\."}
    expressions = [re.sub(r"\*\*/|\*\*|\*|\.", lambda found: parts[found[0]], pattern) for pattern in patterns]
    return any(re.fullmatch(one, path) for one in expressions)


@pytest.mark.parametrize("host", HOSTS)
def test_only_a_push_that_changes_an_answer_starts_and_a_newer_one_ends_an_older_one(host: str) -> None:
    yaml = pytest.importorskip("yaml")
    read = yaml.safe_load(workflow(host))
    if host == "github":
        assert "workflow_dispatch" in read[True]  # so YAML reads the word "on"
        patterns, own = read[True]["push"]["paths"], ".github/workflows/grade.yml"
        assert read["concurrency"] == {"group": "${{ github.workflow }}-${{ github.ref }}", "cancel-in-progress": True}
    else:
        pushed, by_hand = read["grade"]["rules"]
        assert pushed["if"] == '$CI_PIPELINE_SOURCE == "push"' and "web" in by_hand["if"]
        patterns, own = pushed["changes"], ".gitlab-ci.yml"
        assert read["grade"]["interruptible"] is True
    answers = ["vectors.py", "exercises/VECTORS.PY", "a/b/hw.ipynb", "vectors.py.txt", "hw.ipynb.json", "hw.zip"]
    assert [path for path in [*answers, "hw.tar-1.gz", "hw.TGZ", "x/hw.rar", own] if not starts(patterns, path)] == []
    others = ["README.md", "data/numbers.csv", "plot.png", "requirements.txt", ".gitignore", "pyproject.toml", "py"]
    assert [path for path in others if starts(patterns, path)] == []


def test_hashes_that_nobody_knows_are_an_error_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    with pytest.raises(UserError, match="hashes of the packages are not known: Could not find") as raised:
        package.workflow("github", GRADER)
    assert "--no-hashes" in raised.value.fix
    torch, others = requirements(hashes=False)
    assert torch[0].startswith("torch==") and not any("--hash" in line for line in [*torch, *others])


@pytest.mark.parametrize("host", HOSTS)
def test_only_some_topics_are_graded(host: str) -> None:
    (line,) = (one for one in workflow(host, GRADER, None, "tensor_ops", "fit").splitlines() if "grader grade" in one)
    assert "--out grades --only tensor_ops --only fit > grade.log" in line


@pytest.mark.parametrize("host", HOSTS)
def test_workflow_installs_before_or_outside_of_the_repository_and_runs_nothing_in_it(host: str) -> None:
    text = workflow(host)
    written = re.compile(r"-r (others|torch)\.txt$")  # by the workflow itself, outside of the repository
    installs = [written.sub("", line) for line in commands(text) if "pip install" in line]
    assert text.index("cat > others.txt") < text.index("-r others.txt")
    assert installs and all(
        not re.search(r"-r |-e |\s\.(\s|$)|requirements|WORKSPACE|PROJECT_DIR", line) for line in installs
    )
    if host == "github":
        assert text.index("pip install") < text.index("actions/checkout")
        assert text.count("run: |") == text.count("working-directory: ${{ runner.temp }}")
        assert "persist-credentials: false" in text and "contents: read" in text
    else:
        assert text.index("cd /tmp") < text.index("pip install")
    listed = set(requirements(hashes=False)[1])
    assert not any(re.search(r"\b(pytest|source|bash|make)\b", line) for line in commands(text) if line not in listed)
    assert "PYTHONSAFEPATH" in text


@pytest.mark.parametrize("host", HOSTS)
def test_scripts_of_the_workflow_are_valid_shell(host: str) -> None:
    yaml = pytest.importorskip("yaml")
    read = yaml.safe_load(workflow(host, GRADER, f"https://example.org/course.git@{COMMIT}"))
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
        workflow("github", GRADER, f"{value}@{COMMIT}")


def test_course_must_be_pinned_to_a_commit() -> None:
    for repository in ("https://example.org/course", "https://example.org/course@main", f"@{COMMIT}"):
        with pytest.raises(UserError, match="does not name a commit"):
            workflow("github", GRADER, repository)
    words = shlex.split(
        next(line for line in workflow("gitlab", GRADER, f"a;b c@{COMMIT}").splitlines() if "fetch" in line)
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
    ended = run_here("ci", "gitlab", "--requirement", GRADER, "--no-hashes", "--only", "fit")
    assert ended.stdout == workflow("gitlab", GRADER, None, "fit") and ended.returncode == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [((), "say which grader the workflow installs"), (("--requirement", GRADER, "--only", "fitt"), "did you mean")],
)
def test_command_says_what_is_missing(options: tuple[str, ...], words: str) -> None:
    ended = run_here("ci", "github", *options)
    assert ended.returncode == 4 and words in ended.stderr and ended.stdout == ""


@pytest.mark.parametrize("host", HOSTS)
def test_nothing_that_a_workflow_shows_or_keeps_tells_of_a_hidden_check_or_a_flag(host: str, tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    course = write_odd_course(tmp_path / "course")
    checks = course / "checks" / "test_odd.py"
    shown = '@exercise("odd.secret")\ndef test_open(submission):\n    """It is there."""\n    submission.secret(3)\n'
    checks.write_text(
        checks.read_text().replace("hidden=True", 'hidden="all"').replace(", 41)", ", 990041)") + f"\n\n{shown}"
    )
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    (work / "notes").mkdir()
    (work / "notes" / "todo.txt").write_text("ask")
    (work / "src" / "odd.py").write_text(
        "import subprocess\n" + with_own(secret="return 'zebra'", double="return x + 1")
    )
    runner = tmp_path / "runner"
    (runner / "grader" / "bin").mkdir(parents=True)
    command = runner / "grader" / "bin" / "grader"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m grader "$@"\n')
    command.chmod(0o755)
    read = yaml.safe_load(workflow(host))
    if host == "github":
        steps = read["jobs"]["grade"]["steps"]
        scripts = [step["run"] for step in steps if "grader/bin/grader " in step.get("run", "")]
        (tmp_path / "class").mkdir()
        work.rename(tmp_path / "class" / "submission")
    else:
        scripts = [script for script in read["grade"]["script"] if "grader/bin/grader " in script]
    written = {name: str(tmp_path / name.lower()) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    environment = {
        **{**os.environ, **written, "PYTHONPATH": str(REPO)},
        **{"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(tmp_path), "CI_PROJECT_DIR": str(work)},
    }
    log = ""
    for script in scripts:
        script = re.sub(r"(grader (?:grade|export)\b.*--out grades)", rf"\1 --course {course}", script)
        ended = subprocess.run(
            ["bash", "-e"], input=script, text=True, cwd=runner, env=environment, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240,
        )  # fmt: skip
        assert ended.returncode in (0, 1, 3), ended.stdout  # the odd course has checks with faults
        log += ended.stdout
    kept = [*(tmp_path / name.lower() for name in written), *work.glob("grader-results/*")]
    kept += [runner / path.rpartition("}}/")[2] for path in _kept_by(read)]
    texts = {"log": log} | {str(file): _decoded(file.read_text()) for file in kept if file.is_file()}
    assert len(texts) >= 3 and any("hidden" in text for text in texts.values())
    assert any("graded: see" in text for text in texts.values())
    (suites,) = {text.count("<testsuite ") for name, text in texts.items() if name.endswith("junit.xml")}
    assert suites == 1, "a repository is one submission, whatever folders it has"
    secrets = ("zebra", "secret number", "test_secret", "990041", "subprocess")
    assert [(name, secret) for name, text in texts.items() for secret in secrets if secret in text] == []


def _kept_by(read: dict[str, Any]) -> list[str]:
    """The paths of GitHub's artifacts, below the runner's folder."""
    steps = read["jobs"]["grade"]["steps"] if "jobs" in read else []
    return [
        path.strip() for step in steps for path in step.get("with", {}).get("path", "").splitlines() if "}}" in path
    ]


def _decoded(text: str) -> str:
    """The text, and below it what its lines ``result=BASE64`` hold."""
    return text + "".join(
        base64.b64decode(found).decode() for found in re.findall(r"^result=(\S+)$", text, re.MULTILINE)
    )
