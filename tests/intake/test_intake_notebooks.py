"""Notebooks: code cells in order become a module; what is left out is noted with the number of its cell."""

from __future__ import annotations

import json

import pytest
from make_class_zips import notebook

from grader.intake.notebook import RUNNING, Cells, module_of, text_of


def namespace(*cells: str, error: bool = False) -> tuple[dict[str, object], list[str]]:
    module, notes, *_ = module_of(notebook(*cells, error=error))
    assert module is not None
    result: dict[str, object] = {}
    exec(compile(module, "notebook", "exec"), result)
    return result, notes


def test_code_cells_run_in_order_and_say_their_number() -> None:
    module, notes, *_ = module_of(notebook("a = 1", "b = a + 1"))
    assert module == b"# cell 2\na = 1\n\n# cell 3\nb = a + 1\n" and notes == []


@pytest.mark.parametrize("line", ["%matplotlib inline", "%load_ext autoreload", "%autoreload 2", "%config X.y = 1"])
def test_magic_that_nobody_misses_is_not_mentioned(line: str) -> None:
    names, notes = namespace(f"a = 1\n{line}\nb = 2")
    assert (names["a"], names["b"], [*notes]) == (1, 2, [])


@pytest.mark.parametrize(
    "line", ["!pip install 'torch", "?print", "print?", "files = !ls", "x = %timeit 1", "%cd /tmp", "!!ls"]
)
def test_magic_and_shell_lines_are_left_out_and_mentioned(line: str) -> None:
    names, notes = namespace(f"a = 1\n{line}\nif a:\n    {line}\nb = 2")
    assert (names["a"], names["b"]) == (1, 2)
    assert len(notes) == 1 and notes[0].startswith(f"cell 2: left out: {line}")


def test_python_that_looks_like_magic_stays() -> None:
    names, notes = namespace('text = """\n%time\n!ls\n"""\nrest = (7\n  % 4)')
    assert names["text"] == "\n%time\n!ls\n" and names["rest"] == 3 and notes == []


def test_cell_of_another_language_is_left_out_and_timed_cells_stay() -> None:
    names, notes = namespace("%%bash\nrm -rf /", "%%time\na = 1")
    assert names["a"] == 1
    assert notes == ["cell 2: begins with %%bash: left out", "cell 3: left out: %%time"]


@pytest.mark.parametrize("broken", ["def f(:\n  pass", "return 1", "\0", "(" * 500, "x = 1\n  y = 2"])
def test_cell_that_cannot_be_parsed_gets_a_note_with_its_number_and_the_others_stay(broken: str) -> None:
    names, notes = namespace("a = 1", broken, "b = 2")
    assert (names["a"], names["b"]) == (1, 2)
    assert len(notes) == 1 and notes[0].startswith("cell 3: cannot be parsed (")


def test_cell_that_ended_in_an_error_stays_as_it_is() -> None:
    """What raises is left out where it raises; a constant beside it is needed all the same."""
    module, notes, *_ = module_of(notebook("EPS = 1e-5\nraise ValueError", error=True))
    assert module == b"# cell 2\nEPS = 1e-5\nraise ValueError\n" and notes == []


@pytest.mark.parametrize(
    ("cell", "left"),
    [
        ("from __future__ import annotations\nb = 2", "pass\nb = 2"),
        ("b = 2\nfrom __future__ import (\n    annotations,\n)  # why\nc = 3", "b = 2\npass  # why\n\n\nc = 3"),
        ("b = 2; from __future__ import annotations; c = 3", "b = 2; pass; c = 3"),
        ('t = """\nfrom __future__ import division\n"""\nfrom __future__ import annotations', None),
    ],
)
def test_a_future_import_moves_to_the_top_and_no_line_moves(cell: str, left: str | None) -> None:
    module, notes, *_ = module_of(notebook("a = 1", cell))
    assert module is not None and notes == []
    if left is not None:
        assert module == f"from __future__ import annotations  # cell 2\na = 1\n\n# cell 3\n{left}\n".encode()
    compile(module, "notebook", "exec")
    count = module.count(b"\n")
    found = [Cells(module).find(line) for line in range(1, count + 2)]
    assert found == [(2, 0), (2, 1), (2, 2), *((3, line) for line in range(count - 2))]


def test_calls_of_the_grader_are_left_out_without_a_word() -> None:
    cells = (
        "import torch\nfrom grader import check, hint, show",
        "def f():\n    return check(1)\ncheck(\n    'vectors.f',\n); a = f; hint('f'); b = 2",
        "def check(x):\n    return x\nc = [check(3)]\ncheck(c.append(4))",
    )
    module, notes, *_ = module_of(notebook(*cells))
    assert module is not None and notes == []
    assert module.decode().splitlines() == [
        *("# cell 2", "import torch", "pass", ""),
        *("# cell 3", "def f():", "    return check(1)", "pass; a = f; pass; b = 2", "", "", ""),
        *("# cell 4", "def check(x):", "    return x", "c = [check(3)]", "check(c.append(4))"),
    ]  # fmt: skip
    assert module_of(notebook("check('f')"))[0] == b"# cell 2\ncheck('f')\n"


def test_a_module_that_was_no_notebook_has_no_cells() -> None:
    assert not Cells(b"import torch\n# cell 2\nx = 1\n") and not Cells(b"")


def test_a_line_is_named_by_its_cell_and_the_line_in_it() -> None:
    """A comment that looks like the heading of an earlier cell is none."""
    cells = ("a = 1", "\n# cell 1\nb = 2", "", "c = 3")
    for heading, first, third in (
        ("cell {}", "cell 3, line 3", "cell 5, line 1"),
        (RUNNING, "In [3], line 3", "In [5], line 1"),
    ):
        module, *_ = module_of(notebook(*cells), heading)
        assert module is not None
        found = Cells(module)
        lines = module.decode().splitlines()
        assert found.place(lines.index("b = 2") + 1) == first
        assert found.place(lines.index("c = 3") + 1) == third
    assert found.named(4) == "In [4]" and Cells(b"# cell 1\n").named(4) == "cell 4"


def test_old_format_and_sources_as_one_text_are_read() -> None:
    old = {"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code", "input": ["a = 1\n", "b = 2"]}]}]}
    assert module_of(json.dumps(old).encode())[0] == b"# cell 1\na = 1\nb = 2\n"
    new = {"cells": [{"cell_type": "code", "source": "a = 1"}]}
    assert module_of(b"\xef\xbb\xbf" + json.dumps(new).encode())[0] == b"# cell 1\na = 1\n"


CELL = '{"cell_type": "code", "source": "a = 1"}'


@pytest.mark.parametrize(
    "content",
    [
        f'{{"cells": [{CELL}], "nbformat": "4"}}',
        f'{{"cells": [{CELL}], "nbformat": 4.5, "worksheets": null}}',
        f'{{"cells": null, "worksheets": [{{"cells": [{CELL}]}}]}}',
        f'{{"cells": [{CELL[:-1]}, "input": null}}]}}',
        f'{{"cells": [{CELL[:-1]}, "outputs": [{{"data": NaN}}, -Infinity]}}]}}',
        f'{{"cells": [{CELL[:-1]}, "outputs": [{{"text": "half of an emoji: \\ud83d"}}]}}]}}',
        f'{{"cells": [{CELL[:-1]}, "outputs": [{{"data": {"9" * 5000}}}]}}]}}',
        f'{{"cells": [{CELL}], "metadata": {{"author": "Zo\udceb"}}}}',  # a byte that is no UTF-8
    ],
)
def test_what_other_programs_write_into_notebooks_is_no_reason_to_read_none(content: str) -> None:
    written = content.encode(errors="surrogateescape")
    assert module_of(written)[:2] == (b"# cell 1\na = 1\n", [])
    assert text_of(written) == "a = 1"


@pytest.mark.parametrize("cell", ['{"cell_type": "code", "source": null}', '{"cell_type": null, "source": "b"}'])
def test_an_odd_cell_costs_no_other(cell: str) -> None:
    module, *_ = module_of(f'{{"cells": [{cell}, {CELL}]}}'.encode())
    assert module is not None and module.endswith(b"# cell 2\na = 1\n")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "undefined"])
def test_an_encoding_that_a_cell_names_means_nothing(encoding: str) -> None:
    module, notes, *_ = module_of(notebook(f"# -*- coding: {encoding} -*-\na = 'ä'"))
    names: dict[str, str] = {}
    exec(module or b"", names)
    assert (names["a"], notes) == ("ä", [])


def test_half_of_a_character_in_code_is_a_question_mark() -> None:
    module, notes, *_ = module_of(CELL.replace("a = 1", "a = '\\udc00'").join(['{"cells": [', "]}"]).encode())
    assert (module, notes) == (b"# cell 1\na = '?'\n", [])


def test_endless_code_is_bounded() -> None:
    module, notes, *_ = module_of(notebook("a = 1", *["#" * 300_000] * 9))
    assert module is not None and len(module) < 1_100_000
    assert notes == ["cell 6: more than 1 MiB of code: the rest was left out"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not json",
        b"[1]",
        b'{"cells": 3}',
        b'{"cells": []}',
        b"{}",
        b"\xff\xfe{\0}\0",
        b'{"cells":' + b"[" * 99_999,
    ],
)
def test_file_that_is_not_a_notebook_gets_one_note(content: bytes) -> None:
    module, notes, *_ = module_of(content)
    assert module is None and len(notes) == 1 and "notebook" in notes[0]
