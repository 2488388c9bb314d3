"""`check` and `hint` in a real kernel: cells are graded in a process of their own, which ends with the kernel."""

from __future__ import annotations

import ast
import json
import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_here import run_here
from shared import OWN_COURSE, REPO, WarmUp, workers_of

from grader.course import Course
from grader.course.handout import notebook_of
from grader.intake.find import open_submission
from grader.results import to_json
from grader.testkit._ranks.world import free_port

psutil = pytest.importorskip("psutil")
nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]  # of the client's own packages

SECONDS = 240
"""How long a cell may take: a limit for what never ends."""
TAUGHT = REPO / "tests" / "courses" / "taught"
SOLUTION = (OWN_COURSE / "solutions" / "vectors.py").read_text()
NOT_PASSED = "print([one for each in result.exercises for one in each.checks if one.verdict != 'passed'])"
RIGHT = "def normalize(x):\n    return x / x.norm(dim=-1, keepdim=True).clamp_min(SMALLEST)"
WRONG = "def normalize(x):\n    return x"


class Kernel:
    """A kernel in a folder; each cell is run as a user would run it, with variables of the environment of its own."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self._variables = variables
        self._notebook = nbformat.v4.new_notebook()
        self.client = nbclient.NotebookClient(
            self._notebook, timeout=SECONDS, kernel_name="python3", allow_errors=True, resources={}
        )
        self._folder = folder

    def __enter__(self) -> Kernel:
        self.client.create_kernel_manager()
        self.client.start_new_kernel(
            cwd=str(self._folder),
            env={**os.environ, "PYTHONPATH": str(REPO), "IPYTHONDIR": str(self._folder), **self._variables},
        )
        self.client.start_new_kernel_client()
        return self

    def __exit__(self, *error: object) -> None:
        self.client._cleanup_kernel()

    def run(self, source: str) -> list[Any]:
        """The outputs of a cell."""
        cell = nbformat.v4.new_code_cell(source)
        self._notebook.cells.append(cell)
        self.client.execute_cell(cell, len(self._notebook.cells) - 1)
        return list(cell.outputs)

    def value(self, expression: str) -> str:
        """What a cell shows as text; what is printed may come in several pieces."""
        return "".join(str(one.get("text") or one["data"]["text/plain"]) for one in self.run(expression))

    def printed(self, source: str) -> str:
        """What a cell prints, in however many pieces."""
        return "".join(str(output.get("text", output.get("evalue", ""))) for output in self.run(source))

    def html(self, source: str) -> str:
        """The one card that a cell shows."""
        (output,) = self.run(source)
        assert output.output_type == "display_data", output
        return str(output["data"]["text/html"])

    def error(self, source: str) -> str:
        """What a cell that raises shows."""
        output = self.run(source)[-1]
        assert output.output_type == "error", output
        return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(output.traceback))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a notebook for each topic, and the course in it."""
    folder = tmp_path_factory.mktemp("init") / "kata"
    done = run_here("init", folder, "--notebooks", "--course", OWN_COURSE)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def kernel(folder: Path) -> Iterator[Kernel]:
    """One for the tests of this course, in their order: the first finds it new, the last one kills it."""
    with Kernel(folder) as kernel:
        yield kernel


def test_cells_are_graded_as_they_are_defined_last(kernel: Kernel) -> None:
    assert kernel.value("import grader, sys; print('torch' in sys.modules, 'rich' in sys.modules)") == "False False\n"
    kernel.run("from grader import check, hint, show")
    kernel.run("1 / 0\nimport torch")
    assert "no cell has defined an exercise yet" in kernel.error("check()")
    kernel.run("import torch\n")
    kernel.run(WRONG)
    assert "has not passed yet, so it has no picture" in kernel.error("show('normalize')")
    card = kernel.html("result = check('vectors.normalize')")
    assert "prefers-color-scheme:dark" in card and "returned" in card and "expected" in card
    assert "✗ <code>vectors.normalize</code>" in card
    assert kernel.value("print(type(result).__name__, result.score, result.max)") == "SubmissionResult 0.0 1.0\n"
    assert "vectors.normalize" in kernel.html("result")  # shown again where a later cell asks for it

    kernel.run("from collections import OrderedDict\nnormalize = 3\ndef helper(:")
    kernel.run("SMALLEST = 1e-12\nwhile True:\n    raise ValueError")
    kernel.run(RIGHT)
    card = kernel.html("check('normalize')")
    assert "✓ <code>vectors.normalize</code>" in card
    picture = "<figcaption>Forty vectors, before and after</figcaption><svg"
    assert picture in card and picture in kernel.html("show('normalize')")
    assert "Forty vectors" in kernel.run("show(normalize)")[0]["data"]["text/plain"], "for a place without HTML"
    assert "there are no pictures of that" in kernel.error("show('cosine')")
    assert "✓ <code>vectors.normalize</code>" in kernel.html("check(normalize)"), "the function itself"
    kernel.run("%%time\ndef cosine(a, b):\n    return (normalize(a) * normalize(b)).sum(-1)")
    every = kernel.html("check()")
    assert "3/3 points, 100.0%" in every and every.count("✓ <code>") == 2
    assert kernel.run("'torch' in __import__('sys').modules")  # the kernel's own import, by the student

    shown = kernel.run("%time\ndef normalize(x):\n    raise ValueError('no')\nIn[-1][:5]")[-1]
    number = shown.execution_count
    card = kernel.html("result = check('normalize')")
    assert f"In [{number}], line 3, in normalize: raise ValueError" in card and "vectors.py:" not in card
    place = kernel.value("print(result.exercises[0].checks[0].cause.frames[0].place)")
    assert place == f"In [{number}], line 3\n", "a failure names the cell as the notebook does"

    assert "Each row" in kernel.html("hint('vectors.normalize')")
    assert "vector_norm" in kernel.html("hint('normalize')")
    assert kernel.error("check('normalise')").startswith("error: ")
    assert kernel.error("hint('vectors')").splitlines()[0] == "error: `vectors` is a topic"
    assert "levels go from 1 to 2" in kernel.error("hint('normalize', 3)")


def test_a_ready_notebook_is_graded_like_the_file(kernel: Kernel, folder: Path, tmp_path: Path, warm: WarmUp) -> None:
    notebook = nbformat.read(folder / "vectors.ipynb", as_version=4)
    nbformat.validate(notebook)
    solved = _solved(notebook)
    cards = [kernel.run(cell.source) for cell in solved.cells if cell.cell_type == "code"]
    assert [card for card in cards if card and card[-1].output_type == "error"] == []
    _, *printed = kernel.run("from grader.results import to_json; r = check(); print(to_json(r).decode())")
    exercises = json.loads("".join(one.text for one in printed))["exercises"]
    (tmp_path / "as_file").mkdir()
    (tmp_path / "as_file" / "vectors.py").write_text(SOLUTION)
    (tmp_path / "as_notebook").mkdir()
    nbformat.write(solved, tmp_path / "as_notebook" / "vectors.ipynb")
    for name in ("as_file", "as_notebook"):
        handed_in = open_submission(tmp_path / name, ["vectors"]).read()
        assert json.loads(to_json(warm(OWN_COURSE, pictures=True).of(handed_in)))["exercises"] == exercises, name
    assert [(one["score"], one["max"]) for one in exercises] == [(1, 1), (2, 2)]


def test_the_worker_is_replaced_after_an_interrupt_and_a_kill_and_ends_with_the_kernel(kernel: Kernel) -> None:
    kernel.run("from grader import check\nimport os, signal, threading, torch")
    process = int(kernel.value("print(os.getpid())"))
    kernel.run(WRONG)
    assert "✗ <code>" in kernel.html("check('normalize')")
    (first,) = workers_of(psutil.Process(process))

    kernel.run("def normalize(x):\n    while True:\n        pass")
    # A check of an endless loop takes ten seconds at least: this comes in the middle of it.
    interrupt = "threading.Timer(2, os.kill, (os.getpid(), signal.SIGINT)).start()"
    assert kernel.error(f"{interrupt}; check('normalize')") == "stopped: 0 exercises checked"
    kernel.run("from grader.notebook import commands\nreal = commands.submission_of")
    kernel.run("commands.submission_of = lambda *_: signal.raise_signal(signal.SIGINT)")
    assert kernel.error("check('normalize')") == "stopped: 0 exercises checked", "before anything is graded, too"
    kernel.run("commands.submission_of = real")
    kernel.run(WRONG)
    assert "✗ <code>vectors.normalize</code>" in kernel.html("check('normalize')")

    (worker,) = workers_of(psutil.Process(process))
    worker.kill()
    assert "✗ <code>" in kernel.html("check('normalize')")
    (last,) = workers_of(psutil.Process(process))
    assert len({first.pid, worker.pid, last.pid}) == 3
    tree = psutil.Process(process).children(recursive=True)
    psutil.Process(process).kill()
    gone, alive = psutil.wait_procs(tree, timeout=SECONDS)
    assert len(gone) == len(tree) and not alive


def test_a_script_for_torchrun_is_checked_from_a_notebook_and_when_it_is_handed_in(tmp_path: Path) -> None:
    course = Course.load(None)
    folder = tmp_path / "kata"
    folder.mkdir()
    notebook = nbformat.reads(
        notebook_of(course, course.topic("ddp"), course.solution_file("ddp").read_bytes()).decode(), as_version=4
    )
    nbformat.write(notebook, folder / "ddp.ipynb")
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    # Its last cell runs the script here, where other tests may have the port that the solution chooses.
    with Kernel(folder, MASTER_PORT=str(free_port())) as kernel:
        for source in [one for one in cells if "ask(" not in one]:  # the questions come last
            if not source.startswith("check("):
                assert not [one for one in kernel.run(source) if one.output_type == "error"], source
        assert source.endswith("    main()")
        card = kernel.html('result = check("ddp.main")')
        assert "✓ <code>ddp.main</code>" in card, kernel.value(NOT_PASSED)
    handed_in = open_submission(folder, ["ddp"]).read()
    assert handed_in.note_lines == ()
    assert statements(handed_in.files["ddp.py"]) == statements(course.solution_file("ddp").read_bytes())


def test_a_notebook_with_a_lesson_starts_where_the_grader_is_and_where_it_is_missing(tmp_path: Path) -> None:
    folder = tmp_path / "kata"
    assert run_here("init", folder, "--notebooks", "--course", TAUGHT).returncode == 0
    notebook = nbformat.read(folder / "lines.ipynb", as_version=4)
    nbformat.validate(notebook)
    notebook = _solved(notebook, (TAUGHT / "solutions" / "lines.py").read_text())
    install, *cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    with Kernel(folder) as kernel:
        assert kernel.run(install) == []
        for source in cells:
            outputs = kernel.run(source)
            assert not [one for one in outputs if one.output_type == "error"], source
            if source.startswith("check("):
                assert "✓ <code>" in outputs[-1]["data"]["text/html"], source
        kernel.run("import sys; sys.modules['grader'] = None  # as where it is not installed")
        kernel.run("get_ipython().register_magic_function(lambda line: print('pip', line), magic_name='pip')")
        assert kernel.value(install) == "pip install --quiet torchkata torchkata-course-taught\n"


def test_questions_are_asked_once_and_never_where_nothing_can_be_typed(tmp_path: Path) -> None:
    folder = tmp_path / "kata"
    assert run_here("init", folder, "--notebooks").returncode == 0
    cells = json.loads((folder / "first_run.ipynb").read_text(encoding="utf-8"))["cells"]
    last = "".join(cells[-1]["source"])
    assert last == 'from grader import ask\n\nask("first_run")'
    work = open_submission(folder, [one.name for one in Course.load(None).modules]).read()
    assert b"ask(" not in work.files["first_run.py"], "it is no part of what is handed in"
    with Kernel(folder) as kernel:
        assert "nothing can be typed here; the same in a terminal: grader learn first_run" in kernel.printed(last)
        shown = kernel.printed("import builtins\nbuiltins.input = lambda prompt: '30, 3'\nask('first_run')")
        assert "✓ right: (30, 3)" in shown and "✗ no: it gives 1\n" in shown and "\x1b" not in shown
        assert kernel.printed(last) == "the questions about first_run were asked already\n"
        assert "unknown topic `nothing`" in kernel.error("ask('nothing')")
    with Kernel(folder) as kernel:  # as another one, on another day
        assert kernel.printed(last) == "the questions about first_run were asked already\n"


def test_cells_are_graded_with_a_wheel_for_students(tmp_path: Path) -> None:
    assert run_here("package", "--students", "--course", OWN_COURSE, "--to", tmp_path).returncode == 0
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "lib")
    home = tmp_path / "work" / ".torchkata"
    home.mkdir(parents=True)
    (home / "folder.json").write_text('{"has_course": false, "course": "vectors-in-a-week"}')
    paths = os.pathsep.join([str(tmp_path / "lib"), str(REPO)])
    with Kernel(tmp_path / "work", PYTHONPATH=paths) as kernel:
        kernel.run("from grader import check, hint")
        kernel.run("SMALLEST = 1e-12\n" + RIGHT)
        assert "✓ <code>vectors.normalize</code>" in kernel.html("check('vectors.normalize')")
        assert "Each row" in kernel.html("hint('vectors.normalize')")


def test_without_a_notebook_it_says_so() -> None:
    from grader import check
    from grader.notebook.commands import NotebookError

    with pytest.raises(NotebookError, match="no notebook here"):
        check("tensor_ops.gram")


def statements(code: bytes) -> list[str]:
    """The statements of a module, in order; without the text at its head, and without what becomes of `check` cells."""
    return [ast.unparse(one) for one in ast.parse(code).body if not isinstance(one, (ast.Expr, ast.Pass))]


def _solved(notebook: Any, solution: str = SOLUTION) -> Any:
    """The notebook with the solution's definitions in their cells."""
    tree = ast.parse(solution)
    texts = {
        node.name: ast.get_source_segment(solution, node) for node in tree.body if isinstance(node, ast.FunctionDef)
    }
    for cell in notebook.cells:
        found = re.search(r"^def (\w+)", cell.source, re.MULTILINE)
        if found:
            cell.source = texts[found[1]]
    return notebook
