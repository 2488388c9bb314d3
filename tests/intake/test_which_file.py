"""Of several files for a topic, the one with an answer of the student's own counts; else a person takes a look."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from make_class_zips import notebook, zipped
from shared import OWN_COURSE

from grader.course import Course
from grader.grading.settings import topics_of
from grader.intake.find import find_submissions
from grader.intake.submission import Submission

COURSE = Course.load(OWN_COURSE)
SHIPPED = Course.load()
STUB = COURSE.stub_file("vectors").read_bytes()
SOLUTION = COURSE.solution_file("vectors").read_bytes()
ANSWER = SOLUTION + b"\n# my own\n"
CELLS = notebook(ANSWER.decode())
NESTED = b"import torch\n\n\ndef main():\n" + b"".join(b"    " + line + b"\n" for line in ANSWER.splitlines())
BELOW = STUB + b"\n\nif __name__ == '__main__':\n    x = 1\n    y = x + 1\n    print(x, y)\n"
RAW = json.dumps({"nbformat": 4, "cells": [{"cell_type": "raw", "source": ANSWER.decode()}]}).encode()
TEXT = json.dumps({"nbformat": 4, "cells": [{"cell_type": "markdown", "source": ANSWER.decode()}]}).encode()
COMMENTED = b"\n" + b"".join(b"# " + line + b"\n" for line in ANSWER.splitlines())
WRITTEN = notebook("x = 1", "%%writefile vectors.py\n" + ANSWER.decode())


def read(folder: Path, files: dict[str, bytes], course: Course = COURSE) -> Submission:
    for name, content in files.items():
        (folder / "class" / "ann" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "class" / "ann" / name).write_bytes(content)
    (source,) = find_submissions([folder / "class"], topics_of(course))
    return source.read()


@pytest.mark.parametrize("name", ["package/vectors.py", "package/answers.py", "answers.py"])
def test_a_module_that_the_file_of_a_topic_imports_stays_where_it_is(tmp_path: Path, name: str) -> None:
    files = {"vectors.py": f"from {name.removesuffix('.py').replace('/', '.')} import *\n".encode(), name: ANSWER}
    files |= {"package/__init__.py": b""} if "/" in name else {}
    submission = read(tmp_path, files)
    assert (submission.files, submission.notes, submission.unread) == (files, (), ())


@pytest.mark.parametrize(
    ("files", "origin"),
    [
        ({"vectors.py": STUB, "homework.ipynb": CELLS}, "homework.ipynb"),
        ({"vectors.py": STUB, "vectors.ipynb": CELLS}, "vectors.ipynb"),
        ({"vectors.py": b"", "vectors.ipynb": CELLS}, "vectors.ipynb"),
        ({"vectors.py": STUB, "vectors_solution.py": ANSWER}, "vectors_solution.py"),
        ({"vectors.py": STUB, "solutions/vectors.py": ANSWER}, "solutions/vectors.py"),
        ({"vectors.py": STUB, "work.zip": zipped({"solutions/vectors.py": ANSWER})}, "solutions/vectors.py"),
        ({"vectors.py": STUB, "exercises/vectors.py": ANSWER}, "exercises/vectors.py"),
        ({"vectors.py": STUB, "vectors.py.txt": ANSWER}, "vectors.py.txt"),
        ({"vectors.py": STUB, "work.zip": zipped({"vectors.py": ANSWER})}, "work.zip/vectors.py"),
        ({"exercises/vectors.py": STUB, "homework.ipynb": CELLS}, "homework.ipynb"),
        ({"exercises/vectors.py": STUB, "src/vectors.py": ANSWER, "setup.py": b"x = 1"}, "src/vectors.py"),
        ({"hw_v1/vectors.py": ANSWER, "hw_v2/vectors.py": STUB}, "hw_v1/vectors.py"),
        ({"readme.py": b"x = 1", "checks/vectors.py": ANSWER}, "checks/vectors.py"),
        ({"vectors.py": STUB, "homework.ipynb": WRITTEN}, "homework.ipynb (%%writefile vectors.py)"),
        ({"homework.ipynb": WRITTEN}, ""),
        ({"homework.ipynb": WRITTEN.replace(b"writefile ", b"writefile /content/work/")}, ""),
        ({"homework.ipynb": WRITTEN.replace(b"writefile vectors.py", b"writefile 'vectors.py'")}, ""),
        ({"solutions/vectors.py": ANSWER}, ""),
        ({"exercises/vectors.py": ANSWER, "solutions/vectors.py": SOLUTION}, ""),
    ],
)
def test_the_file_with_an_answer_counts_and_a_note_says_which(
    tmp_path: Path, files: dict[str, bytes], origin: str
) -> None:
    submission = read(tmp_path, files)
    assert b"# my own" in submission.files["vectors.py"] and submission.unread == ()
    notes = [note for note in submission.note_lines if "taken from" in note]
    assert bool(origin) == bool(notes) and all(f"taken from {origin}" in note for note in notes)
    assert not any("%%writefile vectors.py: left out" in note for note in submission.note_lines)


@pytest.mark.parametrize(
    ("files", "word"),
    [
        ({"vectors.py": NESTED}, "none of the exercises"),
        ({"vectors.py": BELOW}, "has more code"),
        ({"vectors.ipynb": RAW}, "raw cell"),
        ({"vectors.py": STUB, "homework.ipynb": RAW}, "raw cell"),
        ({"vectors.py": STUB, "notes.py": b"x = 1\n"}, "notes.py is there too"),
        ({"vectors.py": STUB, "a/vectors.py": ANSWER, "b/vectors.py": ANSWER}, "hand in only one of them"),
        ({"vectors.py": STUB, "vectors.txt": ANSWER}, "vectors.txt is there too"),
        ({"vectors.py": STUB, "my vectors.docx": b"PK"}, "my vectors.docx is there too"),
        ({"vectors.py": STUB, "hw.zip": zipped({"vectors.py.bak": ANSWER})}, "vectors.py.bak is there too"),
        ({"vectors.py": STUB + COMMENTED}, "in comments"),
        ({"vectors.ipynb": TEXT}, "in a cell of text"),
        ({"vectors.py": STUB, "homework.ipynb": TEXT}, "in a cell of text"),
    ],
)
def test_where_nothing_of_the_topic_is_there_but_other_code_a_person_takes_a_look(
    tmp_path: Path, files: dict[str, bytes], word: str
) -> None:
    (unread,) = read(tmp_path, files).unread
    assert unread.topic == "vectors" and word in unread.reason


@pytest.mark.parametrize(
    "files",
    [
        {"vectors.py": STUB},
        {"vectors.py": b"import os\n" + STUB},
        {"vectors.py": STUB, "as_it_was/vectors.py": STUB, "mine.py": STUB},
        {"vectors.py": STUB, "notes.txt": b"", "data.csv": b"1,2\n3,4\n"},
        {"vectors.py": STUB, ".ipynb_checkpoints/vectors-checkpoint.py": STUB},
        {
            "vectors.ipynb": notebook(STUB.decode()),
            ".ipynb_checkpoints/vectors-checkpoint.ipynb": notebook(STUB.decode()),
        },
        {"vectors.ipynb": notebook("from grader import check", STUB.decode(), *['check("vectors.cosine")'] * 3)},
        {"w.zip": zipped({"vectors.py": STUB, "__MACOSX/._vectors.py": b"\0\5\x16\7"})},
        {"vectors.py": STUB, "venv/pyvenv.cfg": b"home = /usr", "venv/lib/site-packages/torch/vectors.py": ANSWER},
        {"vectors.py": STUB, ".git/hooks/a.py": b"x = 1\n", "__pycache__/vectors.cpython-311.pyc": b"\0"},
        {"vectors.py": STUB + b"\n# def is a keyword; I did not get to normalize\n", "README.md": b"hello"},
        {"exercises/vectors.py": STUB, "solutions/vectors.py": SOLUTION, "checks/test_vectors.py": b"x = 1\n"},
    ],
)
def test_what_was_only_not_begun_is_a_mark(tmp_path: Path, files: dict[str, bytes]) -> None:
    """So is a stub beside the course's own solutions, which are nobody's answer."""
    submission = read(tmp_path, files)
    assert submission.unread == () and not any(name.startswith("solutions") for name in submission.files)
    assert hashlib.sha256(SOLUTION).digest() not in {hashlib.sha256(x).digest() for x in submission.files.values()}


@pytest.mark.parametrize("done", [topic.name for topic in SHIPPED.modules])
def test_one_topic_done_and_the_others_as_handed_out_is_nothing_to_look_at(tmp_path: Path, done: str) -> None:
    """Although `train` and `fit` are inside other topics, too: an untouched stub is no place for an answer."""
    answer = SHIPPED.solution_file(done).read_bytes() + b"# my own\n"
    stubs = {f"{topic.name}.py": SHIPPED.stub_file(topic.name).read_bytes() for topic in SHIPPED.modules}
    assert read(tmp_path, {**stubs, f"{done}.py": answer}, SHIPPED).unread == ()
    assert read(tmp_path / "alone", {f"{done}.py": answer}, SHIPPED).unread == ()


def test_a_cell_that_appends_to_a_file_adds_to_it(tmp_path: Path) -> None:
    half = len(ANSWER.splitlines()) // 2
    lines = ANSWER.decode().splitlines(keepends=True)
    cells = ("%%writefile vectors.py\n" + "".join(lines[:half]), "%%writefile -a vectors.py\n" + "".join(lines[half:]))
    assert read(tmp_path, {"work.ipynb": notebook(*cells)}).files["vectors.py"] == ANSWER


HALF = SOLUTION.partition(b"def cosine")[0] + b"# my own\n"
OTHER_HALF = b"import torch\n\n\ndef cosine(a, b):\n    return torch.cosine_similarity(a, b)\n"
FENCED = json.dumps(
    {"nbformat": 4, "cells": [{"cell_type": "markdown", "source": f"Mine:\n```python\n{ANSWER.decode()}```"}]}
).encode()
STUBS: dict[str, dict[str, bytes]] = {
    "none": {},
    "root": {"vectors.py": STUB},
    "exercises": {"exercises/vectors.py": STUB},
    "nested": {"hw/vectors.py": STUB},
    "zip": {"stub.zip": zipped({"exercises/vectors.py": STUB})},
    "notebook": {"vectors.ipynb": notebook(STUB.decode())},
    "course": {"exercises/vectors.py": STUB, "solutions/vectors.py": SOLUTION.replace(b"\n", b"\r\n")},
    "formatted": {"vectors.py": STUB.replace(b'"', b"'").replace(b"\n\n\n", b"\n\n")},
    "pass": {"vectors.py": STUB.replace(b"raise NotImplementedError", b"pass  # ")},
    "empty": {"vectors.py": b""},
}
PLACES = ("", "exercises/", "solutions/", "checks/", "a/b/")
COUNTING = {
    "topic": ("vectors.py", ANSWER),
    "other name": ("answer.py", ANSWER),
    "notebook": ("homework.ipynb", CELLS),
    "%%writefile": ("homework.ipynb", WRITTEN),
    "zip": ("hw.zip", zipped({"solutions/vectors.py": ANSWER})),
    "zip in zip": ("hw.zip", zipped({"in/hw.zip": zipped({"homework.ipynb": CELLS})})),
}
NOWHERE = {
    "main": ("vectors.py", NESTED),
    "main elsewhere": ("run.py", NESTED),
    "comments": ("answer.py", COMMENTED),
    "raw cells": ("homework.ipynb", RAW),
    "cells of text": ("homework.ipynb", FENCED),
    "%%writefile of a text": ("homework.ipynb", WRITTEN.replace(b"vectors.py", b"vectors.txt")),
    "main in a zip": ("hw.zip", zipped({"vectors.py": NESTED})),
    "text": ("answer.txt", ANSWER),
    "renamed notebook": ("homework.json", CELLS),
    "UTF-16": ("vectors_solution.py", ANSWER.decode().encode("utf-16")),
    "page": ("homework.html", b"<p>" + ANSWER.replace(b"def ", b"<b>def</b> ")),
    "document": ("homework.docx", b"PK\x03\x04\0"),
    "sheet": ("homework.xlsx", b"PK\x03\x04\0"),
    "film": ("screen.mp4", b"\0\0\0 ftyp"),
    "zip without its name": ("homework", zipped({"vectors.py": ANSWER})),
    "link": ("colab.txt", b"https://colab.research.google.com/drive/1\n"),
    "link to a document": ("hw.gdoc", b'{"url": "https://docs.google.com/open?id=1"}'),
    "patch": ("mine.patch", b"".join(b"+" + line + b"\n" for line in ANSWER.splitlines())),
    "hidden": (".vectors.py", ANSWER),
    "automatic copy": (".ipynb_checkpoints/vectors-checkpoint.py", ANSWER),
    "automatic copy of a notebook": (".ipynb_checkpoints/hw-checkpoint.ipynb", CELLS),
    "automatic copy in a zip": ("hw.zip", zipped({".ipynb_checkpoints/vectors-checkpoint.py": ANSWER})),
    "environment": (".venv/vectors.py", ANSWER),
    "packages": ("site-packages/vectors.py", ANSWER),
    "stub below the answer": ("vectors.py", ANSWER + STUB),
}


@pytest.mark.parametrize("stub", STUBS)
def test_an_answer_anywhere_beside_a_stub_anywhere_is_never_a_silent_zero(tmp_path: Path, stub: str) -> None:
    wrong = []
    for kind, (name, content) in (COUNTING | NOWHERE).items():
        for place in PLACES:
            if f"{place}{name}" in STUBS[stub]:
                continue
            case = f"{kind} in {place or './'}"
            submission = read(tmp_path / case.replace("/", "_"), {**STUBS[stub], f"{place}{name}": content})
            counts = b"\ndef cosine" in submission.files.get("vectors.py", b"")
            counts = counts and b"# my own" in submission.files["vectors.py"]
            if kind in COUNTING and not counts and not submission.unread:
                wrong.append(f"{case}: {submission.note_lines}")
            if kind in NOWHERE and not submission.unread:
                wrong.append(f"{case}: nobody looks: {submission.note_lines}")
            if kind in ("topic", "notebook", "zip") and not counts:
                wrong.append(f"{case}: not found: {submission.unread}")
    assert wrong == []


def test_the_file_with_more_answers_counts(tmp_path: Path) -> None:
    submission = read(tmp_path, {"vectors.py": HALF + STUB.partition(b"def cosine")[2], "homework.ipynb": CELLS})
    assert b"def cosine" in submission.files["vectors.py"] and submission.unread == ()
    wanted = "vectors.py: taken from homework.ipynb; vectors.py does not count: it has fewer answers"
    assert wanted in submission.note_lines


def test_answers_that_lie_in_two_files_need_a_look(tmp_path: Path) -> None:
    (unread,) = read(tmp_path, {"vectors.py": HALF, "more.ipynb": notebook(OTHER_HALF.decode())}).unread
    assert unread.reason == "vectors.py: it has no cosine, but more.ipynb has"


def test_an_attempt_in_comments_beside_an_answer_is_no_matter(tmp_path: Path) -> None:
    assert read(tmp_path, {"vectors.py": HALF + COMMENTED}).unread == ()


@pytest.mark.parametrize("line", ["!pip install torch -q", "%matplotlib inline"])
def test_a_notebook_saved_as_python_counts_without_its_magics(tmp_path: Path, line: str) -> None:
    submission = read(tmp_path, {"vectors.py": f"# -*- coding: utf-8 -*-\n{line}\n".encode() + ANSWER})
    assert submission.files["vectors.py"].startswith(f"# -*- coding: utf-8 -*-\npass  # left out: {line}\n".encode())
    assert submission.note_lines == (f"vectors.py: left out: {line}",) and submission.unread == ()


def test_what_no_line_of_magic_explains_stays_as_it_is(tmp_path: Path) -> None:
    broken = b"!pip install torch\n" + ANSWER + b"def normalize(:\n"
    good = ANSWER + b'"""\n!not a command\n"""\n'
    assert read(tmp_path / "a", {"vectors.py": broken}).files["vectors.py"] == broken
    assert read(tmp_path / "b", {"vectors.py": good}).files["vectors.py"] == good


def test_a_link_in_an_untouched_stub_needs_a_look(tmp_path: Path) -> None:
    (unread,) = read(tmp_path, {"vectors.py": STUB + b"\n# https://colab.research.google.com/drive/1\n"}).unread
    assert unread.reason == "vectors.py: it is as it was handed out, but has a link"


def test_one_answer_above_its_stub_needs_a_look(tmp_path: Path) -> None:
    again = STUB[STUB.index(b"def cosine") :]
    (unread,) = read(tmp_path, {"vectors.ipynb": notebook(ANSWER.decode(), again.decode())}).unread
    assert unread.reason == "vectors.py: after the answer to cosine comes its stub again"


@pytest.mark.parametrize("content", [b"{\\rtf1\\ansi " + ANSWER, b"<!DOCTYPE html><pre>" + ANSWER])
def test_a_document_named_like_the_topic_needs_a_look(tmp_path: Path, content: bytes) -> None:
    (unread,) = read(tmp_path, {"vectors.py": content}).unread
    assert "not Python text" in unread.reason


def test_names_of_one_s_own_alone_need_a_look(tmp_path: Path) -> None:
    (unread,) = read(tmp_path, {"vectors.py": ANSWER.replace(b"def ", b"def my_")}).unread
    assert "none of the exercises" in unread.reason
