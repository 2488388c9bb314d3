"""Work that was handed in and cannot be read is told from wrong and from missing work."""

from __future__ import annotations

import encodings
import io
import json
import pkgutil
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from class_of_sixty import UNREAD
from make_class_zips import canvas_zip, encrypted, notebook, the_class, zipped

from grader.intake.assemble import latest
from grader.intake.find import find_submissions, open_submission
from grader.intake.submission import Submission
from grader.intake.topics import Topics
from grader.intake.unread import why_not_python

TOPICS = {"vectors": ["normalize"], "matrices": ["trace"]}
CODE = b"def normalize(x):\n    return x\n"
TRACE = b"def trace(x):\n    return x.diagonal().sum()\n"
BOTH = ["matrices", "vectors"]


def read(folder: Path, files: dict[str, bytes]) -> Submission:
    for name, content in files.items():
        (folder / "class" / "ann" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "class" / "ann" / name).write_bytes(content)
    (source,) = find_submissions([folder / "class"], TOPICS)
    return source.read()


def topics(submission: Submission) -> list[str]:
    return [one.topic for one in submission.unread]


@pytest.mark.parametrize(
    ("files", "wanted", "word"),
    [
        ({"report.pdf": b"%PDF-1.7"}, BOTH, "report.pdf"),
        ({"work.zip": zipped({"vectors.py": CODE})[:-30]}, BOTH, "damaged"),
        ({"work.zip": encrypted({"vectors.py": CODE})}, BOTH, "password"),
        ({"work.rar": b"Rar!"}, BOTH, "not a kind of archive"),
        ({"work.zip": zipped({"report.pdf": b"%PDF"})}, BOTH, "no Python file"),
        ({"vectors.py": CODE.decode().encode("utf-16")}, ["vectors"], "UTF-16"),
        ({"vectors.py": b"%PDF-1.7", "matrices.py": TRACE}, ["vectors"], "a PDF"),
        ({"vectors.py": "# Größe\n".encode("cp1252") + CODE}, ["vectors"], "UTF-8"),
        ({"vectors.ipynb": b"not json", "matrices.py": TRACE}, ["vectors"], "not JSON"),
        ({"vectors.py": b"#" * (2 << 20), "matrices.py": TRACE}, ["vectors"], "larger"),
        ({"matrices.py": TRACE, "rest.zip": b"no zip"}, ["vectors"], "damaged"),
        ({"a/vectors.py": CODE, "b/vectors.py": CODE, "matrices.py": TRACE}, ["vectors"], "could be any of"),
        ({"helper.py": b"x = 1\n"}, BOTH, "helper.py is"),
        ({"vectors.py": b"# later\n", "help.py": b"x = 1"}, BOTH, "help.py is"),
        ({"vectors.py": CODE, "matrices.py": CODE + b"if 1:\n    def trace(x): pass"}, ["matrices"], "none of the exe"),
        ({"vectors.py": b"def main():\n    def normalize(x):\n        pass\n"}, ["vectors"], "none of the exercises"),
        ({"vectors.ipynb": notebook("x = 1\n", "def normalize(:\n")}, ["vectors"], "cannot be parsed"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_reason(
    tmp_path: Path, files: dict[str, bytes], wanted: list[str], word: str
) -> None:
    submission = read(tmp_path, files)
    assert topics(submission) == wanted
    assert all(word in one.reason and "\n" not in one.reason for one in submission.unread)


@pytest.mark.parametrize(
    "files",
    [
        {"vectors.py": CODE, "matrices.py": TRACE, "work.zip": b"no zip"},  # nothing is missing
        {"vectors.py": CODE, "report.pdf": b"%PDF-1.7"},  # the rest was not handed in
        {"vectors.py": b"def normalize(:\n"},  # text, though not Python's: the student's own error
        {"vectors.py": b"", "matrices.py": TRACE},
        {"vectors.py": CODE, "matrices.py": b"raise SystemExit\ndef trace(x): pass"},
        {"vectors.py": b"raise SystemExit", "matrices.py": b"x = ("},
        {"vectors.py": CODE, "matrices.py": b"import os\nx = 1\ny = 2\nz = 3\nos._exit(0)"},
        {"vectors.py": b"from mine import *", "mine.py": CODE},
        {"vectors.py": CODE, "work.zip": zipped({"vectors.py": CODE})},
        {"vectors.py": "# Größe\n".encode("cp1252").join([b"# coding: cp1252\n", CODE])},
        {"vectors.ipynb": notebook("x = 1\n", "normalize = lambda x: x\n")},
    ],
)
def test_what_can_be_read_is_graded(tmp_path: Path, files: dict[str, bytes]) -> None:
    assert topics(read(tmp_path, files)) == []


def test_an_empty_folder_is_nothing_handed_in(tmp_path: Path) -> None:
    (tmp_path / "class" / "ann").mkdir(parents=True)
    (source,) = find_submissions([tmp_path / "class"], TOPICS)
    assert source.read().unread == () and "no Python file" in source.read().note_lines[0]


def test_the_class_of_sixty_has_the_unread_that_were_counted_by_hand(tmp_path: Path) -> None:
    unread = {
        int(source.read().arrival.student)
        for source in find_submissions([canvas_zip(tmp_path / "canvas.zip")], {"vectors": ["normalize", "cosine"]})
        if source.read().unread
    }
    assert len(UNREAD) == 11 and unread == {student.id for student in the_class() if student.kind in UNREAD}


@pytest.mark.parametrize("packed", [False, True])
def test_a_notebook_of_70_mb_is_not_read_and_says_what_to_do(tmp_path: Path, packed: bool) -> None:
    picture = {"output_type": "display_data", "data": {"image/png": "A" * (70 << 20)}}
    cell = {"cell_type": "code", "source": CODE.decode(), "outputs": [picture]}
    content = json.dumps({"cells": [cell], "nbformat": 4}).encode()
    assert len(content) > 70 << 20
    files = {"work.zip": zipped({"vectors.ipynb": content})} if packed else {"vectors.ipynb": content}
    tracemalloc.start()
    submission = read(tmp_path, files)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200 << 20, "no more of it is read than a notebook with its outputs may have"
    assert "vectors" in topics(submission)
    assert "larger than 64 MiB: not read; clear its outputs" in submission.unread[-1].reason


def deep(levels: int, files: dict[str, bytes]) -> bytes:
    data = zipped(files)
    for level in range(levels - 1):
        data = zipped({f"folder{level}/inner.zip": data})
    return data


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_three_archives_in_each_other_are_opened(tmp_path: Path, levels: int) -> None:
    submission = read(tmp_path, {"work.zip": deep(levels, {"vectors.py": CODE, "matrices.py": TRACE})})
    assert submission.files["vectors.py"] == CODE and submission.unread == ()


def test_a_fourth_archive_is_not_opened_and_that_is_no_zero(tmp_path: Path) -> None:
    submission = read(tmp_path, {"work.zip": deep(4, {"vectors.py": CODE})})
    assert topics(submission) == BOTH and "more than 3 deep" in submission.unread[0].reason


def test_many_archives_in_an_archive_end_at_a_bound(tmp_path: Path) -> None:
    inner = zipped({"x.py": b"x = 1\n"})
    submission = read(tmp_path, {"work.zip": zipped({f"{number}/a.zip": inner for number in range(60)})})
    assert len(submission.files) == 40
    assert sum("too many archives" in note for note in submission.note_lines) == 20


@pytest.mark.slow
def test_an_archive_that_holds_itself_many_times_is_bounded(tmp_path: Path) -> None:
    data = b"\0" * (60 << 20)
    for _ in range(3):
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(12):
                archive.writestr(f"{number}.zip", data)
        data = target.getvalue()
    submission = read(tmp_path, {"bomb.zip": data})
    assert submission.files == {} and topics(submission) == BOTH


def test_a_student_with_only_a_pdf_in_a_zip_of_a_class_keeps_a_row(tmp_path: Path) -> None:
    (tmp_path / "class.zip").write_bytes(
        zipped({"ann/vectors.py": CODE, "bob/report.pdf": b"%PDF", "cy/vectors.py": CODE, "readme.txt": b"hi"})
    )
    found = find_submissions([tmp_path / "class.zip"], TOPICS)
    assert [source.name for source in found] == ["ann", "bob", "cy"]
    assert topics(found[1].read()) == BOTH


def test_an_answer_in_a_text_in_a_zip_of_a_class_needs_a_look(tmp_path: Path) -> None:
    files = {"ann/vectors.py": b"# later\n", "ann/answer.txt": CODE, "cy/vectors.py": CODE}
    (tmp_path / "class.zip").write_bytes(zipped(files))
    ann, cy = (source.read() for source in find_submissions([tmp_path / "class.zip"], TOPICS))
    assert topics(ann) == ["vectors"] and "answer.txt is there too" in ann.unread[0].reason and cy.unread == ()


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (["hw_v1", "hw_v2"], "hw_v2"),
        (["hw_v2", "HW_v10", "hw-v9"], "HW_v10"),
        (["hw version 1", "hw version 2"], "hw version 2"),
        (["v1", "v2", "v3"], "v3"),
        (["a_v1", "b_v2"], None),
        (["hw", "hw_v2"], None),
        (["hw_v1"], None),
        (["hw_v1", "hw_v01"], None),
        ([], None),
    ],
)
def test_the_last_version_is_the_one_with_the_greatest_number(names: list[str], wanted: str | None) -> None:
    assert latest(names) == wanted


def test_of_folders_that_are_versions_the_last_counts_and_a_note_says_so(tmp_path: Path) -> None:
    files = {
        f"hw_v{number}/{name}": b"%s# %d\n" % (CODE, number)
        for number in (1, 2, 10)
        for name in ("vectors.py", "help.py")
    }
    submission = read(tmp_path, files)
    assert submission.files == {"vectors.py": CODE + b"# 10\n", "help.py": CODE + b"# 10\n"}
    assert submission.note_lines == ("./: hw_v10/ counts, the last version, not hw_v1/, hw_v2/",)
    assert submission.unread == ()


def test_of_files_that_are_versions_the_last_counts_and_a_note_says_so(tmp_path: Path) -> None:
    submission = read(tmp_path, {"vectors_v1.py": b"v = 1\n", "vectors_v2.py": b"v = 2\n", "matrices.py": TRACE})
    assert submission.files["vectors.py"] == b"v = 2\n"
    assert submission.note_lines == ("vectors.py: vectors_v2.py counts, the last version, not vectors_v1.py",)


def test_a_topic_in_a_folder_of_its_own_is_found(tmp_path: Path) -> None:
    submission = read(tmp_path, {"week1/vectors.py": CODE, "week2/matrices.py": TRACE})
    assert submission.files == {"matrices.py": TRACE, "vectors.py": CODE}
    assert submission.note_lines == (
        "matrices.py: taken from week2/matrices.py, which defines trace",
        "vectors.py: taken from week1/vectors.py, which defines normalize",
    )


def test_a_file_with_the_name_of_its_topic_is_not_replaced_by_a_version(tmp_path: Path) -> None:
    files = {"vectors.py": CODE, "old_v1/vectors.py": b"v = 1\n", "old_v2/vectors.py": b"v = 2\n"}
    assert read(tmp_path, files).files["vectors.py"] == CODE


def test_a_single_submission_says_what_is_unread_too(tmp_path: Path) -> None:
    (tmp_path / "vectors.py").write_bytes(b"\xff\xfe\0")
    assert topics(open_submission(tmp_path, TOPICS).read()) == ["vectors"]


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbfx = 1\n", b"# coding: latin-1\n# \xe9\n", b"x = 1", b"\r\n"])
def test_text_that_python_reads_is_text(content: bytes) -> None:
    assert why_not_python(content) == ""


@pytest.mark.parametrize("content", [b"# coding: nonsense\n", b"\0", b"\xe9", b"\xef\xbb\xbf# coding: latin-1\n"])
def test_bytes_that_python_does_not_read_are_none(content: bytes) -> None:
    assert why_not_python(content)


def test_no_encoding_that_a_file_names_is_a_fault_of_the_grader() -> None:
    """Some raise what is no `UnicodeDecodeError`: else a first line would take a topic's points out of the total."""
    names = [module.name for module in pkgutil.iter_modules(encodings.__path__)]
    reasons = {name: why_not_python(f"# coding: {name}\nx = 1\n".encode()) for name in names}
    assert reasons["undefined"] and reasons["punycode"] and not reasons["latin_1"]


def test_a_copy_of_the_stub_in_another_format_is_not_begun(tmp_path: Path) -> None:
    stub = b"def normalize(x):\n    raise NotImplementedError\n"
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / "vectors.py").write_bytes(stub)
    (tmp_path / "ann" / "vectors.txt").write_bytes(stub.replace(b"\n", b"\r\n"))
    known = Topics(frozenset({"vectors"}), {"vectors": frozenset({"normalize"})}, stubs={"vectors": stub})
    (source,) = find_submissions([tmp_path], known)
    assert source.read().unread == ()
    (tmp_path / "ann" / "vectors.txt").write_bytes(CODE)
    assert topics(source.read()) == ["vectors"]


@pytest.mark.parametrize("shape", ["folder", "class.zip", "moodle.zip"])
@pytest.mark.parametrize("file", [".vectors.py.icloud", "__pycache__/vectors.cpython-312.pyc"])
def test_who_handed_in_a_file_that_is_not_the_work_itself_is_looked_at(tmp_path: Path, shape: str, file: str) -> None:
    """The mark of a file that is still in a cloud, or compiled code alone; beside work, that says nothing."""
    place = "{}_7{}_assignsubmission_file/{}" if shape == "moodle.zip" else "{0}/{2}"
    files = {place.format("Ann Lee", 1, file): b"\xa7\r\r\n\0"}
    for number, name in enumerate(("Bo Chen", "Cy Diaz"), 2):
        files |= {place.format(name, number, "vectors.py"): CODE}
        files |= {place.format(name, number, "__pycache__/vectors.cpython-312.pyc"): b"\xa7\r\r\n\0"}
    (tmp_path / "class.zip").write_bytes(zipped(files))
    if shape == "folder":
        with zipfile.ZipFile(tmp_path / "class.zip") as packed:
            packed.extractall(tmp_path / "class")
    found = find_submissions([tmp_path / ("class" if shape == "folder" else "class.zip")], TOPICS)
    ann, *others = (one.read() for one in found)
    assert (ann.name, [topics(one) for one in others]) == ("Ann Lee", [[], []])
    # A folder is listed without its caches.
    assert ("vectors" in topics(ann)) == (shape != "folder" or file.startswith("."))
