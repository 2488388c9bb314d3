"""Code beside the answers, in notebooks and scripts: what fails or never ends costs only what needs it, and is said."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from make_class_zips import OWN, SOLUTION, notebook
from shared import OWN_COURSE, WarmUp, exercise_of

from grader.border.messages import Imported, LoadOrder
from grader.border.service import Service
from grader.course import Course
from grader.intake.assemble import assemble
from grader.intake.bag import Bag
from grader.intake.submission import UNKNOWN, Submission
from grader.intake.topics import Topics
from grader.judge.in_process import importable
from grader.results import SubmissionResult
from grader.student import statements
from grader.student.statements import NothingLoaded, import_file, load_topic

ANSWERS = SOLUTION.decode()
IMPORTS, _, FUNCTIONS = ANSWERS.partition("\n\n\ndef normalize")
FUNCTIONS = "def normalize" + FUNCTIONS
NORMALIZE, _, COSINE = FUNCTIONS.partition("\n\n\ndef cosine")
COSINE = "def cosine" + COSINE
FOREVER = "while True: pass"
SECONDS = 6.0
"""Of a topic, where something never ends: a quarter of it for each statement."""
BURN = """
import time
def burn(seconds, value=0):
    since = time.process_time()
    while time.process_time() - since < seconds:
        pass
    return value
"""
"""Uses the same processor time on every machine."""


def handed_in(name: str, content: bytes) -> Submission:
    """One file as a submission."""
    course = Course.load(OWN)
    bag = Bag(Topics.of({topic.name: [one.name for one in topic.exercises] for topic in course.topics}))
    bag.files[name] = content
    return assemble("somebody", bag, UNKNOWN)


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
    assert 'under `if __name__ == "__main__":`' in note and "left out; all else is graded" in note


@pytest.mark.slow
def test_what_needs_a_line_that_failed_says_so_and_the_rest_is_graded(warm: WarmUp) -> None:
    limits = "import json\nfrom random import nothing\nTINY = json.load(open('settings.json'))['tiny']\n"
    cosine = "\n\ndef cosine(a, b):\n    return (normalize(a) * normalize(b)).sum(1) + 0 * TINY\n"
    result = graded(warm, handed_in("vectors.py", f"{IMPORTS}\n{limits}\n\n{NORMALIZE}\n{cosine}".encode()))
    assert result.score == 1
    line = f"{IMPORTS}\n{limits}".count("\n")
    message = exercise_of(result, "cosine").checks[0].message
    assert message.startswith(f"`TINY` has no value, as line {line} of vectors.py raised FileNotFoundError"), message
    first, second = result.notes
    assert "and with it TINY" in second
    assert first.endswith(
        "cannot import name 'nothing' from 'random': left out, and with it nothing; all else is graded"
    )


@pytest.mark.slow
def test_an_older_value_does_not_take_the_place_of_one_that_failed(warm: WarmUp) -> None:
    before = "SIGN = 1\nSIGN = int(open('sign').read())\n\n\n"
    uses = NORMALIZE.replace("return ", "return SIGN * ")
    result = graded(warm, handed_in("vectors.py", f"{IMPORTS}\n{before}{uses}\n".encode()))
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
    assert "took too much time" in exercise_of(result, "cosine").checks[0].message


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


# ---------------------------------------------------------------- statement by statement


def loaded(folder: Path, text: str, order: LoadOrder | None = None, **others: str) -> tuple[Any, Imported]:
    """A file that is loaded statement by statement, here, and the statements that were left out."""
    for name, content in {"work": text, **others}.items():
        (folder / f"{name}.py").write_text(content)
    describe = Service(ModuleType("work"), frozenset()).describe
    with importable(folder, {}):
        return load_topic("work", folder / "work.py", order or LoadOrder(["f"], 3.0), describe)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x = 1\ny = x\ndef f():\n    return y", 1),
        ("x = 1\ndef f(a=x):\n    return a\nx = 2", 1),
        ("t = []\nfor i in range(3):\n    t.append(i)\n1 / 0\ndef f(): return t", [0, 1, 2]),
        ("n = 0\ndef up():\n    global n\n    n += 1\nup()\ndef f(): return n", 1),
        ("try:\n    import no_such_package as a\nexcept ImportError:\n    a = None\ndef f(): return a", None),
        ("def f(): return 1\nf = (lambda g: lambda: g() + 1)(f)", 2),
        ("import math, no_such_package, cmath\ndef f(): return cmath.sqrt(math.floor(4.2))", 2),
        ("import os.no_such_part\nimport os\nimport os.no_such_part\ndef f(): return os.sep", "/"),
        ("from __future__ import annotations\ndef f(a: Nothing = 3): return a", 3),
        ("x = 1\nx = y\nx = 3\ndef f(): return x", 3),
        ("'doc'\nx = __doc__\n'no doc'\ndef f(): return x, __doc__", ("doc", "doc")),
        ("if __name__ == '__main__':\n    x = 1\nelse:\n    x = 2\ndef f(): return x", 2),
        ("from math import *\n1 / 0\ndef f(): return floor(2.5)", 2),
        ("import functools\n@functools.cache\ndef f(): return f.__module__, __file__[-7:]", ("work", "work.py")),
        ("from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int = 3\ndef f(): return A().x", 3),
    ],
)
def test_statements_run_in_the_order_of_the_file(tmp_path: Path, text: str, value: object) -> None:
    module, _ = loaded(tmp_path, text)
    assert module.f() == value


def test_what_a_lost_name_takes_with_it_has_one_cause(tmp_path: Path) -> None:
    module, imported = loaded(tmp_path, "x = 1\nx = 1 / 0\ny = x\nz = y + 1\ndef f(): return z\nimport no_such\n")
    assert [(one.first, one.raised.kind if one.raised else "") for one in imported.failed] == [
        (2, "ZeroDivisionError"),
        (6, "ModuleNotFoundError"),
    ]
    assert dict(imported.lost) == {"x": 0, "y": 0, "z": 0, "no_such": 1}
    with pytest.raises(NameError):
        module.f()


def test_each_statement_may_use_a_third_and_all_leave_something_to_the_last(tmp_path: Path) -> None:
    loops = "".join(f"while True: n = {number}\n" for number in range(6))
    text = f"table = sorted(range(9))\n{loops}late = table[1]\ndef f(): return late\n"
    began = time.process_time()
    module, imported = loaded(tmp_path, text)
    assert time.process_time() - began < 2 * 3.0
    assert module.f() == 1
    assert [(one.first, one.raised) for one in imported.failed] == [(line, None) for line in range(2, 8)]
    assert imported.skipped == [one.place for one in imported.failed]
    again, said = loaded(tmp_path, text, LoadOrder(["f"], without=imported.skipped))
    assert said.failed == imported.failed and again.f() == 1
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_handler_of_the_files_own_stays(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGALRM)
    try:
        loaded(tmp_path, "import signal\nsignal.signal(signal.SIGALRM, print)\ndef f(): pass\nx = len([1])\n")
        assert signal.getsignal(signal.SIGALRM) is print
    finally:
        signal.signal(signal.SIGALRM, before)


# ---------------------------------------------------------------- the student's other modules


def test_other_modules_are_loaded_by_the_same_rule(tmp_path: Path) -> None:
    """A loop in one does not use the time of the statement that imports it."""
    text = "import helpers\nfrom helpers import TWO\ndef f(): return helpers.three(), TWO, helpers.back()"
    helpers = "display(1)\nTWO = 2\nwhile True: pass\nimport work\ndef three(): return 3\ndef back(): return work.TWO"
    module, imported = loaded(tmp_path, text, helpers=helpers)
    assert module.f() == (3, 2, 2)
    assert [(one.place[0], one.first) for one in imported.failed] == [("helpers.py", 1), ("helpers.py", 3)]
    again, _ = loaded(tmp_path, text, LoadOrder(["f"], without=imported.skipped), helpers=helpers)
    assert again.f() == (3, 2, 2)


def test_a_module_that_cannot_be_parsed_fails_where_it_is_imported(tmp_path: Path) -> None:
    _, imported = loaded(tmp_path, "import helpers\ndef f(): return 1", helpers="def f(:\n")
    assert [(one.place[0], one.raised.kind) for one in imported.failed if one.raised] == [("work.py", "SyntaxError")]


def test_a_module_of_which_nothing_is_asked_shows_its_first_exception(tmp_path: Path) -> None:
    with pytest.raises(NothingLoaded) as info:
        loaded(tmp_path, "x = 1\ny = 1 / 0\nimport no_such\n")
    assert info.value.raised.kind == "ZeroDivisionError"
    loaded(tmp_path, "x = 1\n")  # it is missing, and each check says so


# ---------------------------------------------------------------- later processes


@pytest.mark.parametrize(
    ("text", "is_skipped"),
    [
        ("history = burn(1)\nprint(history)\ndef f(): return 1", True),
        ("def train(n): return burn(1)\nfor epoch in range(1): train(epoch)\ndef f(): return 1", True),
        ("RATE = 0.1\nmodel = [1]\nfor _ in range(1): model[0] = burn(1, RATE)\ndef f(): return RATE", True),
        ("def f(): return 1\nresult = burn(1, f())", True),
        ("TABLE = burn(1)\ndef f(): return TABLE", False),
        ("TABLE = burn(1)\nrows = [TABLE]\ndef g(): return rows\ndef f(): return g()", False),
        ("TABLE = []\nfor i in range(1): TABLE.append(burn(1))\ndef f(): return TABLE", False),
        ("TABLE = []\ndef fill(): TABLE.append(burn(1))\nfill()\ndef f(): return TABLE", False),
        ("def fill():\n    global TABLE\n    TABLE = burn(1)\nfill()\ndef f(): return TABLE", False),
        ("class Table: rows = []\nfor i in range(1): Table.rows.append(burn(1))\ndef f(): return Table.rows", False),
        ("TABLE = burn(1)\ndef f(): return globals()['TA' + 'BLE']", False),
        ("TABLE = burn(1)\nclass f:\n    def __call__(self): return [x for x in [TABLE]]", False),
        ("TABLE = burn(1)\ndef f(x=TABLE): return x", False),
    ],
)
def test_a_long_statement_is_run_again_only_if_the_answers_need_it(
    tmp_path: Path, text: str, is_skipped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, "LONG_SECONDS", 0.03)
    text = BURN + text.replace("burn(1", "burn(0.05")
    _, imported = loaded(tmp_path, text)
    assert not imported.failed and len(imported.skipped) == is_skipped
    again, said = loaded(tmp_path, text, LoadOrder(["f"], without=imported.skipped))
    assert hasattr(again, "f") and len(said.failed) == is_skipped


def test_what_a_statement_waits_for_a_processor_is_none_of_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also before it is looked at for the first time: on a busy machine that may be late."""
    found = {}
    for name, waited in {"busy": time.monotonic, "idle": lambda: 7.0}.items():
        monkeypatch.setattr(statements, "_waited_for_processors", waited)
        watch = statements._Watch(3.0)
        time.sleep(0.2)
        found[name] = watch.own()
    assert found["busy"] < 0.1 < 0.2 <= found["idle"]


def test_a_table_of_another_module_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "LONG_SECONDS", 0.03)
    helpers = f"{BURN}\nTABLE = burn(0.05, 7)\nunused = burn(0.05)\n"
    for text in ("from helpers import TABLE\ndef f(): return TABLE", "import helpers\ndef f(): return helpers.TABLE"):
        _, imported = loaded(tmp_path, text, helpers=helpers)
        again, _ = loaded(tmp_path, text, LoadOrder(["f"], without=imported.skipped), helpers=helpers)
        assert again.f() == 7 and imported.skipped == [("helpers.py", 3)]


@pytest.mark.slow
def test_tables_threads_and_an_end_of_the_process_cost_no_answer_that_does_not_need_them(warm: WarmUp) -> None:
    table = f"{BURN}\nONE = burn(0.6, 1)\n"
    scratch = "import os, threading\nthreading.Thread(target=time.sleep, args=(9,), daemon=True).start()\nos._exit(3)\n"
    uses = NORMALIZE.replace("return ", "return ONE * ")
    work = f"{IMPORTS}\n{table}\n\n{uses}\n\n\n{scratch}\n\n{COSINE}\n"
    result = graded(warm, handed_in("vectors.py", work.encode()))
    assert result.score == 3, (result.notes, result.exercises)
    (note,) = result.notes
    assert "ended the process with exit code 3: left out" in note


@pytest.mark.slow
def test_a_table_is_there_in_every_process_of_the_topic(warm: WarmUp) -> None:
    """A wrong answer fails for its own reason in the fresh process that decides."""
    wrong = "def cosine(a, b):\n    return ONE"
    work = f"{IMPORTS}\n{BURN}\nONE = burn(0.7, 1)\n\n\n{NORMALIZE}\n\n\n{wrong}\n"
    result = graded(warm, handed_in("vectors.py", work.encode()))
    cause = exercise_of(result, "cosine").checks[0].cause
    assert result.score == 1 and cause is not None and cause.kind == "assertion"


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
    assert check.message.startswith("no answer in 2 s; it was at cell 3, line 2, in normalize: while True:")

    work = handed_in("vectors.ipynb", notebook(IMPORTS, "x = 1\nnormalize = cosine = 1 / 0"))
    check = exercise_of(graded(warm, work), "normalize").checks[0]
    assert "  cell 3, line 2, in <module>: normalize = cosine = 1 / 0" in check.message.splitlines()


def test_bytes_that_no_script_may_have_are_not_imported(tmp_path: Path) -> None:
    """An import would accept them in a comment, but the file is listed as one that Python does not read."""
    file = tmp_path / "of_excel.py"
    file.write_bytes(b"def f():\n    return 1\n# \xe4\n")
    with pytest.raises(UnicodeDecodeError):
        import_file("of_excel", file)
    with pytest.raises(UnicodeDecodeError):
        load_topic("of_excel", file, LoadOrder(["f"]), Service(ModuleType("m"), frozenset()).describe)
