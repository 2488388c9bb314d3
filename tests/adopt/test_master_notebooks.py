"""What instructors write for otter and nbgrader is read as these tools read it; tests that are texts with code, too."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from command_here import run_here

import grader
from grader.adopt.code_strings import is_code_strings, read_generated
from grader.adopt.master import NotebookQuestion
from grader.adopt.master_notebooks import read_master
from grader.adopt.notebook_course import adopt_notebooks
from grader.adopt.notebook_exercises import NotebookExercises
from grader.adopt.notebook_tests import Step, WrittenTest, function_of
from grader.course import Course
from grader.errors import UserError


def saved(folder: Path, cells: Sequence[tuple[str, str] | tuple[str, str, str]]) -> Path:
    """A notebook with these cells: kind, text, and perhaps the value that it shows."""
    made = []
    for kind, text, *value in cells:
        outputs = [{"output_type": "execute_result", "data": {"text/plain": one}} for one in value]
        made.append({"cell_type": kind, "metadata": {}, "source": text, "outputs": outputs})
    file = folder / "homework 1.ipynb"
    file.write_text(json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return file


def test_otters_older_form_has_its_marks_in_cells_of_text(tmp_path: Path) -> None:
    question = "**Question 1.** Square it.\n\n```\nBEGIN QUESTION\nname: q1\npoints:\n    each: 2\n```"
    file = saved(
        tmp_path,
        [
            ("markdown", "# Squares\n```\nBEGIN ASSIGNMENT\nfiles: [a.csv]\n```"),
            ("markdown", question.replace("```", "<!--", 1).replace("```", "-->")),
            ("code", "def square(x):\n    return x**2  # SOLUTION"),
            ("code", "## Test ##\nsquare(2)", "4"),
            ("code", "## Hidden Test ##\nsquare(3)", "9"),
            ("markdown", "## Ignore ##\nThe answer is 42."),
            ("code", "## ignore\nanswer = 42"),
            ("markdown", "The end."),
        ],
    )
    master = read_master(file)
    (found,) = master.questions
    assert (master.title, master.files, found.name, found.text) == (
        "Squares",
        ["a.csv"],
        "q1",
        "Question 1. Square it.",
    )
    assert [(test.place, test.is_hidden, test.steps) for test in found.tests] == [
        ("cell 4", False, (Step("square(2)", "4"),)),
        ("cell 5", True, (Step("square(3)", "9"),)),
    ]
    assert found.shares() == [2, 2]
    assert not {"BEGIN", "QUESTION", "42"} & set(re.findall(r"\w+", "".join(piece.text for piece in master.pieces)))


def test_otters_marks_may_be_in_fenced_cells_and_a_prompt_may_be_a_cell(tmp_path: Path) -> None:
    file = saved(
        tmp_path,
        [
            ("markdown", "```otter\n# BEGIN QUESTION\nname: plot\nmanual: true\npoints: 2\n```"),
            ("markdown", "Plot it."),
            ("markdown", "```otter\n# BEGIN PROMPT\n```"),
            ("code", "plt.plot(...)"),
            ("markdown", "```otter\n# END PROMPT\n```"),
            ("markdown", "```otter\n# BEGIN SOLUTION\n```"),
            ("code", "plt.plot(x)  # SOLUTION"),
            ("markdown", "```otter\n# END SOLUTION\n```"),
            ("markdown", "```otter\n# END QUESTION\n```"),
        ],
    )
    master = read_master(file)
    assert [(one.kind, one.text) for one in master.pieces] == [
        ("text", "Plot it."),
        ("prompt", "plt.plot(...)"),
        ("code", "# solution:\nplt.plot(x)\n# end"),
    ]
    assert master.questions[0].by_hand and master.questions[0].points == 2


def test_all_that_otter_reads_of_an_assignment_is_read(tmp_path: Path) -> None:
    (tmp_path / "config.yml").write_text("name: dice\nfiles: [pages]\ngenerate: {seed: 7}\n")
    fences = ["# BEGIN QUESTION\nname: q1", "# BEGIN SOLUTION"]
    file = saved(
        tmp_path,
        [
            ("raw", "# ASSIGNMENT CONFIG\nconfig_file: config.yml\nautograder_files: [answers.csv]"),
            ("code", "# Begin\nimport otter; grader = otter.Notebook()"),
            ("code", "import otter; import math\n%matplotlib inline\nimport numpy as np\ngrader = otter.Notebook()"),
            ("markdown", "```otter\n{}\n```\nRoll it.\n```otter\n{}\n```\n".format(*fences)),
            ("code", "first = np.random.random()  # SOLUTION (one number)\nsecond = 1 # SOLUTION NO PROMPT"),
            ("markdown", "It is one number."),
            ("raw", "# END SOLUTION"),
            ("raw", "# BEGIN TESTS"),
            ("code", "# Hidden test: the number\nfirst < 1", "True"),
            ("code", "def its_type(first, np):\n    assert isinstance(first, float)\n\nits_type(first, np)  # IGNORE"),
            ("raw", "# END TESTS"),
            ("raw", "# END QUESTION"),
            ("code", "grader.export(\n    pdf=False\n)"),
            ("code", '""" # BEGIN PLUGIN\nplugin: a.B\n"""; # END PLUGIN'),
        ],
    )
    master = read_master(file)
    seeds = "np.random.seed(7)\nrandom.seed(7)\n"
    assert (master.name, master.files, master.secret_files) == ("dice", ["pages"], ["answers.csv"])
    assert [(one.cell, one.text) for one in master.pieces] == [
        (1, "import random\n\nimport numpy as np"),
        (3, "import math\npass  # left out: %matplotlib inline\nimport numpy as np"),
        (4, "Roll it."),
        (5, f"{seeds}# solution:\nfirst = np.random.random()\nsecond = 1\n# end"),
    ]
    hidden, shown = master.questions[0].tests
    assert hidden.is_hidden and hidden.steps[1] == Step("first < 1", "True")
    exercises = NotebookExercises(master)
    made = function_of(shown, "test_q1", "dice", exercises.names, {})
    assert made.text.endswith("    its_type(first, np)\n") and seeds.partition("\n")[0] in made.text


def of_nbgrader(kind: str, text: str, **marks: object) -> dict[str, object]:
    """A cell of nbgrader's."""
    return {"cell_type": kind, "metadata": {"nbgrader": {"grade_id": "x", **marks}}, "source": text, "outputs": []}


def test_tests_of_nbgrader_become_assertions_or_say_why_not(tmp_path: Path) -> None:
    hidden = "\n# BEGIN HIDDEN TESTS\nassert f(9)\n# END HIDDEN TESTS"
    solution = of_nbgrader(
        "code", "def f(x):\n    ### <solution>\n    return x\n    ### </solution>" + hidden, solution=True
    )
    texts = [
        "# used for marking",
        "assert f(1) == 1\n### HASHED AUTOTEST f(3);",
        "x = 2\nif x:\n    # AUTOTEST [f(x)]; f(x) / 3",
        "## AUTOTEST unknown",
        "score = f(1)\nscore += f(1)\nscore",
        "assert f(2)\n# x <hidden> y\nassert f(3)\n# END HIDDEN TESTS of f\nassert f(4)",
    ]
    tests = [of_nbgrader("code", text, grade=True, points="2") for text in texts]
    file = tmp_path / "hw.ipynb"
    file.write_text(json.dumps({"cells": [solution, *tests], "metadata": {}}))
    (tmp_path / "nbgrader_config.py").write_text(
        'c = get_config()\nc.ClearSolutions.begin_solution_delimeter = "### <solution>"\n'
        'c.ClearSolutions.end_solution_delimeter = "### </solution>"\n'
        'c.ClearHiddenTests.begin_test_delimeter = "<hidden>"\n'
    )
    master = read_master(file)
    tests = master.questions[0].tests
    assert [(one.refused, one.is_hidden, one.points) for one in tests] == [
        ("asks for nothing: there are only comments in it", False, 2),
        ("", False, 0),
        ("", True, 2),
        ("", False, 2),
        ("has AUTOTEST lines, and the notebook gives no values for them when it is run", False, 2),
        ("", False, 1),
        ("", False, 1),
        ("", False, 0),
        ("", True, 2),
    ]
    assert master.pieces[0].text.endswith("    # solution:\n    return x\n    # end")
    assert tests[2].steps[0].code == "assert f(1) == 1\nassert type(f(3)) is int\nassert f(3) == 3"
    assert tests[3].steps[0].code.split("\n", 2)[2].split("\n    ") == [
        "    assert type([f(x)]).__name__ == 'list'",
        "assert str([f(x)]) == '[2]'",
        "assert type(f(x) / 3) is float",
        "assert round(f(x) / 3, 2) == 0.67",
    ]
    assert [one.steps[0].at_least for one in tests[5:7]] == [1, 2]
    assert [test.steps[0].code for test in tests[7:]] == [
        "assert f(2)\nassert f(4)",
        "assert f(2)\nassert f(3)\nassert f(4)",
    ]
    for text in (
        "c.A.begin_test_delimeter = MARK",
        'c.A = {"begin_test_delimeter": "x"}',
        "set(c.A.begin_test_delimeter)",
    ):
        (tmp_path / "nbgrader_config.py").write_text(text)
        with pytest.raises(UserError, match=r"nbgrader_config\.py:1: `begin_test_delimeter` is not a plain text"):
            read_master(file)


@pytest.mark.parametrize(
    ("points", "own", "shares"),
    [
        (None, [None, None], [0.5, 0.5]),
        (6, [2, 2, None, None], [2, 2, 1, 1]),
        (None, [2, None], [2, 0]),
        ([0, 1.5], [None, None], [0, 1.5]),
        ({"each": 3}, [None, None], [3, 3]),
    ],
)
def test_points_are_shared_out_as_otter_does(points: object, own: list[float | None], shares: list[float]) -> None:
    tests = [WrittenTest("cell 1", (), points=one) for one in own]
    assert NotebookQuestion("q1", 1, points=points, tests=tests).shares() == shares


def test_a_notebook_for_no_known_tool_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no question of otter's and no cell of nbgrader's"):
        read_master(saved(tmp_path, [("code", "x = 1")]))
    (tmp_path / "odd.ipynb").write_text('{"cells": [1]}')
    with pytest.raises(UserError, match="cannot be read as a notebook: it has no cells"):
        read_master(tmp_path / "odd.ipynb")
    for_r = {"cells": [], "metadata": {"kernelspec": {"language": "R"}}}
    (tmp_path / "odd.ipynb").write_text(json.dumps(for_r))
    with pytest.raises(UserError, match="is a notebook of R"):
        read_master(tmp_path / "odd.ipynb")
    with pytest.raises(UserError, match="cell 1: its YAML cannot be read: mapping values are not allowed here"):
        read_master(saved(tmp_path, question("q1", "points: 2: 3", "x = 1")))  # type: ignore[arg-type]


RELU = '''\
TASK = {
    "title": "Implement ReLU",
    "function_name": "relu",
    "hint": "x * (x > 0)",
    "tests": [
        {"name": "Basic values", "code": """
import torch
out = {fn}(torch.tensor([-2., 2.]))
assert torch.equal(out, torch.tensor([0., 2.])), f"got {out}"
"""},
        {"name": "Gradient flow", "hidden": True, "code": """
import torch
x = torch.tensor([-1., 0.5], requires_grad=True)
{fn}(x).sum().backward()
assert torch.equal(x.grad, torch.tensor([0., 1.]))
"""},
    ],
    "solution": "import torch\\n\\n\\ndef relu(x):\\n    return x * (x > 0)\\n",
}
'''
OK = """\
test = {"name": "q1", "points": 2, "suites": [{"type": "doctest", "cases": [
    {"code": ">>> square(3)\\n9", "hidden": False},
    {"code": ">>> y = square(2)\\n>>> print(y + 1)\\n5", "hidden": True},
]}]}
"""

MORE = r"""
    {"code": ">>> for k in (1, 2):\n...     print(square(k))\n1\n4", "points": 0},
    {"code": ">>> square(.3) # doctest: +ELLIPSIS\n0.0...", "points": 0},
    {"code": ">>> print(square(1), '\\n')\n1 \n<BLANKLINE>", "points": 0},
    {"code": ">>> square([])\nTraceback (most recent call last):\nTypeError: no []", "points": 0},
    {"code": ">>> 'square' in dir()\nTrue\n>>> square(1)\n1", "points": 0},
"""


@pytest.mark.slow
def test_folders_of_tests_that_are_texts_with_code_become_courses(tmp_path: Path) -> None:
    for folder, name, text in (("tasks", "relu", RELU), ("homework/tests", "q1", OK.replace("\n", MORE, 1))):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / f"{name}.py").write_text(text)
    (tmp_path / "homework/solved.py").write_text(
        "def square(x):\n    if x == []:\n        raise TypeError('no []')\n    return x * x\n"
    )
    (tmp_path / "plain.py").write_text("def test_it():\n    assert True\n")
    assert is_code_strings(tmp_path / "tasks/relu.py") and not is_code_strings(tmp_path / "plain.py")
    for folder, exercise, points in (("tasks", "relu.relu", 2), ("homework/tests", "homework.square", 2)):
        done = run_here("adopt", folder, "--to", f"{folder}-course", cwd=tmp_path)
        assert done.returncode == 0 and "look at" not in done.stdout, done.stdout + done.stderr
        stub = (tmp_path / f"{folder}-course/exercises" / f"{exercise.partition('.')[0]}.py").read_text()
        assert "raise NotImplementedError" in stub and "x * " not in stub
        done = run_here("verify", "--course", f"{folder}-course", cwd=tmp_path)
        assert exercise in done.stdout and "the course is sound" in done.stdout, done.stdout + done.stderr
        assert f"points = {points}\n" in (tmp_path / f"{folder}-course/course.toml").read_text()
    tests = (tmp_path / "homework/tests-course/tests/test_homework.py").read_text()
    assert r"readouterr().out.strip() == '1\n4'" in tests and "assert str(raised) == 'no []'" in tests
    made = Course.load(tmp_path / "tasks-course").exercise("relu.relu")
    assert (made.tests, made.hidden_tests) == (
        ("test_relu.py::test_basic_values",),
        ("test_relu.py::test_gradient_flow",),
    )
    assert made.hints == ("x * (x > 0)",)


OF_OTTER = """\
from otter.test_files import test_case
OK_FORMAT = False
name = "q2"
points = None
all_or_nothing = True


@test_case(points=None, hidden=False)
def check_cube(cube):
    assert cube(2) == 8


@test_case(points=None, hidden=True, failure_message="No cube.")
def check_zero(cube):
    assert cube(0) == 0
"""


def test_a_notebook_that_otter_has_made_has_its_tests_in_it_or_beside_it(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/q2.py").write_text(OF_OTTER)
    texts = [
        "import otter\ngrader = otter.Notebook('hw.ipynb')",
        "def square(x):\n    return x * x # SOLUTION",
        'grader.check("q1")',
        "def cube(x):\n    return x**3",
        "grader.check('q2')",
        "shown = cube(3)",
    ]
    cells = [{"cell_type": "code", "metadata": {}, "source": one, "outputs": []} for one in texts]
    own = {"OK_FORMAT": True, "tests": {"q1": {**ast.literal_eval(OK.partition("=")[2].strip()), "points": None}}}
    file = tmp_path / "hw.ipynb"
    file.write_text(json.dumps({"cells": cells, "metadata": {"otter": own}}))
    master = read_generated(file)
    assert master is not None
    square, cube = master.questions
    assert (square.name, square.shares(), square.all_or_nothing) == ("q1", [0.5, 0.5], False)
    assert (cube.name, cube.shares(), cube.all_or_nothing) == ("q2", [0.5, 0.5], True)
    assert [one.is_hidden for one in cube.tests] == [False, True] and cube.tests[1].says == "No cube."
    assert cube.tests[0].steps == (Step("def check_cube(cube):\n    assert cube(2) == 8", None),)
    assert [(one.question, "# solution:" in one.text) for one in master.pieces] == [(0, True), (1, True), (-1, False)]
    assert read_generated(saved(tmp_path, [("code", "x = 1")])) is None


@pytest.mark.slow
def test_a_test_may_be_a_function_of_a_module_beside_the_notebook(tmp_path: Path) -> None:
    modules = {
        "helpers": "from deeper import TWO\n\n\ndef load():\n    return [1, TWO]\n",
        "deeper": "TWO = 2\n",
        "utils_of_tests": "PASSED = 'All tests passed!'\n",
        "public_tests": (
            "from utils_of_tests import PASSED\n\n\ndef double_test(target, data):\n"
            "    assert target(3) == 6, f'{target.__name__}(3)'\n    assert target(data) == [1, 2, 1, 2]\n"
            "    print(PASSED)\n\n\ndef test_word(target):\n    try:\n        assert target('a') == 'A'\n"
            "    except AssertionError:\n        print('1 Tests failed')\n    else:\n        print(PASSED)\n"
        ),
    }
    for name, text in modules.items():
        (tmp_path / f"{name}.py").write_text(text)
    cells = [
        ("code", "from public_tests import *\nfrom helpers import load\n%load_ext autoreload\ndata = load()"),
        ("markdown", "### Exercise 1\nDouble it."),
        (
            "code",
            "# UNQ_C1\n# GRADED FUNCTION: double\ndef double(x):\n    ### START CODE HERE ### (1 line)\n"
            "    y = 2 * x\n     ### END SOLUTION ###\n    return y",
        ),
        ("code", "seven = double(3) + 1\nprint(seven)\ndouble_test(double, data)"),
        ("code", "twice = [double(one) for one in data]\nassert len(twice) == 2"),
        ("code", "# GRADED FUNCTION: word\ndef word(x):\n    return x.upper()\nassert word('c') in 'CD'"),
        ("code", "import public_tests\npublic_tests.test_word(word)\nassert word('b') == 'B'"),
        ("code", "# GRADED FUNCTION: other\ndef other():\n    return 0"),
    ]
    adopted = adopt_notebooks([saved(tmp_path, cells)], course := tmp_path / "course")
    assert adopted.made[0] == "2 exercises with 5 tests, in tests/"
    assert adopted.look == ("cell 8: no test asks for it, so it gives no points",)
    begin = json.loads((course / "exercises/homework_1.ipynb").read_bytes())["cells"]
    handed_out = ["".join(cell["source"]) for cell in begin]
    assert "from helpers import load\npass  # left out: %load_ext autoreload\ndata = load()" in handed_out
    assert "seven = double(3) + 1\nprint(seven)" in handed_out and "y = 2" not in "".join(handed_out)
    assert {one.stem for one in (course / "exercises").glob("*.py")} == {"homework_1", "helpers", "deeper"}
    assert {one.stem for one in (course / "tests").glob("*.py")} == {"test_homework_1", *modules}
    solved = (course / "solutions/homework_1.py").read_text()
    for name, text in {"right": solved, "wrong": solved.replace("x.upper()", "x")}.items():
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / "homework_1.py").write_text(text)
    right, wrong = grader.grade([tmp_path / "class"], course, seed=1, jobs=1).submissions
    assert [one.score for one in right.exercises] == [1, 1]
    assert [one.score for one in wrong.exercises] == [1, 0] and "CD" not in "".join(handed_out)


def question(name: str, more: str, solution: str, *tests: tuple[str, str]) -> list[tuple[str, ...]]:
    """The cells of one question of otter's."""
    shown = [("code", *test) for test in tests]
    head = [("raw", f"# BEGIN QUESTION\nname: {name}\n{more}"), ("raw", "# BEGIN SOLUTION"), ("code", solution)]
    ends = [("raw", "# END TESTS"), ("raw", "# END QUESTION")]
    return [*head, ("raw", "# END SOLUTION"), ("raw", "# BEGIN TESTS"), *shown, *ends]


def test_what_changes_for_students_and_what_is_lost_is_said(tmp_path: Path) -> None:
    square = "def square(x):\n    return x * x  # SOLUTION"
    cells = [
        *question("q1", "points: 2", square, ("# HIDDEN\nsquare(2)", "4"), ("# HIDDEN\nsquare(3)", "9")),
        *question("q2", "", square.replace("square", "cube"), ("# HIDDEN\nx = 2\ncube(x)", "4")),
        *question("q3", "points: 3", "x = 1  # SOLUTION", ("# HIDDEN\ncallable(x)", "False"), ("x + 1", "2")),
        *question("q4", "points: [0, 1]", "x = 2  # SOLUTION\ny = 3  # SOLUTION", ("y > 2", "True"), ("%time y", "3")),
    ]
    (tmp_path / "helpers.py").write_text("def shout(text):\n    return text.upper()\n")
    (tmp_path / "words.txt").write_text("a\nbb\n")
    given = "import random, io\nfrom helpers import shout\nwords = open('words.txt').read().split()\n"
    draw = "def half(x):\n    return x / 2\n\n\ndef draw():\n    return half(random.random())  # SOLUTION"
    loud = "def loud():\n    return shout(words[1])  # SOLUTION"
    test = ("random.seed(3)\nfound = draw()\nrandom.seed(3)\nassert found == random.random() / 2", "")
    cells += [("code", given), *question("q5", "", draw, test)]
    cells += question("q6", "points: -3", "z = 1  # SOLUTION", ("z", "1"))
    nose = "from nose.tools import assert_equal, ok_\nok_(loud())\nassert_equal(loud(), 'BB')"
    cells += question("q7", "", loud, ("shout(loud()) == io.StringIO('BB').read()", "True"), (nose, ""))
    two = "u = 1  # SOLUTION\nv = 2  # SOLUTION"
    cells += question("q8", "points: [1, 3]", two, ("u > 1", "True"), ("# HIDDEN\nv", "2"))
    cells += question("q9", "points: [0, 2]", "s = 1  # SOLUTION", ("s > 0", "True"), ("# HIDDEN\ns", "5"))
    cells += [("raw", "# ASSIGNMENT CONFIG\nfiles: [pages, gone]\nautograder_files: [answers.csv]")]
    (tmp_path / "pages/inner").mkdir(parents=True)
    for name in ("pages/inner/a.txt", "answers.csv"):
        (tmp_path / name).write_text("1")
    table = [
        ("code", "import pandas as pd"),
        *question("r1", "", "w = pd.Series([5, 6])  # SOLUTION", ("sum(w > 5)", "1")),
    ]
    more = saved(tmp_path, table).rename(tmp_path / "more.ipynb")  # type: ignore[arg-type]
    file = saved(tmp_path, cells)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="two notebooks would be the topic `more`"):
        adopt_notebooks([file, more, more], tmp_path / "course")
    adopted = adopt_notebooks([file, more], tmp_path / "course")
    begin = tmp_path / "course" / "exercises"
    written = {f"{name}.{kind}" for name in ("homework_1", "more") for kind in ("py", "ipynb")}
    assert {one.name for one in begin.iterdir()} == {*written, "helpers.py", "nose.py", "words.txt", "pages"}
    assert (begin / "pages/inner/a.txt").is_file() and (begin.parent / "answers.csv").is_file()
    assert all("def half(x):" in (begin / f"homework_1.{kind}").read_text() for kind in ("py", "ipynb"))
    assert [line.removeprefix("homework 1, ").partition(" (")[0] for line in adopted.look] == [
        "gone: this file of the notebook is not there: put it into exercises/",
        "cell 15: students must see one test of each exercise: they get the text of this one",
        "cell 23: the test looks at the code of an answer, by `callable`, not at what it does: it is left out; "
        "write it anew, or mark it by hand",
        "cell 45: -3 is no number of points: it counts as 0",
        "cell 45: is worth no points: its tests are left out",
        "cell 67: the solution does not pass it here",
        "cell 77: the solution does not pass it here",
    ]
    assert "it is left out with 1 point; write it anew" in adopted.look[-2]
    manifest = (tmp_path / "course/course.toml").read_text()
    assert 'name = "x"\npoints = 3' in manifest and 'name = "y"\npoints = 1' in manifest
    assert "import pandas as pd\n" in (tmp_path / "course/tests/test_more.py").read_text()  # else `w` is no table
    assert 'name = "u"\npoints = 3' in manifest and 'name = "s"\nkind = "manual"\n' in manifest
    assert 'hidden_tests = [\n    "test_homework_1.py::test_q8_2",' in manifest  # another one shows that it is written
    assert "from homework_1 import x_at_24 as x" in (tmp_path / "course/tests/test_homework_1.py").read_text()
