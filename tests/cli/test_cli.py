"""The command line as users run it: real processes, exit codes, what is printed where, and what survives a kill."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_here import run_here
from shared import run_grader

from grader import new_python
from grader.cli.app import main
from grader.cli.options import size
from grader.course import Course
from grader.gradebook import Gradebook
from grader.grading.exit_codes import exit_code
from grader.grading.local_workers import LocalWorkers
from grader.grading.protocol import WorkerOptions
from grader.intake.reader import Reader
from grader.intake.sources import Source
from grader.intake.submission import Submission, Unreadable
from grader.reports.status import status_lines
from grader.results import CheckResult, ExerciseResult, SubmissionResult, VerdictKind, from_json

REPO = Path(__file__).resolve().parent.parent.parent
OWN = REPO / "examples" / "own_course"
SOLUTION = (OWN / "solutions" / "vectors.py").read_text()
STUB = (OWN / "exercises" / "vectors.py").read_text()
ENDLESS = "while True: pass\n"
SECONDS = 120


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "grader", *map(str, arguments)]


def handed_in(root: Path, **submissions: str) -> Path:
    for name, text in submissions.items():
        (root / name).mkdir(parents=True)
        (root / name / "vectors.py").write_text(text)
    return root


def workers_of(process: int) -> set[int]:
    """The running processes whose parent is `process`."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == process:
                found.add(int(stat.parent.name))
    return found


def until_recorded(path: Path, process: subprocess.Popen[str]) -> None:
    """Waits until the gradebook has a result."""
    for _ in range(10 * SECONDS):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.1)
            raise AssertionError(f"ended early: {process.communicate()}")
        if path.exists():
            with contextlib.closing(sqlite3.connect(path)) as db, contextlib.suppress(sqlite3.OperationalError):
                if db.execute("SELECT count(*) FROM results").fetchone()[0]:
                    return
    raise AssertionError("nothing was graded")


@contextlib.contextmanager
def grading(classroom: Path, out: Path) -> Iterator[subprocess.Popen[str]]:
    arguments = command("grade", classroom, "--course", OWN, "--out", out, "--jobs", "1")
    with subprocess.Popen(
        arguments, cwd=REPO, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_importing_the_command_imports_nothing_slow() -> None:
    slow = {"torch", "pytest", "hypothesis", "rich", "numpy", "jinja2", "plotext", "matplotlib"}
    code = f"import sys, grader.cli.app; print({slow!r} & set(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", code], cwd=REPO, capture_output=True, text=True, check=True)
    assert ended.stdout == "set()\n"


def test_what_grades_a_class_in_its_main_process_imports_no_torch() -> None:
    """Workers do: the main process stays small and starts at once, also where there is nothing to grade."""
    modules = "grader.grading.many_submissions, grader.reports.status, grader.reports.html, grader.exports.lms"
    slow = {"torch", "numpy", "hypothesis", "plotext", "matplotlib"}
    code = f"import sys, {modules}; print({slow!r} & set(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", code], cwd=REPO, capture_output=True, text=True, check=True)
    assert ended.stdout == "set()\n"


ONE_BY_ONE = """
import json, sys
from grader.cli.app import main

for arguments in json.loads(sys.argv[1]):
    try:
        main(arguments)
    except SystemExit as ended:
        print(f"\\nended with {ended.code}")
        print("\\nended", file=sys.stderr)
"""


def one_by_one(commands: list[list[str]]) -> list[tuple[int, str, str]]:
    """Runs commands that end early, in one process: the exit code of each, and what it printed where."""
    ended = subprocess.run(
        [sys.executable, "-c", ONE_BY_ONE, json.dumps(commands)], cwd=REPO, capture_output=True, text=True, check=True
    )
    *printed, _ = re.split(r"\nended with (\d+)\n", ended.stdout)
    *errors, _ = ended.stderr.split("\nended\n")
    return [(int(code), out, error) for out, code, error in zip(printed[::2], printed[1::2], errors, strict=True)]


def test_every_command_has_help_with_an_example() -> None:
    names = ["check", "grade", "list", "next", "hint", "solution", "reset", "init", "release", "verify", "doctor"]
    names += ["status", "diff", "restore", "override", "extend", "report", "export", "package", "ci"]
    shown = one_by_one([[name, "--help"] for name in names])
    for name, (code, printed, _) in zip(names, shown, strict=True):
        assert code == 0 and f"grader {name}" in printed.partition("Example")[2], name


IN_GROUPS = {
    "check": ("Course and inputs", "Exit code", "Limits of a submission"),
    "grade": ("Late work (shown beside the score)", "Course and inputs", "Exit code", "Limits of a submission"),
}
OF_GROUP = {"--course": "Course and inputs", "--memory": "Limits of a submission", "--help": "Options"}


@pytest.mark.parametrize("width", ["30", "80", "200"])
def test_options_are_shown_in_groups_as_plain_text_on_any_terminal(width: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", width)
    monkeypatch.setenv("FORCE_COLOR", "1")
    shown = one_by_one([[name, "--help"] for name in IN_GROUPS])
    for (name, groups), (_, printed, _) in zip(IN_GROUPS.items(), shown, strict=True):
        headings = [line.removesuffix(":") for line in printed.splitlines() if re.fullmatch(r"\w.*[\w)]:", line)]
        assert headings == ["Arguments", "Options", *groups], name
        sections = dict(re.findall(r"^(\w.*):\n((?:  .*\n)+)", printed, re.MULTILINE))
        assert all(f"  {option} " in sections[group] for option, group in OF_GROUP.items()), name
        assert "\x1b" not in printed


def test_without_a_command_there_is_help() -> None:
    ended = run_grader("help")
    assert ended.returncode == 0 and "Student:" in ended.stdout and "\b" not in ended.stdout
    assert run_here("--version").stdout.startswith("torchkata ")


def test_usage_errors_are_one_line_with_a_fix_and_exit_4() -> None:
    wrong = [
        (["chekc"], "chekc"),
        (["check", "--no-such-option"], "--no-such-option"),
        (["check", "--memory", "lots"], "2GiB"),
        (["check", "--check-seconds", "0"], "'--check-seconds': must be more than 0 seconds"),
        (["grade", ".", "--processes", "0"], "'--processes': must be at least 1"),
        (["check", "--fail-under", "101"], "0 to 100"),
        (["check", "--course", "no/such/course"], "no course.toml"),
        (["check", "cosin", "--course", str(OWN), "--submission", str(OWN)], "cosine"),
        (["check", "--course", str(OWN), "--submission", "no/such/folder"], "is not there"),
        (["grade", "--course", str(OWN), "no/such/folder"], "is not there"),
        (["hint", "vectors", "--course", str(OWN)], "is a topic"),
        (["hint", "cosine", "--level", "9", "--course", str(OWN)], "no level 9"),
    ]
    shown = one_by_one([arguments for arguments, _ in wrong])
    for (arguments, words), (code, printed, error) in zip(wrong, shown, strict=True):
        assert code == 4, arguments
        assert printed == "" and "Traceback" not in error
        assert error.startswith("error: ") and words in error
    ended = run_grader(*wrong[0][0])
    assert ended.returncode == 4 and ended.stderr.rstrip() == shown[0][2].rstrip()


def test_list_and_hint() -> None:
    assert "vectors.cosine" in run_here("list", "--course", OWN).stdout
    ended = run_here("hint", "cosine", "--course", OWN)
    assert Course.load(OWN).exercise("vectors.cosine").hints[0] in ended.stdout and "--level 2" in ended.stdout


def test_doctor_names_versions_and_layers() -> None:
    ended = run_grader("doctor")
    assert ended.returncode == 0 and "torch " in ended.stdout and "sandbox " in ended.stdout


def test_check_of_a_solution_takes_what_it_needs_and_is_shadowed_by_none_of_its_modules(tmp_path: Path) -> None:
    work = handed_in(tmp_path, me=SOLUTION) / "me"
    for name in ("torch", "rich", "msgspec", "sqlite3", "pytest"):
        (work / f"{name}.py").write_text("raise SystemExit('shadowed')\n")
    ended = run_grader("check", "cosine", "--course", OWN, "--json", cwd=work)
    assert ended.returncode == 0, ended.stderr
    result = from_json(ended.stdout)
    assert (result.submission, result.score, result.max) == ("me", 3.0, 3.0)
    fields = {"schema", "submission", "score", "max", "exercises", "sandbox", "flags", "notes", "unread"}
    assert set(json.loads(ended.stdout)) == fields


def test_class_is_graded_recorded_resumed_and_the_same_again(tmp_path: Path) -> None:
    classroom = handed_in(tmp_path / "class", alice=SOLUTION, bob=STUB, carol="x = (\n")
    out = tmp_path / "out"
    arguments = ("grade", classroom, "--course", OWN, "--out", out, "--jobs", "1")
    first = run_grader(*arguments[:-1], "2")
    assert first.returncode == 1 and "mean 33.3%" in first.stdout
    note = "note: carol: vectors.py cannot be imported: SyntaxError: '(' was never closed (vectors.py, line 1)\n"
    assert first.stderr == note
    lines = (out / "results.jsonl").read_bytes()
    assert [from_json(line).submission for line in lines.splitlines()] == ["alice", "bob", "carol"]

    second = run_grader(*arguments)
    assert second.stdout.count("unchanged") == 3 and (out / "results.jsonl").read_bytes() == lines
    with Gradebook.open(out / "gradebook.sqlite") as book:
        assert {run.seed for run in book.runs()} == {book.seed} and book.seed
        assert f"seed of the next run: {book.seed} " in run_here("status", "--out", out).stdout

    again = run_here(*arguments, "--again")
    assert "unchanged" not in again.stdout and (out / "results.jsonl").read_bytes() == lines

    (classroom / "bob" / "vectors.py").write_text(SOLUTION)
    changed = run_here(*arguments, "--fail-under", "0")
    assert changed.returncode == 0 and changed.stdout.count("unchanged") == 2 and "mean 66.7%" in changed.stdout


def test_ctrl_c_keeps_what_is_graded_and_ends_the_workers(tmp_path: Path) -> None:
    classroom = handed_in(tmp_path / "class", alice=STUB, bob=ENDLESS, carol=ENDLESS)
    with grading(classroom, tmp_path / "out") as process:
        until_recorded(tmp_path / "out" / "gradebook.sqlite", process)
        workers = workers_of(process.pid)
        os.kill(process.pid, signal.SIGINT)
        _, ended = process.communicate(timeout=SECONDS)
    assert process.returncode == 2 and "1 of 3 are graded and kept" in ended
    assert workers and not any(Path(f"/proc/{worker}").exists() for worker in workers)


@pytest.mark.parametrize("command", ["grade", "check"])
def test_a_command_loads_the_course_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    loads: list[object] = []
    load = Course.load

    def counting(path: Path | None = None, *, complete: bool = True) -> Course:
        loads.append(path)
        return load(path, complete=complete)

    monkeypatch.setattr(Course, "load", counting)
    work = str(OWN / "solutions" / "vectors.py")
    places = {"grade": [work, "--out", str(tmp_path), "--jobs", "1"], "check": ["--submission", work]}
    with pytest.raises(SystemExit) as ended:
        main([command, "--course", str(OWN), *places[command]])
    assert (ended.value.code, len(loads)) == (0, 1)


def test_a_submission_that_cannot_be_read_is_an_error_that_is_kept_and_the_class_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    work = handed_in(tmp_path / "work", ann=SOLUTION, bob=SOLUTION)
    reads: list[str] = []
    read = Reader.read

    def broken(reader: Reader, source: Source) -> Submission | Unreadable:
        reads.append(source.name)
        return Unreadable("ann", "KeyError: a fault") if source.name == "ann" else read(reader, source)

    monkeypatch.setattr(Reader, "read", broken)
    arguments = ["grade", str(work), "--course", str(OWN), "--out", str(tmp_path / "out"), "--jobs", "1"]
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 3 and sorted(reads) == ["ann", "bob"], "each is read once"
    assert "ann: the grader itself failed to read it: KeyError: a fault" in capfd.readouterr().err
    with Gradebook.open(tmp_path / "out" / "gradebook.sqlite") as book:
        ann, bob = (row.result for row in book.results())
    assert (ann.verdicts, ann.max, bob.score) == ({"error"}, 0, 3)
    monkeypatch.setattr(Reader, "read", read)
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0 and "1 graded" in "".join(status_lines(tmp_path / "out", notes=False))


def submission(name: str, text: str) -> Submission:
    return Submission(name, {"vectors.py": text.encode()})


def test_killed_worker_is_replaced_and_the_submission_graded() -> None:
    with LocalWorkers(Course.load(OWN), WorkerOptions(course=str(OWN))) as workers:
        assert workers.grade(submission("alice", SOLUTION)).fault == ""
        (first,) = workers._workers
        os.kill(first.process.pid, signal.SIGKILL)
        graded = workers.grade(submission("bob", SOLUTION))
        assert graded.result.score == 3.0 and "worker process died" in graded.fault


def test_worker_that_always_dies_costs_no_row_and_no_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_python, "_START", "import sys; print('out of luck', file=sys.stderr); sys.exit(7); ")
    # No zygote has this seed of hashes, so that one is to start first.
    with LocalWorkers(Course.load(OWN), WorkerOptions(course=str(OWN)), jobs=2, hash_seed=7) as workers:
        graded = list(workers.results_of([submission("alice", SOLUTION), submission("bob", STUB)]))
    assert sorted(one.result.submission for one in graded) == ["alice", "bob"]
    for one in graded:
        assert one.result.verdicts == {"error"} and one.result.max == 0
        assert [exercise.name for exercise in one.result.exercises] == ["vectors.normalize", "vectors.cosine"]
        message = one.result.exercises[0].checks[0].message
        assert "exit code 7" in message and "out of luck" not in message  # students see no words of the grader's own
        assert "out of luck" in one.fault
    assert exit_code([one.result for one in graded], None) == 3


def result(*verdicts: VerdictKind, score: float = 0, maximum: float = 1) -> SubmissionResult:
    checks = tuple(CheckResult(name=kind, verdict=kind) for kind in verdicts)
    exercise = ExerciseResult(name="t.e", score=score, max=maximum, checks=checks)
    return SubmissionResult(submission="s", score=score, max=maximum, exercises=(exercise,))


@pytest.mark.parametrize(
    ("given", "fail_under", "code"),
    [
        ([result("passed", score=1)], None, 0),
        ([result("passed", "skipped", score=1)], None, 0),
        ([result("passed", score=1), result("failed")], None, 1),
        ([result("timeout")], None, 1),
        ([result("failed", score=0.5)], 50, 0),
        ([result("failed", score=0.49)], 50, 1),
        ([result("skipped", maximum=0)], 50, 1),
        ([result("skipped", maximum=0)], None, 1),
        ([result("failed"), result("error", maximum=0), result("failed")], None, 3),
        ([result("error", maximum=0)], 0, 3),
    ],
)
def test_exit_codes(given: list[SubmissionResult], fail_under: float | None, code: int) -> None:
    assert exit_code(given, fail_under) == code


def test_sizes() -> None:
    assert [size(text) for text in ("4096", "2GiB", "1.5 kB", "64 kib")] == [4096, 2 << 30, 1500, 65536]
