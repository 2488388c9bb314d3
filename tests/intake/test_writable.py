"""What no work folder can hold is left out with a note, however it was handed in, and never a topic's own file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from make_class_zips import tarred, zipped

from grader.intake.find import find_submissions
from grader.intake.submission import Submission
from grader.intake.writable import MOST_BYTES, MOST_ENTRIES, writable

OWN = {"own.py": b"x = 1\n"}
HAN = "漢"
MIB = 1 << 20


@pytest.mark.parametrize(
    ("others", "left_out", "words"),
    [
        ({f"{HAN * 86}.py": b""}, [f"{HAN * 86}.py"], "more than 255 bytes"),
        ({f"{HAN * 84}.py": b"", f"a/{HAN * 86}/b.py": b""}, [f"a/{HAN * 86}/b.py"], "more than 255 bytes"),
        ({"a.py": b"", "a.py/b.py": b"", "a.py/c/d.py": b""}, ["a.py/b.py", "a.py/c/d.py"], "a file and a folder"),
        ({"a/b/c.py": b"", "a/b": b""}, ["a/b/c.py"], "a file and a folder"),
        ({"own.py/b.py": b""}, ["own.py/b.py"], "a file and a folder"),
        (
            {"a\0.py": b"", "../b.py": b"", "/c.py": b"", "d//e.py": b""},
            ["../b.py", "/c.py", "a\0.py", "d//e.py"],
            "no file",
        ),
        ({"\udcff.py": b""}, ["\udcff.py"], "no text"),
        ({"d/" * 600 + "x.py": b""}, ["d/" * 600 + "x.py"], "too long"),
        ({f"d{at}.py": b"#" * MIB for at in range(9)}, ["d7.py", "d8.py"], "8,192 KiB"),
        ({f"{at:05}/x.py": b"" for at in range(MOST_ENTRIES // 2)}, ["00999/x.py"], "2,000 Python files and folders"),
        ({"Own.py": b"", "OWN.PY": b"", "con.py": b""}, [], ""),
    ],
)
def test_a_file_that_cannot_be_written_is_left_out(
    others: Mapping[str, bytes], left_out: list[str], words: str
) -> None:
    found, reasons = writable({**others, **OWN}, OWN)
    assert sorted(reasons) == left_out
    assert all(words in reason and "left out" in reason for reason in reasons.values())
    assert next(iter(found)) == "own.py" and found.keys() == {*others, *OWN} - set(left_out)


def test_a_topics_own_files_come_first_and_always_have_room() -> None:
    own = {f"t{at:02}.py": b"#" * MIB for at in range(20)}
    found, reasons = writable({"a.py": b"x", **own}, own)
    assert found == own and [*reasons] == ["a.py"]
    assert sum(map(len, found.values())) > MOST_BYTES


HOSTILE = {f"{HAN * 86}.py": b"y = 1\n", "a.py/b.py": b"", "a.py": b"z = 1\n", "tensor_ops.py/c.py": b""}


@pytest.mark.parametrize("name", ["bob.zip", "bob.tar.gz"])
def test_from_an_archive(tmp_path: Path, name: str) -> None:
    pack = zipped if name.endswith("zip") else tarred
    (tmp_path / "zz").mkdir()
    (tmp_path / "zz" / "tensor_ops.py").touch()
    (tmp_path / name).write_bytes(pack({**HOSTILE, "tensor_ops.py": b"x = 1\n"}))
    check(find_submissions([tmp_path], {"tensor_ops": ["gram"]})[0].read())


def test_from_a_folder_whose_notebook_has_the_name_of_another_folder(tmp_path: Path) -> None:
    folder = tmp_path / "bob"
    (folder / "a.py").mkdir(parents=True)
    (tmp_path / "zz").mkdir()
    (tmp_path / "zz" / "tensor_ops.py").touch()
    (folder / "a.py" / "b.py").write_text("y = 1\n")
    (folder / "tensor_ops.py").write_text("x = 1\n")
    cell = {"cell_type": "code", "source": "z = 1", "metadata": {}, "outputs": [], "execution_count": None}
    (folder / "a.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    submission = find_submissions([tmp_path], {"tensor_ops": ["gram"]})[0].read()
    assert sorted(submission.files) == ["a.py", "tensor_ops.py"]
    assert any("a file and a folder of that name: left out" in note for note in submission.note_lines)


def check(submission: Submission) -> None:
    assert sorted(submission.files) == ["a.py", "tensor_ops.py"]
    assert submission.files["tensor_ops.py"] == b"x = 1\n"
    notes = "\n".join(submission.note_lines)
    assert "more than 255 bytes" in notes and "a.py/b.py: there is a file and a folder" in notes
