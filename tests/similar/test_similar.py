"""`grader similar`: which pairs it finds, which it leaves alone, what the page shows, and what it says of itself."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from classrooms import NAMES, entry, exercise, result
from msgspec.structs import replace
from shared import OWN_COURSE, REPO

from grader.cli import instructor as command
from grader.course import Course
from grader.errors import UserError
from grader.gradebook import Gradebook
from grader.intake.submission import Submission, digest
from grader.reports.entries import Entry
from grader.similar import passages
from grader.similar.page import MOST_PAIRS, write_page
from grader.similar.pairs import NOT_A_VERDICT, Findings, find_pairs

COURSE = Course.load(OWN_COURSE)
STUB = COURSE.stub_file("vectors").read_text()
SOLUTION = COURSE.solution_file("vectors").read_text()
LONG_WAY = """
def by_hand(rows):
    found = []
    for row in rows:
        total = 0.0
        for number in row:
            total += float(number) ** 2
        found.append([number / total**0.5 if total else 0.0 for number in row])
    return found
"""
RENAMED = (
    LONG_WAY.replace("total", "summe")
    .replace("row", "zeile")
    .replace("found", "ergebnis")
    .replace("    ergebnis = []", "    # mine\n\n    ergebnis   =  []")
)
OTHER_WAY = """
class Scaler:
    def __init__(self, floor=1e-12, keep=True):
        self.floor, self.keep = floor, keep

    def __call__(self, x):
        while self.keep and x.abs().max() < self.floor:
            raise ValueError(f"too small: {x!r}")
        return {"scaled": x * x.pow(2).sum(-1, keepdim=True).rsqrt(), "floor": self.floor}
"""


def work(name: str, text: str | bytes) -> Entry:
    given = entry(result(name, exercise("vectors.cosine")))
    content = text if isinstance(text, bytes) else text.encode()
    return Entry(given.row, lambda _: {"vectors.py": content})


def pairs(*entries: Entry, least: float = 0.6) -> Findings:
    return find_pairs(entries, COURSE, least)


def names(found: Findings) -> set[tuple[str, str]]:
    return {(one.first.name, one.second.name) for one in found.pairs}


def page(found: Findings, tmp_path: Path) -> str:
    write_page(found, COURSE, tmp_path / "similar.html", ["course, run 1"])
    return (tmp_path / "similar.html").read_text()


def made_up(seed: int) -> str:
    """Code of one student who wrote alone: statements of many forms in an order of its own."""
    dice = random.Random(seed)
    forms = (
        "x = x[{a}:, :{b}]",
        "for i in range({a}, {b}): x[i] += {a}",
        "y = [n * {a} for n in x if n > {b}]",
        "if x.dim() == {a} and y is not None: raise ValueError({b})",
        "with torch.no_grad(): y = x.clamp({a}, max={b})",
        "z = {{'a': x, 'b': (y, {a})}}",
        "while len(y) < {b}: y.append(({a}, *y[-1:]))",
        "assert not x.isnan().any(), {a}",
        "w = lambda q, r={a}: q @ r.T - {b}",
        "x, y = (y or x), ~x ^ {b}",
    )
    body = (dice.choice(forms).format(a=dice.randrange(100), b=dice.randrange(1000)) for _ in range(15))
    return "\n    ".join((STUB + "\ndef more(x, y=None):", *body)) + "\n"


def test_a_copy_with_other_names_comments_and_layout_is_found() -> None:
    found = pairs(work("ann", STUB + LONG_WAY), work("bob", RENAMED + SOLUTION), work("eve", STUB + OTHER_WAY))
    assert names(found) == {("ann", "bob")}
    (pair,) = found.pairs
    assert pair.topic == "vectors" and pair.share > 0.8 and pair.second.share > 0.7


def test_the_work_of_a_group_is_there_once_and_no_copy_of_itself() -> None:
    members = [work(name, STUB + LONG_WAY) for name in ("ann", "bob", "cy")]
    group = [Entry(replace(one.row, group="rho"), one.files_of) for one in members]
    found = pairs(*group, work("eve", RENAMED + SOLUTION), work("fay", STUB + OTHER_WAY))
    assert names(found) == {("ann (group rho)", "eve")} and found.submissions == 3


def test_the_lines_that_are_alike_are_those_of_the_copy() -> None:
    (pair,) = pairs(
        work("ann", "\n\n" + STUB + LONG_WAY), work("bob", STUB + "\n\nclass Own:\n    a = 1\n" + RENAMED)
    ).pairs
    for side in (pair.first, pair.second):
        lines = side.text.decode().split("\n")
        start = next(number for number, line in enumerate(lines, 1) if line.startswith("def by_hand"))
        assert start + 3 in side.lines and max(side.lines) == len(lines) - 1
        assert all(line >= start - 4 for line in side.lines), "a line of the stub is marked"


ONE_LINE = """
def {0}(x):
    return x.sum(dim=1).sqrt().clamp(min=1e-8) * x.shape[0] + x.mean(dim=0, keepdim=True)
"""


def test_functions_of_one_line_are_not_listed() -> None:
    same = "".join(f"{ONE_LINE.format(name)}\ny = {name}\n" for name in "abcd")
    for text in (ONE_LINE.format("f"), same):
        assert not pairs(work("ann", STUB + text), work("bob", STUB + text), least=0.01).pairs


def test_only_lines_that_are_alike_are_marked() -> None:
    """A passage may begin or end in a line that is another one."""
    shared = "    q = x.sum(1).sqrt().clamp(min=1e-8) * x.shape[0] + x.mean(0, keepdim=True)\n"
    texts = [
        f"\ndef f(x):\n    {a}\n{shared * 6}    {b}\n" for a, b in (("k = {1: x}", "print(k)"), ("x[0] += 1", "del x"))
    ]
    (pair,) = pairs(
        *(work(name, STUB + text) for name, text in zip(("ann", "bob"), texts, strict=True)), least=0.1
    ).pairs
    for side in (pair.first, pair.second):
        lines = side.text.decode().split("\n")
        assert {lines[line - 1] for line in side.lines} == {shared.rstrip("\n")}


def test_stub_and_solution_alike_are_not_compared() -> None:
    found = pairs(*(work(f"s{n}", text) for n, text in enumerate([STUB, STUB, SOLUTION, SOLUTION, STUB + SOLUTION])))
    assert not found.pairs and found.compared == 0


def test_solution_without_docstrings_or_type_hints_is_still_the_solution() -> None:
    bare = re.sub(r'    """.*?"""\n|: Tensor| -> Tensor|^ *#[^\n]*\n', "", SOLUTION, flags=re.DOTALL | re.MULTILINE)
    plain = re.sub(r": Tensor| -> Tensor", "", SOLUTION)
    assert "def cosine(a, b):\n    return" in bare and 'def cosine(a, b):\n    "' in plain
    found = pairs(*(work(f"s{n}", text) for n, text in enumerate([bare, bare, plain, plain])))
    assert not found.pairs and found.compared == 0


def test_what_many_of_the_class_have_does_not_count() -> None:
    found = pairs(*(work(f"s{n:02}", STUB + LONG_WAY) for n in range(21)))
    assert not found.pairs
    assert len(pairs(*(work(f"s{n:02}", STUB + LONG_WAY) for n in range(20))).pairs) == 190


def test_a_part_of_a_longer_file_is_found_by_the_larger_share() -> None:
    (pair,) = pairs(work("ann", STUB + LONG_WAY), work("bob", made_up(1) + LONG_WAY)).pairs
    assert pair.share == pair.first.share > 0.8 > pair.second.share
    assert not pairs(work("ann", made_up(2) + LONG_WAY), work("bob", made_up(1) + LONG_WAY)).pairs


@pytest.mark.slow
def test_300_submissions_of_which_40_are_empty(tmp_path: Path) -> None:
    texts = {f"s{n:03}": made_up(n) for n in range(258)}
    texts |= {"copy of s007": made_up(7).replace("x", "value"), "half s100": "\n".join(made_up(100).split("\n")[:-8])}
    texts |= {f"empty{n:02}": ("", STUB, "# nothing\n", "\n" * 50)[n % 4] for n in range(40)}
    found = pairs(*(work(name, text) for name, text in texts.items()))
    assert names(found) == {("s007", "copy of s007"), ("s100", "half s100")}
    assert (found.submissions, found.compared) == (300, 260)


def test_what_cannot_be_compared_is_noted() -> None:
    big = b"x = 1\n" * 20_000
    found = pairs(
        work("utf16", (STUB + LONG_WAY).encode("utf-16")),
        work("binary", b"\0" * 90),
        work("big\x1b[31m<b>", big),
        work("bigger", big),
        work("broken", "def f(:\n" + LONG_WAY),
        work("whole", LONG_WAY),
    )
    assert names(found) == {("broken", "whole")}
    assert found.notes == (
        "utf16: vectors.py is not Python text; not compared",
        "binary: vectors.py is not Python text; not compared",
        "big<b>: vectors.py is larger than 100 kB; not compared",
        "bigger: vectors.py is larger than 100 kB; not compared",
    )


@pytest.mark.parametrize("text", ['"', "\\", "f'{", "(", "a.", " ", "\t\n", "'''\n", "é", "class A" + "b" * 99 + ":\n"])
def test_files_made_to_stop_a_tokenizer_are_compared(text: str, tmp_path: Path) -> None:
    content = text * (10_000 // len(text.encode()))
    found = pairs(work("a", content), work("b", content + LONG_WAY), work("c", LONG_WAY))
    assert "Similar code" in page(found, tmp_path)


LONG_LINES = {
    "blanks": "match" + " " * 99_000,
    "blanks in lines of the longest kind": ("match" + " " * 494 + "\n") * 190,
    "a literal": f"x = '{'a' * 90_000}'",
    "brackets": "(" * 99_000,
    "another blank": "case" + "\u00a0" * 40_000,
}


@pytest.mark.parametrize("start", LONG_LINES)
def test_of_a_long_line_the_start_is_compared_and_a_note_says_so(start: str) -> None:
    """A tokenizer needs a minute for one line of 99,000 blanks after a word such as ``match``."""
    text = f"{LONG_LINES[start]}\n{LONG_WAY}"
    assert max(map(len, passages.ComparedFile("ann", text.encode()).code.raw_code.split("\n"))) <= 500
    found = pairs(work("ann", text), work("bob", LONG_WAY))
    assert names(found) == {("ann", "bob")}
    cut = "ann: of lines of vectors.py, the first 500 characters are compared"
    assert found.notes == (() if "longest" in start else (cut,))


def test_without_a_solution_a_note_says_so(own_course: Path) -> None:
    (own_course / "solutions" / "vectors.py").unlink()
    found = find_pairs([work("ann", STUB)], Course.load(own_course, complete=False), 0.6)
    assert found.notes == ("vectors: the course has no reference solution here; only the stub is taken away",)


def test_page_escapes_names_and_code_and_says_that_it_is_no_verdict(tmp_path: Path) -> None:
    hostile = LONG_WAY + "    # </pre><script>alert(1)</script>{{ 7*7 }}\x1b[31m\u202e\n    return '<img src=x>'\n"
    given = ["<script>alert(2)</script>\x1b[2J\u202e{{ 7*7 }}", *NAMES]
    text = page(pairs(*(work(name, STUB + hostile) for name in given)), tmp_path)
    assert "<script" not in text and "<img" not in text and "\x1b" not in text and "\u202e" not in text
    assert "{{ 7*7 }}" in text and "&lt;script&gt;alert(2)" in text and "&lt;img" in text
    assert (
        NOT_A_VERDICT in text and "default-src &#39;none&#39;" in text and text.count("://") == text.count("http://x")
    )
    assert '<span class="here"><i>' in text
    assert len(re.findall(r'<details class="pair" open', text)) == 3 < text.count('<details class="pair"')


def test_page_shows_100_pairs_and_how_many_more(tmp_path: Path) -> None:
    found = pairs(*(work(f"s{n:02}", STUB + LONG_WAY) for n in range(16)))
    text = page(found, tmp_path)
    assert len(found.pairs) == 120 and text.count('<details class="pair"') == MOST_PAIRS
    assert "20 more: only the most similar 100 pairs" in text


def test_where_too_much_is_alike_the_most_alike_are_compared_and_a_note_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("grader.similar.pairs._MOST_SHARED", 200)
    texts = {"a": STUB + LONG_WAY, "b": RENAMED, "c": made_up(1) + LONG_WAY, "d": STUB + LONG_WAY + made_up(2)}
    found = pairs(*(work(name, text) for name, text in texts.items()), least=0.1)
    assert ("a", "b") in names(found) and len(found.pairs) < 6
    assert found.notes == (f"vectors: of 6 pairs with much in common, {len(found.pairs)} were compared",)


def test_page_is_bounded_where_much_is_alike(tmp_path: Path) -> None:
    """Each pair has its part of 10 MB, whatever its files: no more than `MOST_PAIRS` are shown."""
    long = "\n".join(f"v{n} = [{n}, {{'<': {n * n}}}] * {n + 7}  # {'<' * 5000 if n < 3 else ''}" for n in range(400))
    text = page(pairs(*(work(f"s{n:02}", long) for n in range(4))), tmp_path)
    assert text.count('<details class="pair"') == 6
    assert len(text) < 6 * 10_000_000 // MOST_PAIRS


def gradebook(folder: Path, *works: tuple[str, str], topic: str = "vectors") -> Path:
    with Gradebook.open(folder / "gradebook.sqlite") as book:
        run = book.start_run("course", "hash", 0, "{}", {})
        for name, text in works:
            submission = Submission(name, {f"{topic}.py": text.encode()})
            book.record_arrival(run, submission, digest(submission))
            book.record(run, result(name, exercise(f"{topic}.cosine")), digest(submission), 0.1)
    return folder


def grader(*arguments: str | Path, hide: bool = False, hashes: int = 0) -> subprocess.CompletedProcess[str]:
    """The command, without the library where `hide` says so; `hashes` is what Python's own depend on."""
    start = "import sys; sys.modules['copydetect'] = None; " if hide else ""
    code = f"{start}from grader.cli.app import main; main()"
    line = [sys.executable, "-c", code, *map(str, arguments)]
    environment = {**os.environ, "PYTHONHASHSEED": str(hashes)}
    return subprocess.run(line, cwd=REPO, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_command_prints_pairs_once_and_writes_the_page(tmp_path: Path) -> None:
    gradebook(tmp_path, ("ann", STUB), ("=1+1\x1b[31m", STUB + LONG_WAY), ("bob", RENAMED))
    gradebook(tmp_path, ("ann", STUB + LONG_WAY))  # her second submission counts, and is not like her first
    done = grader("similar", "--out", tmp_path, "--course", OWN_COURSE)
    assert done.returncode == 0, done.stderr
    assert "3 pairs at least 60% alike" in done.stdout and "3 of 3 submissions" in done.stdout
    assert "=1+1" in done.stdout and "\x1b" not in done.stdout and NOT_A_VERDICT in done.stdout
    assert str(tmp_path / "similar.html") in done.stdout
    assert "copydetect" in (tmp_path / "similar.html").read_text()
    with pytest.raises(UserError) as blocked:
        command.similar(tmp_path, None, OWN_COURSE, 0.6, tmp_path / "gradebook.sqlite")
    assert "--to" in str(blocked.value.fix)


def test_command_prints_a_bounded_table() -> None:
    found = pairs(*(work(f"s{n:02}" + "long" * 99, STUB + LONG_WAY) for n in range(16)))
    lines = list(command._similar_lines(found))
    assert "and 100 more: see the page" in lines[21].strip() and max(map(len, lines[:22])) < 120


def test_command_refuses_a_share_that_is_none(tmp_path: Path) -> None:
    for least in (0.0, 1.1, -1.0):
        with pytest.raises(typer.BadParameter, match="must be a fraction"):
            command._fraction(least)
    done = grader("similar", "--out", tmp_path, "--least", "nan")
    assert done.returncode == 4 and "must be a fraction" in done.stderr


def test_without_the_library_one_line_and_exit_code_4(tmp_path: Path) -> None:
    gradebook(tmp_path, ("ann", STUB))
    done = grader("similar", "--out", tmp_path, "--course", OWN_COURSE, hide=True)
    assert done.returncode == 4
    assert re.fullmatch(
        r"error: similar code is found by copydetect, [^\n]+\n  pip install 'torchkata\[similar\]'\n", done.stderr
    )


def test_nothing_but_the_comparison_imports_the_library() -> None:
    code = (
        "import sys, grader.cli.app, grader.cli.instructor, grader.similar.pairs\n"
        "assert not {'copydetect', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=REPO, timeout=60)
    users = [file for file in (REPO / "grader").rglob("*.py") if "copydetect." in file.read_text()]
    assert [file.name for file in users] == [Path(passages.__file__).name]


def test_shares_do_not_depend_on_the_hashes_of_a_process(tmp_path: Path) -> None:
    """Those that the command prints of one run, with hashes of its own, are those of this process."""
    texts = {f"s{n}": made_up(n % 3) + (LONG_WAY if n else OTHER_WAY) for n in range(6)}
    gradebook(tmp_path, *texts.items())
    gradebook(tmp_path, ("s1", STUB), ("s2", STUB))
    of_a_run = ("--course", OWN_COURSE, "--run", "1", "--least", "0.05", "--to", tmp_path / "new")
    hashes = 1 + (os.environ.get("PYTHONHASHSEED") == "1")
    *lines, page = grader("similar", "--out", tmp_path, *of_a_run, hashes=hashes).stdout.splitlines()
    found = pairs(*(work(name, text) for name, text in texts.items()), least=0.05)
    assert lines == list(command._similar_lines(found)) and " pairs at least 5%" in lines[0]
    assert str(tmp_path / "new" / "similar.html") in page and (tmp_path / "new" / "similar.html").is_file()


def test_missing_library_is_a_user_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "copydetect", None)
    with pytest.raises(UserError, match="copydetect"):
        pairs(work("ann", STUB))
