"""What Jupyter, marimo, Databricks or Windows runs is run here too, or a person takes a look; marks worked out by hand.

The course has `normalize` for 1 point and `cosine` for 2, which needs `normalize`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from judge_here import grade_here
from make_class_zips import notebook
from shared import OWN_COURSE, WarmUp

from grader.course import Course
from grader.grading.settings import topics_of
from grader.intake.exported import plain_python
from grader.intake.find import find_submissions
from grader.intake.notebook import module_of, without_outputs
from grader.intake.submission import Submission

SOLUTION = (OWN_COURSE / "solutions" / "vectors.py").read_text()
IMPORTS, _, FUNCTIONS = SOLUTION.partition("\n\n\ndef normalize")
NORMALIZE, _, COSINE = FUNCTIONS.partition("\n\n\ndef cosine")
NORMALIZE, COSINE = f"def normalize{NORMALIZE}", f"def cosine{COSINE.rstrip()}"
UNIT = "torch.nn.functional.normalize(x, dim=1, eps=1e-30)"
STUB = Course.load(OWN_COURSE).stub_file("vectors").read_bytes()


def read(folder: Path, name: str, content: bytes) -> Submission:
    (folder / "class" / "ann").mkdir(parents=True, exist_ok=True)
    (folder / "class" / "ann" / name).write_bytes(content)
    (source,) = find_submissions([folder / "class"], topics_of(Course.load(OWN_COURSE)))
    return source.read()


def points(submission: Submission) -> float:
    (result,) = grade_here(OWN_COURSE, submission)
    return result.score


AWAIT = "import asyncio\nasync def ones():\n    await asyncio.sleep(0)\n    return 1.0\nscale = await ones()\n"
CELLS = {
    "await": f"{AWAIT}{NORMALIZE}",
    "async for": "async def each():\n    yield 1\nasync for _ in each():\n    pass\n"
    f"n = [x async for x in each()]\n{NORMALIZE}",
    "async with": "import contextlib\n@contextlib.asynccontextmanager\nasync def open_():\n    yield 1\n"
    f"async with open_() as x:\n    pass\n{NORMALIZE}",
    "a task": f"import asyncio\ntask = asyncio.ensure_future(asyncio.sleep(0))\nawait task\n{NORMALIZE}",
    "%time in a function": f"def normalize(x):\n    %time y = {UNIT}\n    return y",
    "%time before a return": NORMALIZE.replace("return", "%time y =", 1) + "\n    return y",
    "x = %time": f"def normalize(x):\n    y = %time {UNIT}\n    return y",
    "%prun with options": f"def normalize(x):\n    %prun -q -l 10 y = {UNIT}\n    return y",
    "%timeit": f"{NORMALIZE}\n%timeit normalize(torch.ones(2, 2))",
    "%%time": f"%%time\n{NORMALIZE}",
    "%%capture and %%time": f"%%capture out\n%%time\n{NORMALIZE}",
    "%%memit": f"%%memit\n{NORMALIZE}",
    "!cmd in a function": NORMALIZE.replace("    return", "    !nvidia-smi\n    return", 1),
    "a shell line that goes on": f"!pip install \\\n    einops \\\n    -q\n{NORMALIZE}",
    "help": f"torch.norm?\n?torch\n??torch\ntorch.*norm*?\n%time?\n{NORMALIZE}",
    "files": f"here['x'] = !ls\n{NORMALIZE}",
    "prompts": "\n".join(f"{'...' if n else '>>>'} {line}".rstrip() for n, line in enumerate(NORMALIZE.split("\n"))),
    "an indent": "\n".join(f"    {line}".rstrip() for line in NORMALIZE.split("\n")),
}


@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
def test_what_jupyter_runs_is_run(tmp_path: Path, cell: str) -> None:
    submission = read(tmp_path, "vectors.ipynb", notebook(IMPORTS, cell, COSINE))
    assert submission.unread == () and points(submission) == 3, submission.note_lines


@pytest.mark.parametrize(
    ("cell", "word"),
    [
        (
            COSINE.replace("    return", "    files = !ls\n    return", 1),
            "only a notebook can run its line `files = !ls`",
        ),
        (
            COSINE.replace("    return", "    n = %nproc\n    return", 1),
            "only a notebook can run its line `n = %nproc`",
        ),
        (f"%%cython\n{COSINE}", "begins with %%cython: left out"),
        (f"{COSINE}\n/print 1 2", "cannot be parsed"),
    ],
)
def test_what_only_a_notebook_can_run_needs_a_look(tmp_path: Path, cell: str, word: str) -> None:
    """Though something of the topic is right, and whatever the stub says."""
    stub = "def cosine(a, b):\n    raise NotImplementedError"
    submission = read(tmp_path, "vectors.ipynb", notebook(IMPORTS, NORMALIZE, stub, cell))
    (unread,) = submission.unread
    assert "cosine: cell 5: " in unread.reason and word in unread.reason
    again = read(tmp_path / "again", "vectors.ipynb", notebook(IMPORTS, NORMALIZE, cell, COSINE))
    assert again.unread == () and points(again) == 3, "a later cell has it"


def test_an_await_is_run_in_the_sandbox_and_an_endless_one_costs_its_cell_alone(tmp_path: Path, warm: WarmUp) -> None:
    endless = "await asyncio.sleep(10_000)"
    submission = read(tmp_path, "vectors.ipynb", notebook(IMPORTS, CELLS["await"], endless, COSINE))
    result = warm(OWN_COURSE, topic_seconds=6.0).of(submission)
    assert result.score == 3 and len(result.notes) == 1 and "cell 4" in result.notes[0]


def test_an_error_of_python_s_own_is_the_student_s(tmp_path: Path) -> None:
    submission = read(tmp_path, "vectors.ipynb", notebook(IMPORTS, NORMALIZE, "def cosine(a, b:\n    return a"))
    assert submission.unread == () and points(submission) == 1


MARIMO = '''import marimo

__generated_with = "0.14.0"
app = marimo.App(width="medium")

with app.setup:
    import marimo as mo
    import torch


@app.function
def normalize(x):
    """Length 1."""
    return torch.nn.functional.normalize(x, dim=1, eps=1e-30)


@app.cell(hide_code=True)
def _():
    mo.md(r"""
    # Text
    """)
    return


@app.cell
def _(EPS):
    def cosine(a, b):
        text = """
        kept
        """
        return (normalize(a) * normalize(b)).sum(-1) + EPS * len(text) * 0

    def other():
        return 1

    return cosine, other


@app.cell
def _():
    EPS = 0.0
    return (EPS,)


@app.class_definition(hide_code=True)
class Net(torch.nn.Module):
    pass


if __name__ == "__main__":
    app.run()
'''


def test_a_notebook_of_marimo_is_run_in_the_order_of_marimo(tmp_path: Path) -> None:
    submission = read(tmp_path, "vectors.py", MARIMO.encode())
    assert submission.unread == () and points(submission) == 3
    assert "in the order in which marimo runs them" in submission.note_lines[0]
    kept = submission.files["vectors.py"].decode()
    assert "marimo." not in kept and "app." not in kept and kept.index("EPS = 0.0") < kept.index("def cosine")


def test_lines_of_marimo_stay_where_they_are_if_that_is_its_order(tmp_path: Path) -> None:
    in_order = MARIMO.replace("def _(EPS):", "def _():").replace(" + EPS * len(text) * 0", "")
    submission = read(tmp_path, "vectors.py", in_order.encode())
    before, after = in_order.split("\n"), submission.files["vectors.py"].decode().split("\n")
    assert len(before) == len(after) and points(submission) == 3 and submission.notes == ()
    assert [line.strip() for line in after if "return" in line and "other" not in line]
    assert after.index("def cosine(a, b):") == before.index("    def cosine(a, b):")


def test_a_name_that_is_each_cell_s_own_in_marimo_needs_a_look(tmp_path: Path) -> None:
    twice = MARIMO.replace("    EPS = 0.0\n", "    _e = 5\n    EPS = 0.0\n").replace(
        "def _(EPS):", "def _(EPS):\n    _e = 0"
    )
    submission = read(tmp_path, "vectors.py", twice.replace("EPS * len(text) * 0", "_e").encode())
    assert "`_e` is another thing in each cell for marimo" in submission.unread[0].reason


def magic(kind: str, *texts: str) -> str:
    return f"get_ipython().run_{kind}_magic({', '.join(map(repr, texts))})"


TIMED = magic("line", "time", f"y = {UNIT}")
EXPORTED = {
    "nbconvert": f"{IMPORTS}\n\n\n# In[2]:\n\n\n{magic('cell', 'time', '', NORMALIZE)}\n\n\n# In[3]:\n\n\n{COSINE}\n"
    f"{magic('line', 'matplotlib', 'inline')}\nget_ipython().system('pip install einops')\n",
    "nbconvert in a function": f"{IMPORTS}\n\ndef normalize(x):\n    {TIMED}\n"
    f"    get_ipython().system('ls')\n    return y\n\n\n{COSINE}\n",
    "Databricks": "# Databricks notebook source\n# MAGIC %md\n# MAGIC # Vectors\n\n# COMMAND ----------\n\n"
    f"{IMPORTS}\n\n# COMMAND ----------\n\n# MAGIC %%time\n"
    + "\n".join(f"# MAGIC {line}" for line in NORMALIZE.split("\n"))
    + f"\n\n# COMMAND ----------\n\n{COSINE}\n\n# COMMAND ----------\n\n# MAGIC %sql\n# MAGIC SELECT 1\n",
    "jupytext": "# ---\n# jupyter:\n#   jupytext:\n#     formats: ipynb,py:percent\n# ---\n\n"
    "# %% [markdown]\n# Vectors\n\n"
    f"# %%\n{IMPORTS}\n\n# %%\ndef normalize(x):\n    # %time y = {UNIT}\n    return y\n\n"
    f"# %%\n# !ls\n{COSINE}\n",
    "VS Code": f"#%%\n{IMPORTS}\n%matplotlib inline\n!pip install \\\n  einops\n\n#%%\n"
    f"{AWAIT}{NORMALIZE}\n\n#%% [markdown]\n# Text\n"
    f"\n#%%\n{COSINE}\ntorch.norm?\n",
    "Colab": f"# -*- coding: utf-8 -*-\n{IMPORTS}\n!pip install einops\n{NORMALIZE}\n{COSINE}\n"
    "%time cosine(torch.ones(2), torch.ones(2))\n",
    "a Ctrl-Z at the end": f"{SOLUTION}\n\x1a",
    "null bytes at the end": f"{SOLUTION}\n" + "\0" * 700,
    "null bytes and a line end": f"{SOLUTION}\n\x1a\0\r\n",
    "a BOM in the middle": f"\ufeff{IMPORTS}\n\ufeff{NORMALIZE}\n\n{COSINE}\n",
    "two BOMs": f"\ufeff\ufeff{SOLUTION}",
    "a BOM at the end": f"{SOLUTION}\ufeff",
}


@pytest.mark.parametrize("text", EXPORTED.values(), ids=EXPORTED)
def test_what_a_program_has_exported_is_run(tmp_path: Path, text: str) -> None:
    submission = read(tmp_path, "vectors.py", text.encode())
    assert submission.unread == () and points(submission) == 3, submission.note_lines


def test_plain_python_is_not_touched() -> None:
    for text in (
        SOLUTION,
        f"{SOLUTION}\nBOM = '\ufeff'\n",
        'get_ipython = "marimo.App("\n# jupyter:\n',
        "def broken(:\n",
    ):
        assert plain_python(text.encode()) == (text.encode(), [], {}, {})


def test_a_line_of_getoutput_in_an_answer_needs_a_look(tmp_path: Path) -> None:
    answer = COSINE.replace("    return", "    n = get_ipython().getoutput('nproc')\n    return", 1)
    (unread,) = read(tmp_path, "vectors.py", f"{IMPORTS}\n{NORMALIZE}\n{answer}\n".encode()).unread
    assert "cosine: only a notebook can run its line `n = get_ipython().getoutput('nproc')`" in unread.reason


# ---------------------------------------------------------------- names of code, and large notebooks

NAMES = ("vectors.py.txt", "vectors.py (1).txt", "vectors.py-1.txt", "vectors.PY.TXT")


@pytest.mark.parametrize("name", [*NAMES, "vectors.ipynb.txt", "vectors.ipynb.json"])
def test_code_that_was_saved_as_text_is_read_with_a_note(tmp_path: Path, name: str) -> None:
    content = SOLUTION.encode() if ".py" in name.lower().replace(".ipynb", "") else notebook(SOLUTION)
    submission = read(tmp_path, name, content)
    assert submission.unread == () and points(submission) == 3
    assert f"vectors.py: read from {name}" in submission.note_lines[0]
    (one,) = find_submissions([tmp_path / "class" / "ann"], topics_of(Course.load(OWN_COURSE)))
    assert one.read().files == submission.files


def test_of_a_stub_and_an_answer_that_was_saved_as_text_the_answer_counts(tmp_path: Path) -> None:
    read(tmp_path, "vectors.py", STUB)
    submission = read(tmp_path, "vectors.py.txt", SOLUTION.encode() + b"# mine\n")
    assert points(submission) == 3
    read(tmp_path / "two", "vectors.py", SOLUTION.encode() + b"# mine\n")
    assert points(read(tmp_path / "two", "vectors.py.txt", STUB)) == 3


def test_files_of_a_class_that_were_saved_as_text_have_their_student_s_name(tmp_path: Path) -> None:
    for name in ("ann_vectors.py.txt", "bob_vectors.ipynb.json"):
        (tmp_path / name).write_bytes(SOLUTION.encode() if name[0] == "a" else notebook(SOLUTION))
    found = [source.read() for source in find_submissions([tmp_path], topics_of(Course.load(OWN_COURSE)))]
    assert [(one.name, points(one)) for one in found] == [("ann_vectors", 3), ("bob_vectors", 3)]


ODD = 'text = "\\\\", \'"outputs": [\', """\\"outputs\\": [1, {"""  # "metadata": {'


def large(megabytes: int, *cells: str) -> bytes:
    outputs = [{"data": {"image/png": "A" * (megabytes << 20), "application/json": {"x": [[1.5, "]"], {"y": "\\"}]}}}]
    made = [
        {"cell_type": "code", "source": one, "outputs": outputs[: not n], "metadata": {"a": [{}]}}
        for n, one in enumerate(cells)
    ]
    return json.dumps({"cells": made, "metadata": {"widgets": {"state": {"a": [1]}}}, "nbformat": 4}).encode()


def test_a_notebook_with_60_mib_of_outputs_is_read(tmp_path: Path) -> None:
    submission = read(tmp_path, "vectors.ipynb", large(60, IMPORTS, f"{ODD}\n{NORMALIZE}", COSINE))
    assert submission.unread == () and points(submission) == 3 and submission.notes == ()
    assert ODD in submission.files["vectors.py"].decode()


@pytest.mark.parametrize("size", [1, 9])
def test_outputs_are_skipped_and_nothing_else(size: int) -> None:
    content = large(size, ODD, "x = 1")
    small = without_outputs(content)
    assert len(small) < 500 and module_of(small) == module_of(content)
    assert [cell["source"] for cell in json.loads(small)["cells"]] == [ODD, "x = 1"]


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (large(65, SOLUTION), "larger than 64 MiB: not read; clear its outputs"),
        (b"[" * (40 << 20), "too many values: not read; clear its outputs"),
        (b'{"cells": [' + b'"' * (15 << 20), "larger than 8 MiB without its outputs"),
        (b'{"cells": [], "outputs": "' + b"A" * (20 << 20), "larger than 8 MiB without its outputs"),
        (b'{"outputs": [' + b'"\\"' * (6 << 20), "not a notebook"),
    ],
    ids=["outputs", "deep", "quotes", "text", "endless"],
)
def test_what_is_too_large_all_the_same_is_unread(tmp_path: Path, content: bytes, word: str) -> None:
    (unread,) = read(tmp_path, "vectors.ipynb", content).unread
    assert word in unread.reason
