"""A student's commands as typed: where you are, names and files and folders, forms of output, a course handed out."""

from __future__ import annotations

import functools
import io
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from command_here import run_here
from shared import KIT_COURSE, OWN_COURSE, REPO, run_grader

from grader.cli.app import app
from grader.cli.command_line import GROUPS, first_sentence, print_lines
from grader.cli.options import complete_name, course_path, split_targets
from grader.course.home import Home
from grader.errors import UserError

TOPICS = ("vectors",)
SOLUTION = (OWN_COURSE / "solutions" / "vectors.py").read_text()
WRONG = """import torch


def normalize(x):
    return x


def cosine(a, b):
    return a @ c
"""


@pytest.fixture(scope="module")
def handed_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that `init` made, with the course in it."""
    folder = tmp_path_factory.mktemp("init") / "kata"
    done = run_grader("init", folder, "--course", OWN_COURSE)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def folder(handed_out: Path, tmp_path: Path) -> Path:
    """A copy of it for one test."""
    return Path(shutil.copytree(handed_out, tmp_path / "kata"))


@pytest.mark.skipif(sys.platform == "win32", reason="the shell of other systems")
def test_init_says_what_to_type_next(tmp_path: Path) -> None:
    for name in ("kata", "my kata"):
        shown = run_here("init", name, "--course", OWN_COURSE, cwd=tmp_path).stdout.splitlines()
        assert shown[-1].startswith("next: cd ") and shown[-1].endswith(" && grader")
        where = subprocess.run(["sh", "-c", f"{shown[-1][6:-10]} && pwd"], cwd=tmp_path, capture_output=True, text=True)
        assert Path(where.stdout.strip()) == (tmp_path / name).resolve()
    here = run_here("init", ".", "--course", OWN_COURSE, cwd=tmp_path / "kata").stdout.splitlines()
    assert here == [".: everything is there already", "next: grader"]


def test_help_groups_the_commands_on_one_uncut_line_each() -> None:
    text = run_grader("--help").stdout
    assert [line for line in text.splitlines() if re.fullmatch(r"(Student|Instructor|Course author|Other):", line)] == [
        "Student:",
        "Instructor:",
        "Course author:",
    ]
    assert sorted(" ".join(GROUPS.values()).split()) == sorted(typer.main.get_command(app).commands)
    for name in " ".join(GROUPS.values()).split():
        (line,) = (line for line in text.splitlines() if re.match(rf"  {name} ", line))
        assert len(line) <= 80 and "..." not in line and len(line.split(None, 1)[1]) > 10


def test_first_sentence_stops_where_details_begin() -> None:
    assert first_sentence("Show how far it is: done, left.\n\nMore.") == "Show how far it is"
    assert first_sentence("Print a hint.") == "Print a hint"


def test_targets_are_names_files_and_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kata").mkdir()
    (tmp_path / "kata" / "vectors.py").write_text("")
    (tmp_path / "other").mkdir()
    (tmp_path / "work.zip").write_text("")
    monkeypatch.chdir(tmp_path)
    kata = Path("kata")
    assert split_targets(["kata"], None, TOPICS) == (kata, ())
    assert split_targets(["kata/vectors.py"], None, TOPICS) == (kata, ("vectors",))
    assert split_targets(["kata", "vectors.cosine"], None, TOPICS) == (kata, ("vectors.cosine",))
    assert split_targets(["kata", "kata/vectors.py"], None, TOPICS) == (kata, ("vectors",))
    assert split_targets(["work.zip"], None, TOPICS) == (Path("work.zip"), ())
    assert split_targets(["vectors.cosine"], kata, TOPICS) == (kata, ("vectors.cosine",))
    with pytest.raises(UserError, match="two places"):
        split_targets(["kata", "other"], None, TOPICS)
    monkeypatch.chdir(kata)
    assert split_targets(["vectors.py"], None, TOPICS) == (Path(), ("vectors",))
    (tmp_path / "kata" / "vectors").mkdir()
    assert split_targets(["vectors"], None, TOPICS) == (Path(), ("vectors",))  # a topic's name is not a folder's


def test_names_are_completed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert complete_name("vectors.c") == ["vectors.cosine"] and "vectors" in complete_name("")
    monkeypatch.chdir(REPO)
    assert complete_name("tensor_ops.gr") == ["tensor_ops.gram"]


def test_a_course_in_the_folder_is_found_from_folders_in_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "notes").mkdir()
    monkeypatch.chdir(folder / "notes")
    found = course_path(None)
    assert found is not None and found.samefile(folder / ".torchkata" / "course")
    assert split_targets([], None, TOPICS)[0] == folder.resolve()
    assert course_path(Path("mine")) == Path("mine")


def test_a_folder_that_is_only_named_brings_no_course(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its checks would run with the rights of who names it, and decide."""
    monkeypatch.chdir(tmp_path)
    for place in (folder, folder / "vectors.py"):
        with pytest.raises(UserError, match="holds a course, whose checks would run here"):
            course_path(None, [place])
    assert course_path(OWN_COURSE, [folder]) == OWN_COURSE
    monkeypatch.chdir(folder)
    assert course_path(None, [folder]) == folder.resolve() / ".torchkata" / "course"


@pytest.mark.slow
def test_a_hostile_folder_runs_nothing_of_its_own_as_a_check(folder: Path, tmp_path: Path) -> None:
    """And what GitHub is shown of a file in another folder; the concise form is that of `test_editor_problems.py`."""
    checks = folder / ".torchkata" / "course" / "checks" / "test_vectors.py"
    trap = tmp_path / "trap"
    checks.write_text(f"open({str(trap)!r}, 'w')\n" + checks.read_text())
    done = run_grader("check", folder, cwd=tmp_path)
    assert done.returncode == 4 and "--course DIR" in done.stderr and not trap.exists()
    # With a course that is named it is graded; and so are the lines of a file in another folder for GitHub.
    (folder / "vectors.py").write_text(WRONG)
    command = ("check", folder / "vectors.py", "--course", OWN_COURSE, "--format", "github")
    graded = run_grader(*command, cwd=folder.parent)
    assert graded.stdout.startswith("::error file=vectors.py,line=4,title=vectors.normalize")
    assert graded.returncode == 1 and not trap.exists()


@pytest.mark.slow
def test_the_folder_is_all_that_a_student_needs(folder: Path) -> None:
    first = run_grader(cwd=folder).stdout
    assert "vectors  ░░░" in first and "next: vectors.normalize  vectors.py:" in first
    assert "grader check vectors.normalize" in first and "grader hint vectors.normalize" in first

    stub = folder / "vectors.py"
    early = run_grader("check", cwd=folder)
    assert early.returncode == 1 and "1 not written yet" in early.stdout and "0/3 points" in early.stdout
    stub.write_bytes(b"# caf\xe9\n" + stub.read_bytes())  # as a script, Python refuses it
    assert "it is not saved as UTF-8" in run_here("check", cwd=folder).stdout

    (folder / "vectors.py").write_text(WRONG)
    wrong = run_here("check", cwd=folder)
    assert wrong.returncode == 1 and wrong.stderr == ""
    assert "\n✗ vectors.normalize  vectors.py:4\n" in wrong.stdout
    assert "✗ cosine" in wrong.stdout or "○ cosine" in wrong.stdout
    assert wrong.stdout.endswith("next: vectors.normalize  vectors.py:4\n")
    assert run_here("next", cwd=folder).stdout == "vectors.normalize  vectors.py:4\n"
    assert "does not show its solutions" in run_here("solution", "cosine", cwd=folder).stderr

    (folder / "vectors.py").write_text(SOLUTION)
    right = run_here("check", cwd=folder)
    assert right.returncode == 0 and "★ vectors is done: 3/3 points" in right.stdout
    assert "You have finished" in right.stdout and "next:" not in right.stdout
    assert "★ vectors" in run_here(cwd=folder).stdout
    listed = run_here("list", cwd=folder).stdout
    assert "3 points, 3 done, 100.0%" in listed and "✓ vectors.cosine" in listed

    again = run_here("reset", "vectors.cosine", cwd=folder)
    assert again.returncode == 0 and (folder / "vectors.py.bak").read_text() == SOLUTION
    assert "✓ vectors.cosine" not in run_here("list", cwd=folder).stdout


@pytest.mark.slow
def test_a_handed_out_course_with_a_kit_grades_an_unusable_answer_as_wrong(tmp_path: Path) -> None:
    assert run_here("init", tmp_path / "kata", "--course", KIT_COURSE).returncode == 0
    file = tmp_path / "kata" / "layers.py"
    file.write_text(re.sub(r"raise NotImplementedError.*", "return 'nothing to use'", file.read_text()))
    done = run_here("check", "--json", cwd=tmp_path / "kata")
    assert done.returncode == 1 and '"verdict":"failed"' in done.stdout and '"verdict":"error"' not in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_says_what_was_done_and_exits_with_2(folder: Path) -> None:
    (folder / "vectors.py").write_text(SOLUTION + "\n\ndef cosine(a, b):\n    while True:\n        pass\n")
    command = [sys.executable, "-m", "grader", "check"]
    environment = {**os.environ, "PYTHONPATH": str(REPO)}
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # ignored in a job's background
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        while "normalize" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        printed, errors = process.stdout.read(), process.stderr.read()
    assert process.returncode == 2 and "stopped: 1 exercise checked, 1 passed" in printed
    assert errors == "error: interrupted\n"


def test_solutions_of_the_shipped_course_are_shown_after_passing_only(tmp_path: Path) -> None:
    assert run_here("init", tmp_path / "kata").returncode == 0
    early = run_here("solution", "tensor_ops.gram", cwd=tmp_path / "kata")
    assert early.returncode == 4 and "has not passed yet" in early.stderr and early.stdout == ""
    from grader.course.home import LastCheck

    home = Home.find(tmp_path / "kata")
    assert home is not None
    home.note({"tensor_ops.gram": LastCheck("passed", 1, 1)})
    shown = run_here("solution", "tensor_ops.gram", cwd=tmp_path / "kata").stdout
    assert "def gram(" in shown and "solution:" not in shown and "# end" not in shown and "NotImplemented" not in shown


@pytest.mark.slow
def test_a_solution_beside_ones_own_tells_how_often_each_calls_torch(tmp_path: Path) -> None:
    from grader.course.home import LastCheck

    folder = tmp_path / "kata"
    assert run_here("init", folder).returncode == 0
    file = folder / "tensor_ops.py"
    body = "    rows = [torch.stack([torch.mul(a, b).sum() for b in x]) for a in x]\n    return torch.stack(rows)\n"
    file.write_text(
        re.sub(r"(def gram.*?)    raise NotImplementedError[^\n]*\n", rf"\1{body}", file.read_text(), flags=re.S)
    )
    early = run_here("solution", "gram", "--beside", cwd=folder)
    assert early.returncode == 4 and "has not passed yet" in early.stderr and early.stdout == ""

    right = run_here("check", "gram", cwd=folder).stdout
    assert "\nyours beside the course's: grader solution tensor_ops.gram --beside\n" in right
    shown = run_here("solution", "gram", "--beside", cwd=folder).stdout
    # of the three rows of the example: 9 products and sums, 4 stacks, 4 times the rows
    assert "yours: 26 calls of torch in the example" in shown and "torch.mul(a, b).sum()" in shown
    assert "the course's: 1 call of torch in the example" in shown and "    return x @ x.T" in shown
    home = Home.find(folder)
    assert home is not None
    home.note({"parameters.seeded": LastCheck("passed", 1, 1)})
    assert run_here("solution", "parameters.seeded", "--beside", cwd=folder).stdout.startswith("yours\n")  # no example
    (folder / "parameters.py").unlink()
    assert "# not there" in run_here("solution", "parameters.seeded", "--beside", cwd=folder).stdout


def test_a_solution_is_not_shown_while_checks_are_hidden_until_a_date(tmp_path: Path) -> None:
    from grader.course.home import LastCheck

    course = tmp_path / "course"
    shutil.copytree(OWN_COURSE, course)
    manifest = course / "course.toml"
    until = 'show_solutions = "after_passing"\nhidden_until = 2999-01-01\n'
    manifest.write_text(manifest.read_text().replace("[course]\n", f"[course]\n{until}"))
    (tmp_path / ".torchkata").mkdir()
    (tmp_path / ".torchkata" / "folder.json").write_text("{}")
    Home(tmp_path).note({"vectors.cosine": LastCheck("passed", 1, 1)})
    for more in ([], ["--beside"]):
        refused = run_here("solution", "cosine", "--course", course, *more, cwd=tmp_path)
        assert refused.returncode == 4 and "hidden until 2999-01-01" in refused.stderr and refused.stdout == ""


def test_where_you_are_needs_nothing_slow(tmp_path: Path) -> None:
    assert run_here("init", tmp_path / "kata").returncode == 0
    code = (
        "import sys\nfrom grader.cli.app import _run\n_run([])\n"
        "print({'torch', 'rich', 'numpy', 'pytest', 'hypothesis'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path / "kata",
        env={**os.environ, "PYTHONPATH": str(REPO)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == "set()\n" and "next: first_run.pick_rate" in done.stdout


@pytest.mark.slow
def test_debug_stops_at_a_breakpoint_and_names_the_check_that_fails(folder: Path) -> None:
    (folder / "vectors.py").write_text(
        WRONG.replace("    return x\n", "    y = x + 1\n    breakpoint()\n    return y\n")
    )
    (folder / "torch.py").write_text("raise SystemExit('shadowed')\n")
    done = subprocess.run(
        [sys.executable, "-m", "grader", "debug", "normalize"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPO)},
        input="p 'here', tuple(y.shape)\n" + "c\n" * 200,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "vectors.py(" in done.stdout and "('here', (" in done.stdout
    assert "[failed] " in done.stdout and "normalize(tensor(" in done.stdout and "shadowed" not in done.stdout
    (folder / "vectors.py").write_text((folder / "vectors.py").read_text().replace("    breakpoint()\n", ""))
    check = run_here("check", "normalize", "--format", "concise", cwd=folder)
    said = next(line for line in check.stdout.splitlines() if ": vectors.normalize: " in line).split(": ", 2)[2]
    assert said in done.stdout.partition("in short, as `grader check vectors.normalize` says it:")[2]
    unknown = run_grader("debug", "normalise", cwd=folder)
    assert unknown.returncode == 4 and "did you mean `normalize`?" in unknown.stderr


def test_a_newcomer_reads_three_lines_and_can_ask_for_all(tmp_path: Path) -> None:
    first = run_here(cwd=tmp_path).stdout.splitlines()
    assert len(first) == 3 and "grader init kata" in first[1] and "grader help" in first[2]
    assert run_here("help", cwd=tmp_path).stdout == run_here("--help", cwd=tmp_path).stdout
    assert run_here("help", "hint", cwd=tmp_path).stdout == run_here("hint", "--help", cwd=tmp_path).stdout
    unknown = run_here("help", "nonsense", cwd=tmp_path)
    assert unknown.returncode == 4 and "there is no command `nonsense`" in unknown.stderr


def test_without_a_name_a_command_means_the_exercise_at_hand(folder: Path) -> None:
    assert run_here("hint", cwd=folder).stdout.startswith("vectors.normalize:\n")
    outside = run_here("hint", cwd=folder.parent)
    assert outside.returncode == 4 and "no exercise is at hand" in outside.stderr


def test_next_outside_of_a_folder_is_an_error(tmp_path: Path) -> None:
    outside = run_here("next", cwd=tmp_path)
    assert outside.returncode == 4
    assert "this is not a folder of yours, so no exercise is next" in outside.stderr


def test_reset_without_a_name_asks_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def reset(answer: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        return run_here("reset", cwd=folder)

    assert "vectors.normalize is still as it was handed out" in reset("y\n").stdout
    assert not (folder / "vectors.py.bak").exists()
    (folder / "vectors.py").write_text(SOLUTION)
    refused = reset("n\n")
    assert refused.stdout.startswith("put vectors.normalize back as it was handed out? [y/N]: nothing was changed")
    nobody = reset("")
    assert nobody.returncode == 4 and "name the exercise: grader reset vectors.normalize" in nobody.stderr
    assert (folder / "vectors.py").read_text() == SOLUTION
    assert "vectors.normalize is as it was handed out; your text" in reset("y\n").stdout


def test_a_list_at_80_columns_breaks_no_word(capsys: pytest.CaptureFixture[str]) -> None:
    needs = ", ".join(f"training.exercise_number_{number}" for number in range(8))
    print_lines(["  ✗ training.experiment    3   needs " + needs, "short"], 80)
    *rows, last = capsys.readouterr().out.splitlines()
    assert last == "short" and len(rows) > 1 and all(len(row) <= 80 for row in rows)
    assert " ".join(" ".join(rows).split()).endswith(needs) and all(row.startswith("      ") for row in rows[1:])


def test_list_takes_names(folder: Path) -> None:
    one = run_here("list", "cosine", cwd=folder).stdout
    assert "vectors.cosine" in one and "vectors.normalize " not in one
    assert "vectors.normalize" in run_here("list", "vectors", cwd=folder).stdout
    assert "unknown topic or exercise" in run_here("list", "nonsense", cwd=folder).stderr


@pytest.mark.parametrize(("name", "kind"), [("nosuch.py", "file"), ("week/2/vectors.py", "file"), ("week/", "folder")])
def test_what_is_not_there_is_called_that(folder: Path, name: str, kind: str) -> None:
    with pytest.raises(UserError, match=f"no such {kind}: {name}"):
        split_targets([name], None, TOPICS)


@pytest.mark.slow
def test_debug_lists_the_checks_if_none_has_the_words(folder: Path) -> None:
    (folder / "vectors.py").write_text(SOLUTION)
    done = run_grader("debug", "normalize", "--check", "nonsense", cwd=folder)
    assert done.returncode == 4 and "no check of vectors.normalize has `nonsense`" in done.stderr
    assert "its checks: " in done.stderr
