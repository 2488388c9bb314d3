"""What a topic and the checks may import: other modules of the submission, and files beside the checks."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from judge_here import desk_here

from grader.border.proxies import SubmissionProxy
from grader.kit import let_checks_import
from grader.testkit import probes

TOPIC = """
def answer():
    from other import Kind
    return Kind.number

def same():
    from other import Kind
    first = Kind
    import other
    return first is other.Kind
"""


def folder_with(folder: Path, number: int) -> Path:
    folder.mkdir()
    (folder / "topic.py").write_text(TOPIC)
    (folder / "other.py").write_text(f"class Kind:\n    number = {number}\n")
    return folder


def test_a_topic_imports_the_other_modules_of_its_own_folder_in_its_functions(tmp_path: Path) -> None:
    one, two = (SubmissionProxy(desk_here(folder_with(tmp_path / str(n), n), "topic").channel()) for n in (1, 2))
    assert [one.answer(), two.answer(), one.answer()] == [1, 2, 1]
    assert one.same()
    assert "other" not in sys.modules
    assert str(tmp_path / "1") not in sys.path


def test_a_check_can_use_a_class_of_another_topic(tmp_path: Path) -> None:
    submission = SubmissionProxy(desk_here(folder_with(tmp_path / "3", 3), "topic").channel())
    assert submission.there(probes.imported, "other", "Kind").number == 3


def test_checks_import_the_files_beside_them_and_never_those_of_another_course(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "expected.py").write_text(f"NAME = {name!r}\n")
    found = []
    for name in ("one", "two", "two"):
        let_checks_import(tmp_path / name)
        found.append(importlib.import_module("checks.expected").NAME)
    assert found == ["one", "two", "two"]
