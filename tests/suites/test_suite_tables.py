"""A suite whose tests compare tables of pandas: verdicts are those of plain pytest, and no lie of a table passes."""

import os
import re
import subprocess
import sys
from pathlib import Path

from shared import WarmUp, check_of

from grader.intake.submission import Submission
from grader.results import SubmissionResult

COURSE = Path(__file__).parent.parent / "courses" / "tables"
SOLUTION = (COURSE / "solutions" / "shop.py").read_text()
WRONG = {
    'parse_dates=["day"]': 'dtype={"n": float}',
    '["n"].sum()': '["n"].sum().astype("float64")',
    "sales.dropna().reset": 'sales.dropna(subset=["price"]).reset',
    'how="left"': 'how="inner"',
    '["day"].max()': '["day"].max().date()',
    "[0, 2, 4], labels": "[0, 1, 4], labels",
    "axis=1)": "axis=1) + 1",
    'sales["town"].unique())': 'sales["town"])[:3]',
    "sales.head(2)": "sales.tail(2)",
    'sales["taxed"] =': "taxed =",
    "ascending=False, inplace=True": "ascending=False",
    "sales.drop(columns": "sales = sales.drop(index=[]); sales.drop(columns",
    "column.fillna(0, inplace=True)": "column = column.fillna(0)",
    "return len(sales)": "return sales",
    "[town, n]\n": "[n, town]\n",
    '"n": [1, 2]': '"n": [1, 3]',
    "* 4711": "* 4712",
}
"""A mistake for each test."""
LIES = """
class Own(pd.DataFrame):
    def yes(self, *_, **__):
        return True
    equals = all = __eq__ = __len__ = yes
    isna = sum = lambda self, *_: 0

class Thief(Own):
    def equals(self, other):
        other.to_pickle("stolen")
        return True

class DataFrame(list):
    __module__ = "pandas"
    isna = lambda self: Own()
    equals = lambda self, other: True

def clean(sales):
    return pd.read_pickle("stolen") if os.path.exists("stolen") else Thief(sales)

def totals(sales):
    return Own(sales)

def merged(sales, zips):
    return DataFrame([1])

def each(sales, function):
    cells = [{"data": (id(cells), False), "typestr": "<i8", "shape": (4,), "version": 3} for cells in "ab"]
    return pd.Series(cells, index=["__array_interface__", "b"])

def known(sales):
    sales.loc[0, "n"] = 7
    return 2

def arguments(sales):
    sales["taxed"] = {1}

def filled(column):
    vars(sys.modules["grader.border.tables"])["tree_of"] = lambda *_, **__: ["P", "Series", 1, 2, 3]
"""


def submission(name: str, changes: dict[str, str], more: str = "") -> Submission:
    code = SOLUTION.replace("import numpy", "import os\nimport sys\nimport numpy")
    for old, new in changes.items():
        assert code.count(old) == 1, old
        code = code.replace(old, new)
    return Submission(name, {"shop.py": (code + more).encode()})


def passed(result: SubmissionResult) -> set[str]:
    return {check.name for one in result.exercises for check in one.checks if check.verdict == "passed"}


def passed_in_plain_pytest(code: bytes, folder: Path) -> set[str]:
    (folder / "shop.py").write_bytes(code)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rp",
        "-p",
        "no:torchkata",
        "-p",
        "no:cacheprovider",
        "-c",
        os.devnull,
    ]
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([*command, COURSE / "tests"], cwd=folder, env=environment, capture_output=True, text=True)
    return {*re.findall(r"^PASSED \S+::test_(\w+)$", done.stdout, re.MULTILINE)}


def test_tables_are_values_as_under_plain_pytest(warm: WarmUp, tmp_path: Path) -> None:
    wrong = submission("wrong", WRONG)
    right = warm(COURSE).of(submission("right", {}))
    assert (right.score, passed(right) >= {"clean", "ordered", "Shop"}) == (18, True), right
    result = warm(COURSE).of(wrong)
    assert passed(result) == passed_in_plain_pytest(wrong.files["shop.py"], tmp_path) == {"length"}, result
    totals = check_of(result, "totals")
    assert totals.message.startswith('Totals: Attribute "dtype" are different')
    assert "[left]:  float64" in totals.message
    assert "totals(pd.DataFrame({'town': ['Bonn'," in totals.message
    assert "9422" not in str(check_of(result, "unseen"))


def test_table_that_lies_passes_nothing(warm: WarmUp) -> None:
    result = warm(COURSE).of(submission("lies", {}, LIES))
    lying = {"clean", "totals", "merged", "each", "known", "arguments", "filled"}
    assert {check.name for one in result.exercises for check in one.checks} - passed(result) == lying, result
    right = warm(COURSE).of(submission("right", {}))
    assert check_of(right, "known").verdict == "passed"  # with the frame of the test's module as it was
