"""Small submissions that cost a parser or an unpacker minutes or gigabytes: unread at most, and the class goes on."""

from __future__ import annotations

import functools
import io
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from shared import OWN_COURSE, REPO

from grader.course.definitions import defined_names, lines_in
from grader.gradebook import Gradebook, gradebook_in
from grader.intake.find import find_submissions
from grader.intake.reader import Reader
from grader.intake.sources import PathSource
from grader.intake.submission import Submission, Unreadable
from grader.intake.topics import Topics

TOPICS = {"vectors": ["normalize", "cosine"]}
RIGHT = (OWN_COURSE / "solutions" / "vectors.py").read_text()


FINALLY = "used more memory than it may" if sys.version_info < (3, 12) else "`normalize` is not defined"


def nested_finally(depth: int) -> str:
    """Code that the compiler doubles at each level."""
    lines = []
    for level in range(depth):
        lines += [f"{' ' * level}try: pass", f"{' ' * level}finally:"]
    return "\n".join([*lines, f"{' ' * depth}x = 1", ""])


def notebook(*cells: str) -> bytes:
    return json.dumps({"nbformat": 4, "cells": [{"cell_type": "code", "source": cell} for cell in cells]}).encode()


def long_header() -> bytes:
    """A tar.gz with a header of 4 MiB of digits, which some Pythons search in quadratic time."""
    with io.BytesIO() as packed:
        with tarfile.open(fileobj=packed, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
            member = tarfile.TarInfo("vectors.py")
            member.pax_headers = {"comment": "1" * (4 << 20)}
            tar.addfile(member)
        return packed.getvalue()


def zip_of(name: str, content: bytes) -> bytes:
    with io.BytesIO() as packed:
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name, content)
        return packed.getvalue()


@functools.cache
def bombs() -> dict[str, tuple[str, bytes]]:
    """By name, the file and its content; made when first asked for, because every tester imports this module."""
    return {
        "finally": ("vectors.py", nested_finally(20).encode()),
        "finally_cell": ("vectors.ipynb", notebook(nested_finally(20))),
        "brackets": ("vectors.py", b"x = " + b"[" * 100_000),
        "parentheses": (
            "vectors.ipynb",
            notebook("x = " + "(" * 90 + ")" * 90, "-" * 100_000 + "1", "x" + ".x" * 100_000),
        ),
        "arrays": ("vectors.ipynb", b'{"cells": [], "metadata": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
        "cells": ("vectors.ipynb", b'{"cells": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
        "blanks": ("vectors.ipynb", notebook(" " * 200_000 + "$ = !")),
        "header": ("header.tar.gz", long_header()),
        "zeros_zip": ("zeros.zip", zip_of("vectors.py", bytes(100 << 20))),
    }


GRADE = """
import re, sys
from grader.cli.app import main
try:
    main(sys.argv[1:])
finally:
    print("RESIDENT", int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) >> 10)
"""
MOST_RESIDENT = 200
"""Of the main process (MiB); it has 60 for a class that means well."""


linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems limit only the time, by the clock")


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A class of these submissions, and of one that is right: where its results are, and what was printed."""
    root = tmp_path_factory.mktemp("class")
    for name, (file, content) in {**bombs(), "right": ("vectors.py", RIGHT.encode())}.items():
        (root / "work" / name).mkdir(parents=True)
        (root / "work" / name / file).write_bytes(content)
    where = ("--course", str(OWN_COURSE), "--out", str(root / "out"))
    done = subprocess.run(
        [sys.executable, "-c", GRADE, "grade", str(root / "work"), *where, "--jobs", "2", "--memory", "512M"],
        env={**os.environ, "PYTHONPATH": str(REPO)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert "10 submissions" in done.stdout, done.stdout + done.stderr
    return root / "out", done.stdout


@linux
def test_the_class_is_graded_and_the_main_process_stays_small(graded: tuple[Path, str]) -> None:
    out, printed = graded
    assert int(printed.rpartition("RESIDENT")[2]) < MOST_RESIDENT
    with Gradebook.open(gradebook_in(out)) as book:
        scores = {row.result.submission: row.result.score for row in book.results()}
    assert scores == {**dict.fromkeys(bombs(), 0.0), "right": 3.0}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("arrays", "vectors.py: vectors.ipynb: not a notebook: it is not JSON"),
        ("cells", "vectors.py: vectors.ipynb: not a notebook"),
        ("header", "header.tar.gz: a header of more than 16 KiB: nothing was read"),
        ("zeros_zip", "vectors.py: larger than 1 MiB: not read"),
    ],
)
def test_a_file_that_cannot_be_read_is_unread_and_no_wrong_answer(
    graded: tuple[Path, str], name: str, reason: str
) -> None:
    with Gradebook.open(gradebook_in(graded[0])) as book:
        (result,) = (row.result for row in book.results() if row.result.submission == name)
    assert [one.reason[: len(reason)] for one in result.unread] == [reason]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("finally", FINALLY),
        ("finally_cell", FINALLY),
        ("brackets", "SyntaxError"),
        ("parentheses", "`normalize` is not defined"),
        ("blanks", "`normalize` is not defined"),
    ],
)
def test_a_file_that_cannot_be_compiled_fails_in_the_student_process(
    graded: tuple[Path, str], name: str, words: str
) -> None:
    with Gradebook.open(gradebook_in(graded[0])) as book:
        (result,) = (row.result for row in book.results() if row.result.submission == name)
    assert words in result.exercises[0].checks[0].message


# ---------------------------------------------------------------- the limits themselves


@dataclass(frozen=True)
class Costly(PathSource):
    """A submission that takes more than it may; the reader imports it from this file."""

    def read(self) -> Submission:
        match self.name:
            case "endless":
                while True:
                    pass
            case "large":
                return Submission(self.name, {"vectors.py": b"#" * (1 << 30)})
            case "killed":
                os.abort()
            case "wrong":
                raise KeyError("a fault of the grader's own")
        return Submission(self.name, {"vectors.py": b"pass"})


@linux
def test_a_submission_over_a_limit_is_unread_and_the_next_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), str(REPO / "tests"), str(REPO)]))
    with Reader(seconds=1, memory=512 << 20) as reader:
        found = [reader.read(Costly(name, Path(name), Topics.of(TOPICS))) for name in COSTLY]
    for name, one in zip(COSTLY, found, strict=True):
        if name == "wrong":
            assert one == Unreadable(name, 'KeyError: "a fault of the grader\'s own"')
            continue
        assert isinstance(one, Submission)
        assert (list(one.files), [unread.reason for unread in one.unread]) == (
            ([], [f"./: reading it took more than {COSTLY[name]}: nothing was read"])
            if COSTLY[name]
            else (["vectors.py"], [])
        )


COSTLY = {
    "endless": "1 second of processor time",
    "small": "",
    "large": "512 MiB of memory",
    "killed": "its process could bear",
    "wrong": "",
    "again": "",
}

LINEAR = r"""
import json, resource
from grader.intake.archive import safe_path
from grader.intake.lms import pieces_of
from grader.intake.notebook import module_of
from grader.course.definitions import defined_names, lines_in
from grader.intake.topics import Topics
from grader.text import clean

resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
N = 500_000
assert len(clean("\x9d" * N)) == N
assert defined_names(lines_in(b"async " * N + b"\ndef f(): pass")) == ["f"]
topics = Topics.of({"vectors": ["f"]})
for line in ("<a" * N, "# " * N + "f", "a" * N + " !", "f" + " " * N, "def f(x):\n" * 50_000 + "\n" * N, "async " * N):
    topics.hidden_in("vectors", line, "f")
for line in (" " * N + "$", "a" * N + " !", "a=" * N, "%" * N, "?" * N, "x." * N + "?" * 3):
    module_of(json.dumps({"cells": [{"cell_type": "code", "source": line + "\n)"}]}).encode())
path, problem = safe_path("_1" * N + "/x")
assert problem and len(pieces_of([path])) == 2
"""


def test_what_reads_submitted_text_takes_linear_time() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LINEAR],
        env={**os.environ, "PYTHONPATH": str(REPO)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_definitions_are_found_without_parsing() -> None:
    text = b"def f(): pass\n  def g(): pass\nclass  C: pass\nasync def h(): pass\ndef f(x): pass\nbroken ("
    assert defined_names(lines_in(text)) == ["f", "C", "h"]


def test_of_very_many_notes_the_last_counts_the_rest(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"n{number}.ipynb").write_bytes(notebook(*["(broken"] * 60))
    (tmp_path / "vectors.py").write_text(RIGHT)
    found = PathSource("ada", tmp_path, Topics.of(TOPICS)).read()
    assert len(found.notes) == 201 and str(found.notes[-1]) == "./: 160 more notes like these"


def test_folders_of_a_download_are_read_to_a_depth(tmp_path: Path) -> None:
    deep = tmp_path.joinpath("ada_1_assignsubmission_file", *"a" * 700)
    deep.mkdir(parents=True)
    (deep / "vectors.py").write_text(RIGHT)
    (tmp_path / "bob_2_assignsubmission_file").mkdir()
    (tmp_path / "bob_2_assignsubmission_file" / "vectors.py").write_text(RIGHT)
    ada, bob = (source.read() for source in find_submissions([tmp_path], TOPICS))
    assert not ada.files and "nested more than 12 folders deep" in str(ada.notes[0])
    assert list(bob.files) == ["vectors.py"]
