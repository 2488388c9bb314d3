"""Intake: what counts as a submission, which files it has, and that nothing is left out in silence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grader.errors import UserError
from grader.intake import writable
from grader.intake.bag import MAX_FILES, TOTAL_BYTES
from grader.intake.find import find_submissions, open_submission
from grader.intake.kinds import FILE_BYTES
from grader.intake.submission import WORK, Note, Submission, digest
from grader.results import Unread

TOPICS = ["tensor_ops", "autograd"]


def write(root: Path, *files: str, text: str = "x = 1\n") -> Path:
    for file in files:
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def names(*paths: Path) -> list[str]:
    return [source.name for source in find_submissions(paths, TOPICS)]


def read(path: Path) -> Submission:
    return open_submission(path, TOPICS).read()


def test_modules_and_helpers_at_the_root_come_along(tmp_path: Path) -> None:
    write(tmp_path, "tensor_ops.py", "helper.py", "lib/more.py", "notes.txt", ".hidden.py", "__pycache__/a.py")
    assert list(read(tmp_path).files) == ["helper.py", "lib/more.py", "tensor_ops.py"]


def test_exercises_folder_is_stripped_and_the_rest_of_the_project_stays_behind(tmp_path: Path) -> None:
    write(tmp_path, "exercises/tensor_ops.py", "exercises/helper.py", "solutions/tensor_ops.py", "setup.py")
    submission = read(tmp_path)
    assert list(submission.files) == ["helper.py", "tensor_ops.py"]
    assert submission.note_lines == ()


def test_the_module_at_the_root_counts_when_there_are_two(tmp_path: Path) -> None:
    write(tmp_path, "tensor_ops.py", text="root = 1\n")
    write(tmp_path, "exercises/tensor_ops.py", "exercises/autograd.py", text="below = 1\n")
    submission = read(tmp_path)
    assert submission.files["tensor_ops.py"] == b"root = 1\n"
    assert submission.files["autograd.py"] == b"below = 1\n"
    assert [*submission.notes_on("tensor_ops.py")] == [
        "tensor_ops.py: handed in twice; the one at the top counts, not exercises/tensor_ops.py"
    ]


def test_symbolic_links_are_noted_and_not_followed(tmp_path: Path) -> None:
    secret = write(tmp_path / "secret", "solution.py", text="answer = 42\n")
    work = write(tmp_path / "work", "autograd.py")
    (work / "tensor_ops.py").symlink_to(secret / "solution.py")
    (work / "lib").symlink_to(secret)
    submission = read(work)
    assert list(submission.files) == ["autograd.py"]
    assert submission.note_lines == (
        "tensor_ops.py: a symbolic link is not followed",
        "lib: a symbolic link is not followed",
    )


def test_linked_submission_in_a_class_keeps_its_row(tmp_path: Path) -> None:
    write(tmp_path, "class/alice/tensor_ops.py", "elsewhere/tensor_ops.py")
    (tmp_path / "class/mallory").symlink_to(tmp_path / "elsewhere")
    alice, mallory = find_submissions([tmp_path / "class"], TOPICS)
    assert (alice.name, mallory.name) == ("alice", "mallory")
    note = Note("mallory", "a symbolic link is not followed", lost=WORK)
    unread = tuple(Unread(topic, str(note)) for topic in sorted(TOPICS))
    assert mallory.read() == Submission("mallory", {}, (note,), unread=unread)


def test_large_file_is_noted_not_read(tmp_path: Path) -> None:
    (tmp_path / "tensor_ops.py").write_bytes(b"#" * (FILE_BYTES + 1))
    submission = read(tmp_path)
    assert submission.files == {}
    assert submission.note_lines == ("tensor_ops.py: larger than 1 MiB: not read",)


def test_named_pipe_does_not_block(tmp_path: Path) -> None:
    write(tmp_path, "autograd.py")
    os.mkfifo(tmp_path / "tensor_ops.py")
    assert read(tmp_path).note_lines == ("tensor_ops.py: not a regular file: left out",)


def test_totals_are_bounded_and_topic_modules_come_first(tmp_path: Path) -> None:
    for number in range(MAX_FILES + 5):
        (tmp_path / f"a{number:05}.py").touch()
    write(tmp_path, "tensor_ops.py")
    submission = read(tmp_path)
    assert len(submission.files) == MAX_FILES
    assert "tensor_ops.py" in submission.files
    assert submission.note_lines == ("./: more than 2,000 Python files: the rest was left out",)


def test_total_bytes_are_bounded(tmp_path: Path) -> None:
    write(tmp_path, "tensor_ops.py")
    for number in range(TOTAL_BYTES // FILE_BYTES + 1):
        (tmp_path / f"big{number:02}.py").write_bytes(b"#" * FILE_BYTES)
    submission = read(tmp_path)
    assert sum(map(len, submission.files.values())) <= writable.MOST_BYTES < TOTAL_BYTES
    first, *others = submission.note_lines
    assert first == "./: more than 16 MiB of Python files: the rest was left out"
    assert others and all("more than 8,192 KiB of Python files: left out" in note for note in others)


def test_virtual_environments_stay_behind(tmp_path: Path) -> None:
    write(tmp_path, "tensor_ops.py", "venv/lib/a.py", "venv/pyvenv.cfg")
    assert list(read(tmp_path).files) == ["tensor_ops.py"]


def test_class_folder_gives_sorted_names_of_folders_and_files(tmp_path: Path) -> None:
    write(tmp_path, "zoe/tensor_ops.py", "bob_autograd.py", "empty/readme.txt", ".git/x.py", "__pycache__/y.py")
    assert names(tmp_path) == ["bob_autograd", "empty", "zoe"]


def test_file_is_a_submission_of_the_topic_in_its_name(tmp_path: Path) -> None:
    write(tmp_path, "bob_autograd.py", "who.py")
    assert list(read(tmp_path / "bob_autograd.py").files) == ["autograd.py"]
    unknown = read(tmp_path / "who.py")
    assert list(unknown.files) == ["who.py"]
    assert "does not say which topic" in unknown.note_lines[0]


def test_single_folder_inside_is_unwrapped(tmp_path: Path) -> None:
    write(tmp_path, "class/alice/hw1/tensor_ops.py")
    (source,) = find_submissions([tmp_path / "class"], TOPICS)
    assert (source.name, list(source.read().files)) == ("alice", ["tensor_ops.py"])


def test_equal_names_get_the_names_of_their_parents(tmp_path: Path) -> None:
    write(tmp_path, "a/alice/tensor_ops.py", "b/alice/tensor_ops.py", "b/bob/tensor_ops.py")
    assert names(tmp_path / "a", tmp_path / "b") == ["a/alice", "b/alice", "bob"]
    assert names(tmp_path / "a/alice", tmp_path / "a/alice") == ["a/alice", "a/alice (2)"]


def test_results_folder_among_the_submissions_is_skipped(tmp_path: Path) -> None:
    write(tmp_path, "alice/tensor_ops.py", "grades/old.py")
    assert [s.name for s in find_submissions([tmp_path], TOPICS, skip=tmp_path / "grades")] == ["alice"]


def test_path_without_a_submission_is_an_error_with_a_fix(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    for path in (tmp_path, tmp_path / "notes.txt", tmp_path / "missing"):
        with pytest.raises(UserError) as caught:
            find_submissions([path], TOPICS)
        assert caught.value.fix
    with pytest.raises(UserError, match="no topic module"):
        open_submission(tmp_path, TOPICS)


def test_name_that_is_not_utf8_becomes_text(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    Path(os.fsdecode(folder), "tensor_ops.py").touch()
    assert names(tmp_path) == ["caf�"]


def test_digest_is_of_the_work_not_of_the_name(tmp_path: Path) -> None:
    one = Submission("alice", {"a.py": b"1", "b.py": b"2"})
    assert digest(one) == digest(Submission("bob", {"b.py": b"2", "a.py": b"1"}))
    others = [
        Submission("alice", {"a.py": b"1", "b.py": b"3"}),
        Submission("alice", {"a.py": b"1"}),
        Submission("alice", {"a.py": b"1b.py", "": b"2"}),
        Submission("alice", {"a.py": b"1", "b.py": b"2"}, (Note("./", "a note"),)),
    ]
    assert digest(one) not in {digest(other) for other in others}
