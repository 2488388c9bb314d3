"""Tests of notebooks as checks: what is asked stays what was asked, and what cannot be asked is refused in words."""

from __future__ import annotations

import pytest

from grader.grading.adopted_tests import CannotTranslate, NotebookNames, Step, WrittenTest, bindings, translate
from grader.grading.solution_marks import marked, without_marks

NAMES = NotebookNames(
    written=frozenset({"x", "square", "Net"}),
    given=frozenset({"data", "helper", "nine"}),
    derived=frozenset({"nine"}),
    functions=frozenset({"square", "Net", "helper"}),
    imports={"np": "import numpy as np", "plt": "import matplotlib.pyplot as plt", "nn": "from torch import nn"},
)


def one(code: str, output: str | None = None, printed: str = "") -> WrittenTest:
    return WrittenTest("cell 3", (Step(code, output, printed),))


@pytest.mark.parametrize(
    ("test", "body"),
    [
        (one("assert square(2) == 4"), "assert submission.square(2) == 4"),
        (one("for k in range(3):\n    assert square(k) == k**2"), None),
        (one("assert [x for x in (1, square(1))] == [1, x]"), None),
        (one("def check(x, square=square):\n    return square(x)\n\nassert check(2) == 4"), None),
        (one("assert np.allclose(square(np.ones(2)), 1)"), None),
        (one("try:\n    square('a')\nexcept TypeError:\n    pass\nelse:\n    raise AssertionError"), None),
        (one("square(3)", "9"), "assert submission.square(3) == 9"),
        (one("square(.5)", "0.25"), "assert submission.square(0.5) == pytest.approx(0.25)"),
        (one("nine", "9"), "assert submission.nine == 9"),
        (one("x = 3\nassert square(x) == 9"), "x = 3\nassert submission.square(x) == 9"),
        (one("0 < x < 5", "True"), "assert (0 < submission.x < 5) == True"),
        (one("square(3)", "tensor(9)"), "assert repr(submission.square(3)) == 'tensor(9)'"),
        (one("print('nine:', square(3))", "", "nine: 9\n"), None),
        (one("square(3)", "", "nine\n"), "assert printed(submission.square, 3).strip() == 'nine'"),
        (one("def test_two(square, x):\n    assert square(x) == 4"), "assert submission.square(submission.x) == 4"),
        (
            WrittenTest("t", (Step("y = square(2)", "", ""), Step("y + 1", "5", ""))),
            "y = submission.square(2)\nassert y + 1 == 5",
        ),
    ],
)
def test_names_of_the_notebook_become_the_submissions(test: WrittenTest, body: str | None) -> None:
    made = translate(test, NAMES, {})
    expected = (
        body
        or {
            "for": "for k in range(3):\n    assert submission.square(k) == k ** 2",
            "ass": "assert [x for x in (1, submission.square(1))] == [1, submission.x]",
            "def": "def check(x, square=submission.square):\n    return square(x)\nassert check(2) == 4",
            "np.": "assert np.allclose(submission.square(np.ones(2)), 1)",
            "try": "try:\n    submission.square('a')\nexcept TypeError:\n    pass\nelse:\n    raise AssertionError",
            "pri": "assert ' '.join(map(str, ['nine:', submission.square(3)])) == 'nine: 9'",
        }["np." if "np." in test.steps[0].code else test.steps[0].code[:3]]
    )
    assert made.body == expected
    assert ("import numpy as np" in made.imports) == ("np." in expected)
    assert ("import pytest" in made.imports) == ("pytest." in expected)


@pytest.mark.parametrize(
    ("test", "why"),
    [
        (one("del square"), "takes `square` out of the notebook"),
        (one("old = x\nx = 3\nassert square(2) == x"), "gives `x` another meaning"),
        (one("assert unknown(x) == 3"), "reads `unknown`, which nothing before it defines"),
        (one("assert callable(square)"), "looks at the code of an answer, by `callable`"),
        (one("assert 'x' in globals() and x"), "looks into the notebook, by `globals`"),
        (one("assert helper(1) == 1"), "asks for nothing that students write"),
        (one("x == 3", ""), "its output is not in the notebook"),
        (one("%time square(3)"), "is not Python alone"),
        (one("a = square(3)", "", "text"), "prints something on its way"),
        (one("def test_it(env):\n    assert env['x'] == 3"), "the notebook's whole environment"),
    ],
)
def test_what_no_other_process_can_be_asked_is_refused(test: WrittenTest, why: str) -> None:
    with pytest.raises(CannotTranslate, match=why):
        translate(test, NAMES, {})


def test_what_an_earlier_test_has_defined_comes_first() -> None:
    earlier = bindings(one("import math\nbase = 2\nlimit = math.pow(base, 3)\nassert limit"))
    made = translate(one("assert square(3) > limit"), NAMES, earlier)
    assert made.body.splitlines() == [
        *("import math", "base = 2", "limit = math.pow(base, 3)"),
        "assert submission.square(3) > limit",
    ]


@pytest.mark.parametrize(
    ("code", "remark"),
    [
        ("assert x == square(2)", "compares two answers of the student with each other (`x`, `square`)"),
        ("np.testing.assert_allclose(x, square(2))", "compares two answers of the student"),
        ("assert open('a.txt').read() == x", "reads a file (`open`)"),
        ("plt.plot(x)", "looks at a plot"),
        ("assert helper(2) == square(2)", "calls `helper` as the student hands it in"),
    ],
)
def test_what_a_person_must_look_at_is_said(code: str, remark: str) -> None:
    assert any(remark in one for one in translate(one(code), NAMES, {}).remarks)


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
            "if a:\n    b = 1  # SOLUTION\nelse:\n    b = 2\nc = 3",
            "# solution:\nif a:\n    b = 1\nelse:\n    b = 2\n# end\nc = 3",
        ),
    ],
)
def test_whole_statements_are_marked(code: str, made: str) -> None:
    assert marked(without_marks(code)) == made
