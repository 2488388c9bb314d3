"""A class over several days, by commands alone: each mark is the one that was worked out by hand."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from command_here import run_here
from make_class_zips import OWN, SOLUTION, STUB, notebook, zipped

from grader.gradebook import Gradebook
from grader.grading.settings import read_selection
from grader.sandbox.limits import Limits

OWN_ANSWER = SOLUTION + b"\nMINE = 1\n"
HALF = SOLUTION.replace(b"def cosine", b"def cosine_of")
MAIN = b"def main():\n" + b"\n".join(b"    " + line for line in SOLUTION.splitlines()) + b"\n"
MAGIC = notebook("%%writefile vectors.py\n" + SOLUTION.decode())
WRONG_CHECK = """

@exercise("vectors.cosine")
def test_wrong(submission):
    assert submission.cosine(torch.ones(2), torch.ones(2)) == 7
"""
Files = dict[str, bytes]


class Row(NamedTuple):
    """A student: the group, the files of the first and the second day, and the final points as the CSV has them."""

    name: str
    group: str
    first: Files | None
    second: Files | None
    final: str
    why: str


SOLVED, NONE = {"vectors.py": SOLUTION}, {"vectors.py": STUB}
CLASS = (
    Row("Ann Right", "", SOLVED, None, "3", "right"),
    Row("Bo Half", "", {"vectors.py": HALF}, None, "1", "`cosine` is not there"),
    Row("Cy Stub", "", NONE, None, "0", "as it was handed out"),
    # A group: one upload, two members who handed in nothing.
    Row("Da Rho", "Rho", SOLVED, None, "3", "her upload"),
    Row("Ed Rho", "Rho", None, None, "3", "Da's upload"),
    Row("Fa Rho", "Rho", None, None, "2.5", "Da's upload; half a point less by hand"),
    # A group with the same work twice, and one whose work differs.
    Row("Gi Tau", "Tau", {"vectors.py": HALF}, None, "1", "the same as Hu's"),
    Row("Hu Tau", "Tau", {"vectors.py": HALF}, None, "1", "the same as Gi's"),
    Row("Io Phi", "Phi", SOLVED, None, "", "Jo's work differs: no mark before a person looks"),
    Row("Jo Phi", "Phi", {"vectors.py": HALF}, None, "", "Io's work differs"),
    Row("Ka Chi", "Chi", SOLVED, {"vectors.py": SOLUTION}, "3", "her work was graded again, so Li's does not count"),
    Row("Li Chi", "Chi", {"vectors.py": HALF}, None, "3", "Ka's was graded again"),
    Row("Mo Psi", "Psi", None, None, "0", "nobody of the group handed in"),
    Row("Nu Psi", "Psi", None, None, "0", "nobody of the group handed in"),
    # Resubmissions: the latest counts.
    Row("Oz Again", "", {"vectors.py": HALF}, SOLVED, "3", "the second is better"),
    Row("Pa Again", "", SOLVED, {"vectors.py": HALF}, "1", "the second is worse, and is the latest"),
    Row("Qi Late", "", None, SOLVED, "3", "the second day only"),
    Row("Ro Nothing", "", None, None, "0", "nothing, counted as 0"),
    # The answer is in the upload, beside a stub or elsewhere.
    Row("Sa Notebook", "", {"vectors.py": STUB, "work.ipynb": notebook(SOLUTION.decode())}, None, "3", "a notebook"),
    Row("Ti Same", "", {"vectors.py": STUB, "vectors.ipynb": notebook(SOLUTION.decode())}, None, "3", "of that name"),
    Row("Ul Solution", "", {"vectors.py": STUB, "vectors_solution.py": SOLUTION}, None, "3", "a solution beside"),
    Row("Vi Zip", "", {"vectors.py": STUB, "w.zip": zipped({"solutions/vectors.py": OWN_ANSWER})}, None, "3", "a zip"),
    Row("Wu Exercises", "", {"vectors.py": STUB, "exercises/vectors.py": SOLUTION}, None, "3", "below exercises/"),
    Row("Xi Main", "", {"vectors.py": MAIN}, None, "", "all in main(): no mark, a person has to look"),
    Row("Yo Magic", "", {"a.ipynb": MAGIC}, None, "3", "%%writefile"),
    Row("Za Empty", "", SOLVED, {"vectors.py": b""}, "0", "an empty file later: worth less, and says so"),
)


def grader(*arguments: str | Path, code: int | None = None) -> str:
    ended = run_here(*arguments)
    assert code is None or ended.returncode == code, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr


def write(folder: Path, day: int) -> Path:
    for number, row in enumerate(CLASS, start=101):
        for path, content in (row[1 + day] or {}).items():
            target = folder / str(number) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    return folder


def marks(file: Path, name: str, mark: str) -> dict[str, str]:
    with file.open(encoding="utf-8-sig", newline="") as stream:
        return {row[name]: row[mark] for row in csv.DictReader(stream)}


@pytest.mark.slow
def test_every_mark_is_the_one_worked_out_by_hand(tmp_path: Path) -> None:
    course, out, roster = tmp_path / "course", tmp_path / "grades", tmp_path / "class.csv"
    shutil.copytree(OWN, course)
    manifest = course / "course.toml"
    manifest.write_text(manifest.read_text().replace("[course]", "[course]\nletters = { A = 90, C = 30, F = 0 }", 1))
    lines = [f"{number},{row.name},{row.group}" for number, row in enumerate(CLASS, start=101)]
    roster.write_text("\n".join(["id,name,group", *lines]), encoding="utf-8")
    options = ("--course", course, "--out", out)

    said = grader("grade", write(tmp_path / "day1", 1), "--roster", roster, "--jobs", "1", *options)
    assert "in the roster, but has handed in nothing" in said or "have handed in nothing: Mo Psi" in said
    assert "Ed Rho" not in said.split("handed in nothing")[1].split("\n")[0], "Da handed in for the group"
    said = grader("grade", write(tmp_path / "day2", 2), "--jobs", "1", *options)
    assert "Pa Again: the new work has 1/3, the work before it had 3/3" in said
    grader("grade", tmp_path / "day1" / "107", "--only", "normalize", *options)
    grader("override", "Fa Rho", "cosine", "1.5", "--why", "was not there", "--out", out, code=0)
    assert "the same points as before" in grader("regrade", "Bo Half", *options, code=0)

    grader("export", "csv", "--missing-as", "0", "--to", tmp_path / "marks.csv", *options, code=0)
    found = marks(tmp_path / "marks.csv", "submission", "final")
    wanted = {row.name: row.final for row in CLASS}
    assert {name: (found[name], wanted[name]) for name in wanted if found[name] != wanted[name]} == {}
    letters = {"": "", "3": "A", "2.5": "C", "1": "C", "0": "F"}
    assert marks(tmp_path / "marks.csv", "submission", "grade") == {n: letters[p] for n, p in wanted.items()}

    head = "Student,ID,SIS User ID,SIS Login ID,Section,Week 1 (77)\n    Points Possible,,,,,3\n"
    (tmp_path / "canvas.csv").write_text(head + "".join(f"{row.name},{n},,,,\n" for n, row in enumerate(CLASS, 101)))
    to = tmp_path / "filled.csv"
    said = grader(
        "export", "canvas", "--into", tmp_path / "canvas.csv", "--missing-as", "0", "--to", to, *options, code=0
    )
    assert "0 for 3 students without a submission: " in said and "not changed: " not in said
    assert "group Phi handed in differing work: " in grader("regrade", "Io Phi", "--yes", *options, code=4)
    filled = marks(to, "Student", "Week 1 (77)")
    assert {row.name: filled[row.name] for row in CLASS} == wanted

    said = grader("status", "--out", out)
    assert "handed in nothing: 3 students: Mo Psi (113); Nu Psi (114); Ro Nothing (118)" in said
    assert "needs a look: Io Phi: group Phi handed in differing work: " in said
    assert "needs a look: Xi Main: " in said
    grader("report", *options, code=0)
    page = (out / "report" / "index.html").read_text()
    assert "<dt>handed in nothing</dt><dd>3</dd>" in page and "<td>A</td>" in page and "<bdi>Rho</bdi>" in page


@pytest.mark.slow
def test_a_regrade_counts_only_when_somebody_agrees(tmp_path: Path) -> None:
    """A check was wrong and is mended; the override from before is now below what the checks give."""
    course, out = tmp_path / "course", tmp_path / "grades"
    shutil.copytree(OWN, course)
    check = course / "checks" / "test_vectors.py"
    right = check.read_text()
    check.write_text(right + WRONG_CHECK)
    (tmp_path / "class" / "ann").mkdir(parents=True)
    (tmp_path / "class" / "ann" / "vectors.py").write_bytes(SOLUTION)
    options = ("--course", course, "--out", out)
    grader("grade", tmp_path / "class", *options, "--topic-seconds", "45", "--memory", "1500MiB")
    grader("override", "ann", "cosine", "1", "--why", "for the idea", "--out", out, code=0)
    check.write_text(right)
    shutil.rmtree(tmp_path / "class")

    said = grader("regrade", "ann", *options, code=0)
    assert "vectors.cosine: 0 → 2" in said and "without a terminal nothing is recorded: --yes" in said
    assert "needs a look" not in grader("status", "--out", out)
    said = grader("regrade", "ann", "--yes", *options, code=0)
    assert "ann: 2/3 before, 2/3 now" in said, said
    with Gradebook.open_existing(out) as book:
        assert read_selection(book.selection(2)).limits == Limits(topic_seconds=45, memory_bytes=1500 << 20)
    wanted = "needs a look: ann: override of vectors.cosine: 1 by hand, but the checks now give 2"
    assert wanted in grader("status", "--out", out)
    grader("override", "ann", "cosine", "auto", "--why", "mended", "--out", out, code=0)
    assert "needs a look" not in grader("status", "--out", out)
    assert "no submission of `bob`" in grader("regrade", "bob", *options, code=4)
