"""Code beside the answers, in notebooks and scripts: what fails or never ends costs only what needs it, and is said."""

from __future__ import annotations

import pytest
from make_class_zips import OWN, SOLUTION, notebook
from shared import OWN_COURSE, WarmUp, exercise_of

from grader.course import Course
from grader.intake.assemble import assemble
from grader.intake.bag import Bag
from grader.intake.submission import UNKNOWN, Submission
from grader.intake.topics import Topics
from grader.results import SubmissionResult
from grader.student.statements import needed, statements_of

ANSWERS = SOLUTION.decode()
IMPORTS, _, FUNCTIONS = ANSWERS.partition("\n\n\ndef normalize")
FUNCTIONS = "def normalize" + FUNCTIONS
NORMALIZE, _, COSINE = FUNCTIONS.partition("\n\n\ndef cosine")
COSINE = "def cosine" + COSINE
FOREVER = "while True: __import__('time').sleep(1)"
SECONDS = 8.0
"""Of a topic, where something never ends: a quarter of it for the first import."""


def handed_in(name: str, content: bytes) -> Submission:
    """One file as a submission."""
    bag = Bag()
    bag.files[name] = content
    course = Course.load(OWN)
    topics = Topics.of({topic.name: [one.name for one in topic.exercises] for topic in course.topics})
    return assemble("somebody", bag, topics, UNKNOWN)


def graded(warm: WarmUp, submission: Submission) -> SubmissionResult:
    return warm(OWN_COURSE, check_seconds=2.0, topic_seconds=SECONDS).of(submission)


SCRATCH = {
    "a future import": "from __future__ import annotations\nimport math",
    "a package that is not installed": "import seaborn as sns, json\nsns.lineplot([1, 2])",
    "a drive of Colab": "from google.colab import drive\ndrive.mount('/content/drive')",
    "a display": "display(normalize(torch.ones(2, 2)))",
    "a file": "import csv\nrows = list(csv.reader(open('data.csv')))",
    "a question": "n = int(input('n? '))",
    "magics": "%matplotlib inline\n!pip install einops\nprint(1)",
    "a call that raises": "print(cosine(1, 2))",
    "an exit": "import sys\nsys.exit(0)",
    "too much memory": "rows = [torch.empty(1 << 28) for _ in range(30)]",
    "training": "import time\nwhile True:\n    time.sleep(0.1)",
    "half a package": "import torch.no_such_part\nfrom torch import Tensor, no_such_name",
}


@pytest.mark.slow
@pytest.mark.parametrize("scratch", SCRATCH.values(), ids=SCRATCH)
def test_a_scratch_cell_costs_a_right_notebook_nothing(warm: WarmUp, scratch: str) -> None:
    work = handed_in("vectors.ipynb", notebook(IMPORTS, NORMALIZE, scratch, COSINE))
    result = graded(warm, work)
    assert (result.score, result.max) == (3, 3), (result.notes, result.exercises)
    for note in result.notes:
        assert "cell 4" in note and "cell 3" not in note, note


@pytest.mark.slow
@pytest.mark.parametrize("scratch", ["display(normalize(torch.ones(2, 2)))", FOREVER])
def test_a_script_is_graded_with_a_note_that_names_the_lines(warm: WarmUp, scratch: str) -> None:
    text = f"{IMPORTS}\n\n\n{FUNCTIONS}\n\n{scratch}\n"
    line = text[: text.index(scratch)].count("\n") + 1
    result = graded(warm, handed_in("vectors.py", text.encode()))
    assert result.score == 3
    (note,) = result.notes
    assert note.startswith(f"vectors.py: line {line} ") or note.startswith(f"vectors.py: line {line + 1} "), note
    assert 'under `if __name__ == "__main__":`' in note and "graded without what no definition needs" in note


@pytest.mark.slow
def test_what_needs_a_line_that_failed_says_so_and_the_rest_is_graded(warm: WarmUp) -> None:
    limits = "import json\nTINY = json.load(open('settings.json'))['tiny']\n"
    cosine = "\n\ndef cosine(a, b):\n    return (normalize(a) * normalize(b)).sum(1) + 0 * TINY\n"
    result = graded(warm, handed_in("vectors.py", f"{IMPORTS}\n{limits}\n\n{NORMALIZE}\n{cosine}".encode()))
    assert result.score == 1
    line = f"{IMPORTS}\n{limits}".count("\n")
    message = exercise_of(result, "cosine").checks[0].message
    assert message.startswith(f"`TINY` has no value, as line {line} of vectors.py raised FileNotFoundError"), message
    assert any("and with it TINY" in note for note in result.notes)


@pytest.mark.slow
def test_an_older_value_does_not_take_the_place_of_one_that_failed(warm: WarmUp) -> None:
    """The constant was right before, and a name of Python's own would do as well: neither may be taken."""
    before = "SIGN = 1\nSIGN = int(open('sign').read())\nfrom no_such_package import sum\n\n\n"
    uses = NORMALIZE.replace("return ", "return SIGN * ")
    cosine = "\n\ndef cosine(a, b):\n    return torch.stack([sum(x * y) for x, y in zip(a, b)])\n"
    result = graded(warm, handed_in("vectors.py", f"{IMPORTS}\n{before}{uses}\n{cosine}".encode()))
    assert result.score == 0
    assert "`SIGN` has no value" in exercise_of(result, "normalize").checks[0].message


@pytest.mark.slow
def test_an_exercise_that_could_not_be_defined_says_why(warm: WarmUp) -> None:
    work = f"{IMPORTS}\nimport no_such_package\n\n\n{NORMALIZE}\n\n\n@no_such_package.fast\n{COSINE}".encode()
    line = work[: work.index(b"import no_such")].count(b"\n") + 1
    result = graded(warm, handed_in("vectors.py", work))
    assert result.score == 1
    message = exercise_of(result, "cosine").checks[0].message
    assert message.startswith(f"`cosine` has no value, as line {line} of vectors.py raised ModuleNotFound"), message


@pytest.mark.slow
def test_what_a_definition_needs_and_never_ends_costs_only_that(warm: WarmUp) -> None:
    forever = f"\n\ndef wait():\n    {FOREVER}\n\n\nSIZE = wait()\n"
    work = f"{IMPORTS}\n{forever}\n\n{NORMALIZE}\n\n\ndef cosine(a, b):\n    return SIZE\n".encode()
    result = graded(warm, handed_in("vectors.py", work))
    assert result.score == 1
    assert "`SIZE` has no value" in exercise_of(result, "cosine").checks[0].message
    assert "did not end in time" in exercise_of(result, "cosine").checks[0].message


@pytest.mark.slow
def test_lines_of_failures_are_those_of_the_file(warm: WarmUp) -> None:
    wrong = "\n\ndef cosine(a, b):\n    raise ValueError('here')\n"
    text = f"{IMPORTS}\n\n\n{NORMALIZE}\ndisplay(1)\n{wrong}"
    result = graded(warm, handed_in("vectors.py", text.encode()))
    cause = exercise_of(result, "cosine").checks[0].cause
    assert cause is not None and cause.frames[-1].line == text.rstrip().count("\n") + 1
    assert cause.frames[-1].text == "raise ValueError('here')"


@pytest.mark.slow
def test_a_strict_course_takes_all_or_nothing(warm: WarmUp, own_course, edit) -> None:  # type: ignore[no-untyped-def]
    edit(own_course / "course.toml", "[course]\n", "[course]\nstrict_import = true\n")
    result = warm(own_course).of(handed_in("vectors.py", f"{ANSWERS}\ndisplay(1)\n".encode()))
    assert (result.score, result.notes) == (0, ())
    assert "cannot be imported" in result.exercises[0].checks[0].message


# ---------------------------------------------------------------- what is needed


def kept(text: str, *wanted: str) -> list[int]:
    """The lines of the statements that the wanted names need."""
    statements = statements_of(text.encode(), "work.py")
    return [one.first for one, is_kept in zip(statements, needed(statements, wanted), strict=True) if is_kept]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("x = 1\ny = x\ndef f():\n    return y", [1, 2, 3]),
        ("model = 1\ndef f(model):\n    return model", [2]),
        ("x = 1\ndef f(a=x):\n    return a", [1, 2]),
        ("def dec(g):\n    return g\n@dec\ndef f(): pass", [1, 3]),
        ("t = []\nfor i in range(3):\n    t.append(i)\ndef f(): return t", [1, 2, 4]),
        ("t = {}\nt['a'] = 1\nfill(t)\nprint(t)\ndef f(): return t", [1, 2, 3, 5]),
        ("n = 0\ndef up():\n    global n\n    n += 1\nup()\ndef f(): return n", [1, 2, 5, 6]),
        ("import torch\ntorch.manual_seed(0)\ntorch.save(f(), 'x')\ndef f(): return torch", [1, 2, 4]),
        ("try:\n    import a\nexcept ImportError:\n    a = None\nwith b: c = 1\ndef f(): return a", [1, 6]),
        ("def f(): pass\nf = wrap(f)\nf.cache = {}\nf()", [1, 2, 3]),
        ("class A: k = x\nx = 1\nclass f(A): pass", [1, 2, 3]),
        ("f = lambda: y\ny = 2\nz = 3", [1, 2]),
        ("from m import *\nimport q, torch\ndef f(): return torch", [1, 2, 3]),
        ("x = [i for i in range(3)]\nu = [j for j in x]\ndef f(): return u", [1, 2, 3]),
    ],
)
def test_what_definitions_need_is_kept_and_nothing_else(text: str, lines: list[int]) -> None:
    assert kept(text, "f") == lines


@pytest.mark.slow
def test_a_failure_in_a_notebook_names_the_cell_and_the_line_in_it(warm: WarmUp) -> None:
    """In the message, in the lines as data, where an endless loop is, and where nothing can be imported."""
    raising = NORMALIZE.replace("    return", "    helper(x)\n    return")
    helper = "# cell 1\ndef helper(x):\n\n    raise ValueError('no')"
    work = handed_in("vectors.ipynb", notebook(IMPORTS, "%time\n" + helper, raising, COSINE))
    check = exercise_of(graded(warm, work), "normalize").checks[0]
    assert check.cause is not None and "vectors.py:" not in check.message
    line = raising[: raising.index("helper(x)")].count("\n") + 1
    assert [frame.place for frame in check.cause.frames] == [f"cell 4, line {line}", "cell 3, line 5"]
    assert "  cell 3, line 5, in helper: raise ValueError('no')" in check.message.splitlines()
    module = work.files["vectors.py"].decode().splitlines()
    assert [module[frame.line - 1].strip() for frame in check.cause.frames] == ["helper(x)", "raise ValueError('no')"]

    loop = "def normalize(x):\n    while True:\n        pass"
    work = handed_in("vectors.ipynb", notebook(IMPORTS, loop, COSINE))
    check = exercise_of(graded(warm, work), "normalize").checks[0]
    assert check.message.startswith("no answer in time; it was at cell 3, line 2, in normalize: while True:")

    work = handed_in("vectors.ipynb", notebook(IMPORTS, "x = 1\nnormalize = cosine = 1 / 0"))
    check = exercise_of(graded(warm, work), "normalize").checks[0]
    assert "  cell 3, line 2, in <module>: normalize = cosine = 1 / 0" in check.message.splitlines()


@pytest.mark.slow
def test_what_the_definitions_need_may_take_longer_than_the_first_try(warm: WarmUp) -> None:
    """With the usual limits: what only runs something is given up soon, and a table that is made slowly is there."""
    table = "import time\ntime.sleep(4)\nTABLE = [time.sleep(4), 1]\nwhile True:\n    time.sleep(1)\n"
    cosine = COSINE.replace("return ", "return TABLE[1] * ")
    work = f"{IMPORTS}\n{table}\n\n{NORMALIZE}\n\n\n{cosine}\n".encode()
    result = warm(OWN_COURSE).of(handed_in("vectors.py", work))
    assert result.score == 3, result.notes
