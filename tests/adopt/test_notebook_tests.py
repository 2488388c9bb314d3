"""Tests of notebooks as functions: their code stays as it is, and what cannot be asked is refused in words."""

from __future__ import annotations

import textwrap

import pytest

from grader.adopt.notebook_tests import (
    CannotKeep,
    NotebookNames,
    Step,
    WrittenTest,
    earlier_statements,
    function_of,
    names_of,
)
from grader.adopt.solution_marks import marked, skeleton, without_marks

NAMES = NotebookNames(
    written=frozenset({"x", "square", "Net"}),
    given=frozenset({"data", "helper", "nine"}),
    derived=frozenset({"nine"}),
    counting=frozenset({"nine"}),
    imports={"np": "import numpy as np", "plt": "import matplotlib.pyplot as plt", "nn": "from torch import nn"},
)


def one(code: str, output: str | None = None, printed: str = "") -> WrittenTest:
    return WrittenTest("cell 3", (Step(code, output, printed),), "Says it.")


@pytest.mark.parametrize(
    ("test", "reads", "added"),
    [
        (one("assert square(2) == 4"), "square", ""),
        (one("for k in range(3):\n    assert square(k) == k**2  # each"), "square", ""),
        (one("assert [x for x in (1, square(1))] == [1, 1]"), "square", ""),
        (one("def check(x, f=square):\n    return f(x)\n\n\nassert check(2) == 4"), "square", ""),
        (one("assert np.allclose(square(np.ones(2)), 1)"), "square", ""),
        (one("try:\n    square('a')\nexcept TypeError:\n    pass\nelse:\n    raise AssertionError"), "square", ""),
        (one("x = 3\nassert square(x) == 9"), "square", ""),
        (one("old = x\nx = 3\nassert square(x) == 9 + old"), "x, square", ""),
        (one("square(3)", "9"), "square", "assert square(3) == 9"),
        (one("y = 3; square(y)", "9"), "square", "y = 3\nassert square(y) == 9"),
        (one("square(\n    .5\n)  # half", "0.25"), "square", "assert square(\n    .5\n) == pytest.approx(0.25)"),
        (
            one("old = nine\nx, nine", "(3, 9)"),
            "nine, x",
            "from work import nine\nold = nine\nfrom work import nine\nassert (x, nine) == (3, 9)",
        ),
        (one("0 < x < 5", "True"), "x", "assert 0 < x < 5"),
        (one("square(3) and x", "True"), "square, x", "assert (square(3) and x) == True"),
        (one("square(.5)", "np.float64(0.25)"), "square", "assert square(.5) == pytest.approx(0.25)"),
        (one("0 < x", "np.True_"), "x", "assert 0 < x"),
        (
            one("square(x)", "array([ 1,  4])"),
            "square, x",
            "found = square(x)\nassert type(found).__name__ == 'ndarray'\nassert found == pytest.approx([1, 4])",
        ),
        (one("x", "   v\n2  3"), "x", "assert repr(x) == '   v\\n2  3'"),
        (one("square(3)", "tensor(9)"), "square", "assert repr(square(3)) == 'tensor(9)'"),
        (one("x, square(3)", "(v, 9)"), "x, square", "assert repr((x, square(3))) == '(v, 9)'"),
        (
            one("assert 'square' in globals() and square(2) == 4"),
            "square",
            "globals = lambda: dict(square=square)\nassert 'square' in globals() and square(2) == 4",
        ),
        (
            one("print('nine:', square(3))", "", "nine: 9\n"),
            "square",
            "print('nine:', square(3))\nassert capsys.readouterr().out.strip() == 'nine: 9'",
        ),
        (one("a = square(3)", "", "text"), "square", "a = square(3)\nassert capsys.readouterr().out.strip() == 'text'"),
        (
            one("def test_two(square, x):\n    assert square(x) == 4"),
            "square, x",
            "def test_two(square, x):\n    assert square(x) == 4\ntest_two(square, x)",
        ),
        (one("assert callable(square)\nassert square(2) == 4"), "square", ""),
        (
            one("if __name__ == '__main__':\n    assert square(2) == 4"),
            "square",
            "__name__ = \"__main__\"\nif __name__ == '__main__':\n    assert square(2) == 4",
        ),
        (
            WrittenTest("t", (Step("score = square(3)\nscore / 2", None, at_least=4.5),), "Says it."),
            "square",
            "score = square(3)\n_score = score / 2\nassert not isinstance(_score, int | float) or _score >= 4.5",
        ),
        (
            one("def test_it(env):\n    assert env['x'] == 3"),
            "x",
            "def test_it(env):\n    assert env['x'] == 3\nenv = dict(x=x)\ntest_it(env)",
        ),
        (
            WrittenTest("t", (Step("y = square(2)", "", ""), Step("y + 1", "5", "")), "Says it."),
            "square",
            "y = square(2)\nassert (y + 1) == 5",
        ),
        (
            WrittenTest("t", (Step("square(3)", "A!\n9", None),), "Says it."),
            "square",
            "found = square(3)\nshown = capsys.readouterr().out + ('' if found is None else f'{found!r}\\n')\n"
            "assert shown.strip() == 'A!\\n9'",
        ),
    ],
)
def test_code_stays_as_it_is_below_an_import_of_the_names_that_it_reads(
    test: WrittenTest, reads: str, added: str
) -> None:
    made = function_of(test, "test_it", "work", NAMES, ())
    code = added or test.steps[0].code
    arguments = "capsys" if "capsys" in code else ""
    head = f'def test_it({arguments}):\n    """Says it."""\n    from work import {reads}\n'
    assert made.text == head + textwrap.indent(code, "    ") + "\n"
    assert made.imports == (("import numpy as np",) if "np." in code else ())


@pytest.mark.parametrize(
    ("test", "why"),
    [
        (one("assert callable(square) and helper(1)"), "looks at the code of an answer, by `callable`"),
        (one("assert helper(1) == 1"), "asks for nothing that students write"),
        (one("assert 'x' in globals()"), "asks for nothing but whether a name is there"),
        (one("x == 3", ""), "its output is not in the notebook"),
        (one("%time square(3)"), "is not Python alone"),
        (one("assert await square(3)"), "is not Python alone"),
    ],
)
def test_what_no_function_can_ask_is_refused(test: WrittenTest, why: str) -> None:
    with pytest.raises(CannotKeep, match=why):
        function_of(test, "test_it", "work", NAMES, ())


def test_lines_inside_of_a_text_stay_where_they_are() -> None:
    code = 'text = """\n  9\n"""\nassert str(square(3)) == text.strip()'
    made = function_of(one(code), "test_it", "work", NAMES, ())
    assert made.text.endswith('    text = """\n  9\n"""\n    assert str(square(3)) == text.strip()\n')


def test_what_earlier_tests_run_comes_first_but_their_failures_are_not_asked_for() -> None:
    earlier = [
        earlier_statements(one("import math\nnumbers = [square(2)]\nassert numbers.pop() == math.pow(2, 2)")),
        earlier_statements(one("other = 3\nassert other == helper(3)")),
        earlier_statements(one("numbers.append(1); found = square(5)\nassert found == 25 and builtin(found)")),
    ]
    made = function_of(one("assert square(3) > math.e\nassert numbers"), "test_it", "work", NAMES, earlier)
    assert made.code.splitlines() == [
        *("try:", "    import math", "    numbers = [square(2)]"),
        *("    assert numbers.pop() == math.pow(2, 2)", "except Exception:", "    pass"),
        *("try:", "    numbers.append(1)", "except Exception:", "    pass"),
        *("assert square(3) > math.e", "assert numbers"),
    ]
    alone = function_of(one("assert square(3) > math.e and builtin(3)"), "test_it", "work", NAMES, earlier)
    assert alone.code == "import math\nassert square(3) > math.e and builtin(3)"


OTTER = '''\
def square(x):
    """Squares."""
    y = x * x  # SOLUTION NO PROMPT
    # BEGIN IGNORE
    print("for the author")
    # END IGNORE
    return y  # SOLUTION

    """ # BEGIN PROMPT
    return ...
    """ # END PROMPT


np.random.seed(3)  # SEED
nine = square(3)  # SOLUTION
shown = nine + 1
'''
NBGRADER = '''\
class Net:
    """A net."""

    def forward(self, x):
        ### BEGIN SOLUTION
        # twice
        if x:
            x = x + x
        return x
        ### END SOLUTION

    def given(self):
        return 1
'''


def test_variables_that_a_solution_changes_in_place_are_written_by_students() -> None:
    cells = [
        (-1, "import numpy as np\nbase, kept = {}, []\ngrid = np.zeros(3)"),
        (0, "# solution:\nbase['b'] = 2\ngrid[0] = 5\nnp.random.seed(3)\n# end"),
        (1, "# solution:\nkept.append(4)\n# end\nlast = kept[-1]\n\n\ndef first():\n    return kept[0]"),
        (1, "class Net: ...\n\n\ndef two():\n    global base\n\n\nNet.first = first"),
        (1, "def is_late(base):\n    return base or three()\n\n\ndef other(base):\n    base[0] = 1\n"),
        (2, "# solution:\ndef three():\n    seen[3] = 3\n# end\nseen = {}"),
    ]
    names, written = names_of(cells)
    assert written == {0: ["base", "grid"], 1: ["kept"], 2: ["three"]}
    assert names.given == {"last", "first", "Net", "two", "is_late", "other", "seen"}
    assert names.derived == {"last", "first", "Net", "two", "is_late"}  # a function may be written below its caller
    assert names.counting == {"base", "seen"}


def test_what_students_do_not_get_is_between_our_markers() -> None:
    assert marked(without_marks(OTTER)).splitlines() == [
        "def square(x):",
        '    """Squares."""',
        "    # solution:",
        "    y = x * x",
        "    return y",
        "    # end",
        "",
        "    # return ...",
        "",
        "",
        "np.random.seed(3)",
        "# solution:",
        "nine = square(3)",
        "# end",
        "shown = nine + 1",
    ]
    lines = marked(without_marks(NBGRADER)).splitlines()
    assert lines[4:10] == [
        *("        # solution:", "        # twice", "        if x:", "            x = x + x", "        return x"),
        "        # end",
    ]


def test_regions_nest_and_a_mark_may_say_more() -> None:
    code = """\
def clip(x):
    # BEGIN SOLUTION
    # BEGIN IGNORE
    print(x)
    # END IGNORE
    return min(x, 1)
    # END SOLUTION


def three():
    ### BEGIN SOLUTION (2 points) ###
    return 3
    ### END SOLUTION ###
"""
    lines = marked(without_marks(code)).splitlines()
    assert [line for line in lines if line.strip()] == [
        *("def clip(x):", "    # solution:", "    return min(x, 1)", "    # end"),
        *("def three():", "    # solution:", "    return 3", "    # end"),
    ]
    assert without_marks("## BEGIN HIDDEN TESTS: edge cases\nassert f(0)")[0].is_hidden


def test_students_get_the_loop_of_which_they_write_a_part() -> None:
    code = "found = []\nfor k in range(3):\n    found.append(k)  # SOLUTION\nlast = found[-1]  # SOLUTION\nlast == 2"
    assert skeleton(without_marks(code)).splitlines() == [
        *("found = []", "for k in range(3):", "    ...", "last = ...", "last == 2")
    ]
    assert skeleton(without_marks("def f(x):\n    return x  # SOLUTION")) == ""
    assert skeleton(without_marks("x = (\n    # BEGIN SOLUTION\n    1 )\n    # END SOLUTION\ny = 2")) == ""  # no Python


@pytest.mark.parametrize(
    ("code", "made"),
    [
        ("def f(x): return x + 1  # SOLUTION", "def f(x):\n    # solution:\n    return x + 1\n    # end"),
        (
            "### BEGIN SOLUTION\nclass Point:\n    x = 1\n### END SOLUTION",
            "# solution:\nclass Point:\n    x = 1\n# end",
        ),
        (
            '### BEGIN SOLUTION\ndef f(x):\n    """Adds."""\n    # one\n    return x + 1\n### END SOLUTION',
            'def f(x):\n    """Adds."""\n    # solution:\n    # one\n    return x + 1\n    # end',
        ),
        (
            "@dataclass\nclass Point:\n    ### BEGIN SOLUTION\n    x: float\n    ### END SOLUTION",
            "# solution:\n@dataclass\nclass Point:\n    x: float\n# end",
        ),
        (
            "if a:\n    b = 1  # SOLUTION\nelse:\n    b = 2\nc = 3",
            "# solution:\nif a:\n    b = 1\nelse:\n    b = 2\n# end\nc = 3",
        ),
    ],
)
def test_whole_statements_are_marked(code: str, made: str) -> None:
    assert marked(without_marks(code)) == made
