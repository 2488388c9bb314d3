"""What `grader check --format concise` prints is read by the problem matcher that `init` writes for VS Code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from make_class_zips import notebook
from shared import OWN_COURSE, WarmUp

from grader.course import Course
from grader.course.handout import init
from grader.intake.find import open_submission
from grader.intake.notebook import module_of
from grader.intake.submission import Submission
from grader.reports.states import concise_lines
from grader.reports.where import Locations

COURSE = Course.load(OWN_COURSE)
STUB = (OWN_COURSE / "exercises" / "vectors.py").read_text()
SOLUTION = (OWN_COURSE / "solutions" / "vectors.py").read_text()
Problem = tuple[str, int, str]


def answered(**bodies: str) -> str:
    """The stub with these bodies of functions."""
    text = STUB
    for name, body in bodies.items():
        text = text.replace(f'raise NotImplementedError("write `{name}` here")', body)
    return text


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def matched(folder: Path, line: str) -> Problem | None:
    """File, line and message as the editor reads them, by an expression that JavaScript reads as Python does."""
    tasks = json.loads((folder / ".vscode" / "tasks.json").read_text())["tasks"]
    matcher, of_notes = tasks[0]["problemMatcher"]
    assert all(task["problemMatcher"] == [matcher, of_notes] for task in tasks)
    pattern = matcher["pattern"]
    assert "(?P" not in pattern["regexp"] and "(?<" not in pattern["regexp"]
    found = re.search(pattern["regexp"], line)
    return (found[pattern["file"]], int(found[pattern["line"]]), found[pattern["message"]]) if found else None


def is_note(folder: Path, line: str) -> bool:
    """Whether the editor lists a line as a note."""
    pattern = json.loads((folder / ".vscode" / "tasks.json").read_text())["tasks"][0]["problemMatcher"][0]["pattern"]
    found = re.search(pattern["regexp"], line)
    return found is not None and found[pattern["severity"]] == "note"


RAISES = answered(normalize="return undefined_name(x)")
RAISES_ITS_OWN = answered(normalize='raise RuntimeError("odd")')
LOOPS = answered(normalize="while True:\n        pass")
ENDS = answered(normalize="import os\n    os._exit(3)")
WRONG = answered(normalize="return x + 1")
NOT_PYTHON = answered(normalize="return x +* 1")
NO_IMPORT = "import torch\n\nnormalize = cosine = 1 / 0\n"
KINDS: dict[str, tuple[str, str, str]] = {
    "a wrong answer": (WRONG, "def normalize", "vectors.normalize: "),
    "an exception": (RAISES, "return undefined_name", "vectors.normalize: `undefined_name` is not defined"),
    "an exception of its own": (
        RAISES_ITS_OWN,
        "raise RuntimeError",
        "vectors.normalize: your code raised RuntimeError: odd, for valid input: normalize(tensor([[3., 4.], ",
    ),
    "a timeout": (LOOPS, "while True", "vectors.normalize: no answer in 2 s; it was in line "),
    "a crash": (ENDS, "def normalize", "vectors.normalize: your code ended the process"),
    "a syntax error": (NOT_PYTHON, "return x +*", "vectors: vectors.py cannot be imported: SyntaxError in line "),
    "an import that fails": (NO_IMPORT, "normalize =", "vectors: vectors.py cannot be imported: "),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_editor_finds_file_line_and_sentence(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warm: WarmUp
) -> None:
    text, part, message = KINDS[kind]
    folder = tmp_path / "my kata 1:2"
    init(COURSE, folder)
    (folder / "vectors.py").write_text(text)
    submission = open_submission(folder, {"vectors": ["normalize", "cosine"]}).read()
    result = warm(OWN_COURSE, check_seconds=2.0).of(submission)
    for here, file in ((folder, "vectors.py"), (tmp_path, "my kata 1:2/vectors.py"), (folder / ".vscode", None)):
        monkeypatch.chdir(here)
        *lines, points = concise_lines(result, Locations(folder, submission.files))
        problems = [line for line in lines if not is_note(folder, line)]
        assert len(problems) == 1 and matched(folder, points) is None
        found = matched(folder, problems[0])
        assert found is not None
        assert found[:2] == (file or str(folder / "vectors.py"), line_of(text, part)), problems
        assert found[2].startswith(message)


@pytest.mark.slow
def test_what_is_not_written_is_a_note_and_a_notebook_is_opened(tmp_path: Path, warm: WarmUp) -> None:
    init(COURSE, tmp_path)
    untouched = warm(OWN_COURSE, check_seconds=2.0).of(Submission("s", {"vectors.py": STUB.encode()}))
    note, points = concise_lines(untouched, Locations(tmp_path, {"vectors.py": STUB.encode()}))
    first = (str(tmp_path / "vectors.py"), line_of(STUB, "def normalize"), "vectors.normalize: not written yet")
    assert is_note(tmp_path, note) and matched(tmp_path, note) == first
    assert points == "0/3 points, 0.0%" and matched(tmp_path, points) is None
    (tmp_path / "vectors.py").unlink()
    (tmp_path / "vectors.ipynb").write_bytes(notebook(WRONG))
    module = module_of(notebook(WRONG))[0] or b""
    result = warm(OWN_COURSE, check_seconds=2.0).of(Submission("s", {"vectors.py": module}))
    problem, _ = concise_lines(result, Locations(tmp_path, {"vectors.py": module}))
    found = matched(tmp_path, problem)
    assert found is not None and found[:2] == (str(tmp_path / "vectors.ipynb"), 1)


def test_a_drive_letter_is_a_part_of_the_file(tmp_path: Path) -> None:
    init(COURSE, tmp_path)
    line = r"C:\Users\me\my kata\vectors.py:12: vectors.cosine: shape (2,) where () was expected at a.py:3: x"
    assert matched(tmp_path, line) == (
        r"C:\Users\me\my kata\vectors.py", 12, "vectors.cosine: shape (2,) where () was expected at a.py:3: x"
    )  # fmt: skip


def test_a_note_about_a_file_is_listed_with_it(tmp_path: Path) -> None:
    init(COURSE, tmp_path)
    _, matcher = json.loads((tmp_path / ".vscode" / "tasks.json").read_text())["tasks"][0]["problemMatcher"]
    pattern = matcher["pattern"]
    found = re.search(pattern["regexp"], "note: old_vectors.py: not taken for vectors, as vectors.py is there")
    assert found is not None and (matcher["severity"], pattern["kind"]) == ("info", "file")
    assert found[pattern["file"]] == "old_vectors.py" and found[pattern["message"]].startswith("not taken for vectors")
