"""Which parts of a notebook's cells are graded."""

from __future__ import annotations

import pytest
from shared import OWN_COURSE

from grader.course import Course
from grader.intake.submission import Submission
from grader.notebook.cells import defined_topics, submission_of

COURSE = Course.load(OWN_COURSE)
SHIPPED = Course.load(None)


def module(*cells: str, wanted: tuple[str, ...] = ("vectors",)) -> str:
    return submission_of(cells, COURSE, wanted, None).files["vectors.py"].decode()


def lines(*cells: str) -> list[str]:
    return [line for line in module(*cells).splitlines() if line and not line.startswith("#")]


def test_definitions_imports_and_what_they_need_are_taken() -> None:
    taken = lines(
        "from grader import check\nimport torch, math\nimport matplotlib.pyplot as plt",
        "%matplotlib inline\n!pip install einops",
        "SMALL = 1e-12\nlosses = []",
        "def normalize(x):\n    return torch.clamp(x, SMALL)",
        "for epoch in range(10**9):\n    losses.append(normalize(epoch))\nplt.plot(losses)",
        "result = check('vectors.normalize')\nresult",
    )
    assert taken == ["import torch, math", "SMALL = 1e-12", "def normalize(x):", "    return torch.clamp(x, SMALL)"]


def test_lines_keep_the_number_of_their_cell() -> None:
    found = module("print(1)", "", "def normalize(x):\n    return x").splitlines()
    assert found.index("def normalize(x):") == found.index("# In [3]") + 1


def test_cells_that_cannot_be_parsed_harm_no_other() -> None:
    assert lines("def cosine(:", "def normalize(x): return x") == ["def normalize(x): return x"]


def test_of_a_long_session_the_newest_cells_count() -> None:
    old = [f"def normalize(x):\n    return '{'x' * 50_000}{number}'" for number in range(60)]
    text = module(*old, "def normalize(x):\n    return 'last'")
    assert text.rstrip().endswith("return 'last'") and len(text) < 1 << 20
    assert "\n".join(lines(*["def normalize(x):\n    return 1"] * 100)).count("return 1") == 1


def test_topics_of_other_files_are_beside_those_of_the_notebook() -> None:
    others = Submission("folder", {"vectors.py": b"old", "helper.py": b"x = 1"})
    made = submission_of(["def normalize(x): pass"], COURSE, (), others)
    assert set(made.files) == {"vectors.py", "helper.py"} and b"normalize" in made.files["vectors.py"]


@pytest.mark.parametrize("cells", [[], ["", "1 / 0"], ["def f(:"]])
def test_nothing_is_defined(cells: list[str]) -> None:
    assert defined_topics(cells, COURSE) == []
    assert set(submission_of(cells, COURSE, ["vectors"], None).files) == {"vectors.py"}


def test_what_runs_as_a_script_runs_as_its_stub_does() -> None:
    """In a notebook ``__name__`` is always ``"__main__"``: what stands under it in cells is no part of the program."""
    cells = ["def main():\n    print('main')", "if __name__ == '__main__':\n    main(); 1 / 0"]
    made = submission_of([*cells, cells[1] + "  # again"], SHIPPED, ["ddp"], None).files["ddp.py"].decode()
    assert made.rstrip().endswith('if __name__ == "__main__":\n    main()') and "1 / 0" not in made
    assert made.count("__name__") == 1


@pytest.mark.parametrize("topic", [topic.name for topic in SHIPPED.topics])
def test_of_a_whole_solution_nothing_that_it_needs_is_lost(topic: str) -> None:
    solution = SHIPPED.solution_file(topic).read_text(encoding="utf-8")
    made = submission_of([solution], SHIPPED, [topic], None).files[f"{topic}.py"].decode()
    assert made.count("if __name__") == solution.count("if __name__")
    names: dict[str, object] = {"__name__": topic}
    exec(compile(made, f"{topic}.py", "exec"), names)
    wanted: dict[str, object] = {"__name__": topic}
    exec(compile(solution, f"{topic}.py", "exec"), wanted)
    public = {name for name in wanted if not name.startswith("_") and name != "annotations"}
    assert {exercise.name for exercise in SHIPPED.topic(topic).exercises} <= names.keys()
    used = {name for name in public if callable(wanted[name]) and getattr(wanted[name], "__module__", "") == topic}
    assert used <= names.keys()
    assert defined_topics([solution], SHIPPED) == [topic]
