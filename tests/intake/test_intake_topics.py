"""Which file is which topic: by name, else by what it defines; a doubt is noted and nothing is taken."""

from __future__ import annotations

from pathlib import Path

import pytest
from make_class_zips import notebook

from grader.course.definitions import defined_names, lines_in
from grader.intake.find import open_submission
from grader.intake.submission import Submission

TOPICS = {"tensor_ops": ["gram", "outer", "both"], "autograd": ["slope", "both"], "optim": ["step"]}
GRAM = b"def gram(x):\n    return x\n"


def read(folder: Path, **files: bytes) -> Submission:
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_bytes(content)
    (folder / "optim.py").touch()
    return open_submission(folder, TOPICS).read()


@pytest.mark.parametrize("name", ["my_tensor_ops", "TensorOps", "tensor ops (1)", "hw1-tensor-ops", "tensor_ops_final"])
def test_name_that_contains_the_topic_decides(tmp_path: Path, name: str) -> None:
    submission = read(tmp_path, **{f"{name}__py": b"x = 1\n"})
    assert list(submission.files) == ["optim.py", "tensor_ops.py"] and submission.note_lines == ()


@pytest.mark.parametrize("content", [GRAM, GRAM + b"def broken(:\n", b"class gram: pass\n", b"async def gram(x): pass"])
def test_definitions_decide_and_a_note_says_so(tmp_path: Path, content: bytes) -> None:
    submission = read(tmp_path, homework__py=content)
    assert submission.files == {"optim.py": b"", "tensor_ops.py": content}
    assert submission.note_lines == ("tensor_ops.py: taken from homework.py, which defines gram",)


def test_one_notebook_may_be_several_topics(tmp_path: Path) -> None:
    submission = read(tmp_path, all__ipynb=notebook("def gram(x): ...", "def slope(f): ..."))
    assert sorted(submission.files) == ["autograd.py", "optim.py", "tensor_ops.py"]
    assert "tensor_ops.py: taken from all.ipynb, which defines gram" in submission.note_lines


@pytest.mark.parametrize("folder", [".", "exercises"])
def test_what_was_left_out_of_a_notebook_is_noted_on_the_topic_that_it_was_taken_for(
    tmp_path: Path, folder: str
) -> None:
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / "optim.py").touch()
    (tmp_path / folder / "all.ipynb").write_bytes(notebook("def gram(x): ...", "def broken(:"))
    submission = open_submission(tmp_path, TOPICS).read()
    (left_out, taken) = submission.notes_on("tensor_ops.py")
    assert left_out.startswith("tensor_ops.py: all.ipynb: cell 3: cannot be parsed")
    assert taken.endswith("all.ipynb, which defines gram")


def test_exercise_of_two_topics_does_not_decide(tmp_path: Path) -> None:
    assert sorted(read(tmp_path, homework__py=b"def both(): ...").files) == ["homework.py", "optim.py"]


def test_two_files_for_one_topic_are_a_doubt_and_none_is_taken(tmp_path: Path) -> None:
    submission = read(tmp_path, a__py=GRAM, b__py=GRAM)
    assert "tensor_ops.py" not in submission.files
    assert [*submission.notes_on("tensor_ops.py")] == [
        "tensor_ops.py: could be any of a.py, b.py: none was taken; one of them must be called tensor_ops.py"
    ]


def test_file_with_the_very_name_counts_and_the_other_is_mentioned(tmp_path: Path) -> None:
    submission = read(tmp_path, tensor_ops__py=GRAM, old_tensor_ops__py=GRAM)
    assert submission.files["tensor_ops.py"] == GRAM
    assert submission.note_lines == ("old_tensor_ops.py: not taken for tensor_ops, as tensor_ops.py is there",)


def test_module_and_notebook_of_one_topic_the_module_counts(tmp_path: Path) -> None:
    submission = read(tmp_path, tensor_ops__py=GRAM, tensor_ops__ipynb=notebook("x = 1"))
    assert submission.files["tensor_ops.py"] == GRAM
    assert submission.note_lines == ("tensor_ops.py: handed in twice; tensor_ops.py counts, not tensor_ops.ipynb",)


def test_why_a_notebook_is_missing_is_noted_on_its_topic(tmp_path: Path) -> None:
    submission = read(tmp_path, tensor_ops__ipynb=b"not json")
    assert "not JSON" in next(submission.notes_on("tensor_ops.py"))


def test_helpers_stay_as_they_are(tmp_path: Path) -> None:
    submission = read(tmp_path, helper__py=b"def gram_helper(): ...", tensor_ops__py=GRAM)
    assert sorted(submission.files) == ["helper.py", "optim.py", "tensor_ops.py"] and submission.note_lines == ()


def test_empty_submission_says_so(tmp_path: Path) -> None:
    (tmp_path / "exercises").mkdir()
    (tmp_path / "exercises" / "tensor_ops.py").mkdir()
    assert open_submission(tmp_path, TOPICS).read().note_lines == ("tensor_ops.py: a folder, not a file",)


@pytest.mark.parametrize(
    "content", [b"\xff\xfe\0", b"\0", b"(" * 10_000, b"-" * 50_000 + b"1", b"\xef\xbb\xbfx=1", b"\t \tx"]
)
def test_no_content_disturbs_the_search_for_definitions(content: bytes) -> None:
    assert defined_names(lines_in(content)) in ([], ["x"])
