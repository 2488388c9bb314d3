"""Ready notebooks: their cells are the stub, and a folder has either a notebook or a file for a topic."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from shared import OWN_COURSE

from grader.course import Course
from grader.course.handout import init, notebook_of
from grader.course.update import reset, update
from grader.errors import UserError

SHIPPED, OWN = Course.load(None), Course.load(OWN_COURSE)


@pytest.mark.parametrize("topic", [topic.name for topic in SHIPPED.topics])
def test_the_code_of_a_notebook_is_that_of_the_stub(topic: str) -> None:
    stub = SHIPPED.stub_file(topic).read_bytes()
    whole = notebook_of(SHIPPED, SHIPPED.topic(topic), stub)
    assert whole == notebook_of(SHIPPED, SHIPPED.topic(topic), stub)
    cells = json.loads(whole)["cells"]
    install, *code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert install.endswith("%pip install --quiet torchkata")
    checks = [f'check("{exercise.full_name}")' for exercise in SHIPPED.topic(topic).exercises]
    assert [text for text in code if text.startswith("check(")] == checks
    assert code[-1] == f'from grader import ask\n\nask("{topic}")'
    for exercise, check in zip(SHIPPED.topic(topic).exercises, checks, strict=True):
        above = code[code.index(check) - 1]
        assert f"def {exercise.name}(" in above or f"class {exercise.name}" in above
    statements = [
        ast.dump(node)
        for text in code
        for node in ast.parse(text).body
        if not text.startswith("check(")
        and text != code[-1]
        and not (isinstance(node, ast.ImportFrom) and node.module == "grader")
    ]
    assert statements == [ast.dump(node) for node in ast.parse(stub).body[1:]]
    comments = [line for line in stub.decode().splitlines() if line.lstrip().startswith("#")]
    assert [line for text in code for line in text.splitlines() if line.lstrip().startswith("#")] == comments
    assert "".join(cells[0]["source"]).startswith(f"# {SHIPPED.topic(topic).title}\n")


def test_no_cell_begins_with_the_end_of_a_function() -> None:
    """Older versions of IPython take the first line's indentation from every line of a cell."""
    for topic in SHIPPED.topics:  # solutions have a comment after the last statement of many functions
        solution = SHIPPED.solution_file(topic.name).read_bytes()
        cells = json.loads(notebook_of(SHIPPED, topic, solution))["cells"]
        assert not [cell["source"][0] for cell in cells if cell["source"][0].startswith(" ")]


def test_a_folder_has_notebooks_or_files_and_an_update_brings_no_file_beside_a_notebook(tmp_path: Path) -> None:
    written = init(OWN, tmp_path, notebooks=True)
    assert {file.name for file in written} == {"vectors.ipynb", "README.md", ".gitignore", "tasks.json"}
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "`vectors.ipynb`" in readme and 'check("vectors.normalize")' in readme
    assert init(OWN, tmp_path, notebooks=True) == []
    with pytest.raises(UserError, match=r"already has vectors\.ipynb"):
        init(OWN, tmp_path)
    assert update(OWN, tmp_path) == [] and not (tmp_path / "vectors.py").exists()
    (tmp_path / ".torchkata" / "stubs" / "vectors.py").write_text("old")
    (change,) = update(OWN, tmp_path)
    assert change.is_problem and "the exercises have changed" in change.text
    with pytest.raises(UserError, match="is a notebook"):
        reset(OWN, tmp_path, "vectors.normalize")
