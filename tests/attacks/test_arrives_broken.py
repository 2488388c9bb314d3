"""Submissions that cannot be read, imported or called as the contract says: one clear line each."""

from __future__ import annotations

from pathlib import Path

import pytest
from arena import EXERCISES, PROJECT, Arena, submission

from grader.intake.find import open_submission
from grader.intake.submission import Submission


@pytest.mark.parametrize(
    ("attack", "verdict"),
    [
        ("other_arity", "failed"),
        ("class_for_function", "failed"),
        ("value_for_function", "failed"),
        ("coroutine", "failed"),
        ("generator", "failed"),
        ("decorated", "passed"),
        ("missing_function", "failed"),
    ],
)
def test_a_wrong_kind_of_function_costs_that_exercise(arena: Arena, attack: str, verdict: str) -> None:
    arena.survive(attack, gram=verdict)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"def gram(x:\n", "SyntaxError"),
        (b"def gram(x):\n\treturn x\n        return x\n", "TabError"),
        (b"x = 1\0\ny = 2\n", "null bytes"),
        ("x = 1\n".encode("utf-16"), "is not saved as UTF-8"),
        (b"\xff\xfe\xfd", "SyntaxError"),
        (b"# -*- coding: nonsense -*-\n", "unknown encoding"),
        (b"import a_package_that_is_not_there\n", "ModuleNotFoundError: No module named 'a_package_that_is_not_there'"),
        (b"(" * 5000, "SyntaxError"),
        (b"-" * 500_000 + b"1", ""),
        (b"raise ValueError('no')", "ValueError: no"),
        (b"raise type('Own', (BaseException,), {})('no')", "Own: no"),
    ],
    ids=[
        "syntax",
        "tabs",
        "nul",
        "utf-16",
        "bytes",
        "encoding",
        "package",
        "parentheses",
        "minuses",
        "raises",
        "raises-base",
    ],
)
def test_a_file_that_cannot_be_imported(arena: Arena, tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "tensor_ops.py").write_bytes(content)
    message = arena.rejected(*read(tmp_path))
    assert message.startswith(("tensor_ops.py cannot be imported", "importing tensor_ops.py "))
    assert words in message


def test_a_byte_order_mark_is_fine(arena: Arena, tmp_path: Path) -> None:
    (tmp_path / "tensor_ops.py").write_bytes(b"\xef\xbb\xbf" + submission("broken_helper").files["tensor_ops.py"])
    name, files, notes = read(tmp_path)
    assert arena.attack(Submission(name, files, notes)).score == 4


def test_an_empty_file_defines_nothing(arena: Arena, tmp_path: Path) -> None:
    (tmp_path / "tensor_ops.py").write_bytes(b"")
    name, files, notes = read(tmp_path)
    result = arena.attack(Submission(name, files, notes))
    assert result.score == 0
    assert [exercise.checks[0].message for exercise in result.exercises] == [
        f"`{name}` is not defined in tensor_ops.py" for name in EXERCISES
    ]


def test_50_mb_are_not_read(arena: Arena, tmp_path: Path) -> None:
    with (tmp_path / "tensor_ops.py").open("wb") as file:
        file.truncate(50 << 20)
    assert arena.rejected(*read(tmp_path)) == "tensor_ops.py: larger than 1 MiB: not read"


def test_a_topic_that_is_missing(arena: Arena) -> None:
    assert arena.rejected("missing", {"autograd.py": b""}) == "tensor_ops.py is not in the submission"


def test_a_symbolic_link_is_not_followed(arena: Arena, tmp_path: Path) -> None:
    (tmp_path / "tensor_ops.py").symlink_to(PROJECT / "solutions" / "tensor_ops.py")
    assert "symbolic link" in arena.rejected(*read(tmp_path))


def read(folder: Path) -> tuple[str, dict[str, bytes], tuple[str, ...]]:
    found = open_submission(folder, ["tensor_ops"]).read()
    return found.name, found.files, found.notes


def test_files_that_cannot_be_written_cost_nothing(arena: Arena) -> None:
    honest = arena.honest.files
    odd = {
        **{f"d{at}.py": b"#" * (1 << 20) for at in range(20)},
        **{f"{at}/x.py": b"" for at in range(4_096)},
        **dict.fromkeys(
            ["\u6f22" * 86 + ".py", "tensor_ops.py/b.py", "a\0.py", "../c.py", "d" * 200 + "/e" * 900 + ".py"], b""
        ),
    }
    result = arena.attack(Submission("odd", {**odd, **honest}))
    assert result.score == len(EXERCISES)
    assert all("left out" in note for note in result.notes) and 0 < len(result.notes) <= 5
