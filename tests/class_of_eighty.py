"""A class of 80 in Canvas and what each must get, worked out by hand: student -> points -> why.

The course has `normalize` for 1 point and `cosine` for 2, which needs `normalize`. All was due at the end of
1 October, and each day that has begun costs a tenth. Letters: A from 90 %, C from 30 %, else F. The commands are those
of the pages for instructors; see `tests/docs/test_commands.py`.

An empty mark: the cell stays as it is, as nobody handed in or a person has to look first.
"""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from class_of_sixty import DAY_2, DAY_3, DAY_5, DAY_7, IN_TIME, LAST_MINUTE, NOT_SAID
from make_class_zips import COSINE, NORMALIZE, SOLUTION, STUB, WHEN, WORK, notebook, zipped

ANSWER = SOLUTION + b"\n# my own\n"
TEXT = ANSWER.decode()
INDENTED = b"\n".join(b"    " + line for line in ANSWER.splitlines()) + b"\n"
HEAD = "import torch\nfrom torch import Tensor\n\n\n"
HALF = f"{HEAD}{NORMALIZE}\n".encode()
OTHER_HALF = f"{HEAD}{COSINE}\n".encode()
COMMENTS = b"".join(b"# " + line + b"\n" for line in ANSWER.splitlines())
EMPTY_BODIES = STUB.replace(b"raise NotImplementedError", b"pass  # ")
IN_NOTEBOOK = notebook(TEXT)
WRITTEN = notebook("x = 1", "%%writefile vectors.py\n" + TEXT)


def _cells(kind: str) -> bytes:
    return json.dumps({"nbformat": 4, "cells": [{"cell_type": kind, "source": TEXT}]}).encode()


def _with_stub(**files: bytes) -> dict[str, bytes]:
    return {"vectors.py": STUB, **{name.replace("__", "."): content for name, content in files.items()}}


FILES: dict[str, Mapping[str, bytes]] = {
    "": {},
    **{name: WORK[name]() for name in ("solved", "stub", "half", "wrong", "misspelt", "empty", "notebook", "renamed")},
    **{name: WORK[name]() for name in ("resubmitted", "nested", "tar", "version folders", "syntax error")},
    **{name: WORK[name]() for name in ("pdf", "utf16", "broken zip", "encrypted", "no json", "rar", "text")},
    "cosine only": {"vectors.py": OTHER_HALF},
    "worse later": {"vectors.py": SOLUTION, "vectors-1.py": HALF},
    "empty later": {"vectors.py": SOLUTION, "vectors-1.py": b""},
    "stub, notebook": _with_stub(homework__ipynb=IN_NOTEBOOK),
    "stub, same notebook": _with_stub(vectors__ipynb=IN_NOTEBOOK),
    "stub, solution": _with_stub(vectors_solution__py=ANSWER),
    "stub, any name": _with_stub(mine__py=ANSWER),
    "stub, solutions/ in zip": _with_stub(w__zip=zipped({"solutions/vectors.py": ANSWER})),
    "stub, zip": _with_stub(w__zip=zipped({"vectors.py": ANSWER})),
    "stub, zip in zip": _with_stub(w__zip=zipped({"a/v.zip": zipped({"hw.ipynb": IN_NOTEBOOK})})),
    "stub, %%writefile": _with_stub(hw__ipynb=WRITTEN),
    "stub at root, answer in exercises/": {"w.zip": zipped({"vectors.py": STUB, "exercises/vectors.py": ANSWER})},
    "stub in exercises/, answer at root": {"w.zip": zipped({"exercises/vectors.py": STUB, "vectors.py": ANSWER})},
    "stub in exercises/, answer in checks/": {"w.zip": zipped({"exercises/vectors.py": STUB, "checks/a.py": ANSWER})},
    "the course": {"w.zip": zipped({"exercises/vectors.py": STUB, "solutions/vectors.py": SOLUTION})},
    "empty bodies, notebook": {"vectors.py": EMPTY_BODIES, "hw.ipynb": IN_NOTEBOOK},
    "half, all in a notebook": {"vectors.py": HALF, "hw.ipynb": IN_NOTEBOOK},
    "%%writefile": {"hw.ipynb": WRITTEN},
    "main": {"vectors.py": b"def main():\n" + INDENTED},
    "__name__": {"vectors.py": b"if __name__ == '__main__':\n" + INDENTED},
    "class": {"vectors.py": b"class Answers:\n" + INDENTED},
    "main beside the stub": {
        "w.zip": zipped({"vectors.py": STUB, "exercises/vectors.py": b"def main():\n" + INDENTED})
    },
    "raw cells": {"vectors.ipynb": _cells("raw")},
    "cells of text": _with_stub(hw__ipynb=_cells("markdown")),
    "comments": {"vectors.py": STUB + COMMENTS},
    "text file": _with_stub(answers__txt=ANSWER),
    "picture": _with_stub(screen__png=b"\x89PNG\r\n"),
    "halves": {"vectors.py": HALF, "more.py": OTHER_HALF},
    "own names": {"vectors.py": ANSWER.replace(b"def ", b"def my_")},
    "two answers": {"a.py": ANSWER, "b.py": HALF + OTHER_HALF},
}


class Row(NamedTuple):
    """A student: the group, the work by its name above, when it came, the final points, and the reason for them."""

    name: str
    group: str
    kind: str
    came: str
    mark: str
    why: str


LOOK = "a person has to look first: "
CLASS = tuple(
    Row(*row)
    for row in (
        # Ordinary work, in time and late.
        ("Jürgen Müller", "", "solved", IN_TIME, "3", "right and in time"),
        ("Zoë Åström", "", "misspelt", DAY_5, "3", "`normalise`: 0; 1 by hand, then `cosine` 2, and more time by hand"),
        ("O'Neil, Patrick", "", "solved", LAST_MINUTE, "3", "the day of the due date counts to its end"),
        ("=SUM(A1:A9)", "", "solved", DAY_2, "2.4", "2 days: a fifth of 3 is off"),
        ("Max Schmidt", "", "solved", IN_TIME, "3", "one of two of this name: found by the id"),
        ("Max Schmidt", "", "stub", IN_TIME, "0", "the other one: not begun"),
        ("李小龙", "", "half", DAY_3, "0.7", "1 for `normalize`, 3 days late"),
        ("أمينة حداد", "", "notebook", IN_TIME, "3", "a notebook with magics and a cell that failed"),
        ("late Larry", "", "solved", NOT_SAID, "3", "Canvas's mark alone costs nothing"),
        ("Ida Ill", "", "solved", DAY_3, "3", "within her extension"),
        ("Otto Overdue", "", "solved", DAY_5, "2.7", "a day after his extension"),
        ("Edda Excused", "", "solved", IN_TIME, "EX", "excused in Canvas: EX stays"),
        ("Wanda Wrong", "", "wrong", IN_TIME, "0", "the length of the whole matrix"),
        ("Hal Half", "", "half", IN_TIME, "1", "`cosine` is wrong"),
        ("Cora Cosine", "", "cosine only", IN_TIME, "0", "`cosine` waits for `normalize`, which is not there"),
        ("Syd Syntax", "", "syntax error", IN_TIME, "0", "cannot be imported"),
        ("Emma Empty", "", "empty", IN_TIME, "0", "an empty file, and nothing else"),
        ("Rhea Renamed", "", "renamed", IN_TIME, "3", "homework.py defines the exercises"),
        ("Nico Nested", "", "nested", IN_TIME, "3", "a zip in a zip in a zip"),
        ("Tara Tar", "", "tar", IN_TIME, "3", "a tar.gz"),
        ("Vera Versions", "", "version folders", IN_TIME, "3", "hw_v2/ is the last version"),
        # Several works of one student.
        ("Rita Resubmits", "", "resubmitted", IN_TIME, "3", "the second is right"),
        ("Will Worse", "", "worse later", IN_TIME, "1", "the second is worse, and is the latest"),
        ("Eli Emptied", "", "empty later", IN_TIME, "3", "an empty file does not replace an answer"),
        # An answer beside a stub, or where few put it.
        ("Ann Notebook", "", "stub, notebook", IN_TIME, "3", "the notebook has the answers"),
        ("Bea Notebook", "", "stub, same notebook", IN_TIME, "3", "the same, of the topic's name"),
        ("Cal Solution", "", "stub, solution", IN_TIME, "3", "vectors_solution.py"),
        ("Dan Name", "", "stub, any name", IN_TIME, "3", "mine.py defines the exercises"),
        ("Eva Zip", "", "stub, solutions/ in zip", IN_TIME, "3", "in solutions/, and not the course's own"),
        ("Fay Zip", "", "stub, zip", IN_TIME, "3", "in a zip"),
        ("Gil Zip", "", "stub, zip in zip", DAY_2, "2.4", "a notebook in a zip in a zip, 2 days late"),
        ("Hue Magic", "", "stub, %%writefile", IN_TIME, "3", "a cell that writes the file"),
        ("Ian Magic", "", "%%writefile", IN_TIME, "3", "the same, without a stub"),
        ("Joy Root", "", "stub at root, answer in exercises/", IN_TIME, "3", "the stub is the one at the root"),
        ("Kim Below", "", "stub in exercises/, answer at root", IN_TIME, "3", "the stub is the one in exercises/"),
        ("Lou Checks", "", "stub in exercises/, answer in checks/", IN_TIME, "3", "in checks/, of another name"),
        ("Mia Course", "", "the course", IN_TIME, "0", "a stub and the course's own solutions: nobody's answer"),
        ("Nat Bodies", "", "empty bodies, notebook", IN_TIME, "3", "`pass` for the stub's line is no answer"),
        ("Oda More", "", "half, all in a notebook", IN_TIME, "3", "the notebook has more answers"),
        # Work that nobody can mark by itself.
        ("Pam Main", "", "main", IN_TIME, "", LOOK + "all in main()"),
        ("Quy Name", "", "__name__", IN_TIME, "", LOOK + "all below if __name__"),
        ("Ron Class", "", "class", IN_TIME, "", LOOK + "methods of a class"),
        ("Sia Main", "", "main beside the stub", IN_TIME, "", LOOK + "main() in a file that does not count"),
        ("Tim Raw", "", "raw cells", IN_TIME, "", LOOK + "raw cells"),
        ("Una Text", "", "cells of text", IN_TIME, "", LOOK + "code in a cell of text, beside a stub"),
        ("Val Comments", "", "comments", IN_TIME, "", LOOK + "the answer is commented out"),
        ("Wes Text", "", "text file", IN_TIME, "", LOOK + "answers.txt beside a stub"),
        ("Xia Picture", "", "picture", IN_TIME, "", LOOK + "a picture beside a stub"),
        ("Yan Halves", "", "halves", IN_TIME, "", LOOK + "each of two files has one answer"),
        ("Zac Names", "", "own names", IN_TIME, "", LOOK + "none of the exercises by its name"),
        ("Abe Two", "", "two answers", IN_TIME, "", LOOK + "a.py or b.py"),
        ("Bob Pdf", "", "pdf", IN_TIME, "", LOOK + "a PDF alone"),
        ("Cid Utf", "", "utf16", IN_TIME, "", LOOK + "UTF-16"),
        ("Dee Broken", "", "broken zip", IN_TIME, "", LOOK + "a damaged zip"),
        ("Eva Locked", "", "encrypted", IN_TIME, "", LOOK + "a password"),
        ("Flo Json", "", "no json", IN_TIME, "", LOOK + "a notebook that is none"),
        ("Gus Rar", "", "rar", IN_TIME, "", LOOK + "a kind of archive that is not read"),
        ("Hay Form", "", "text", IN_TIME, "", LOOK + "a text typed into a form"),
        # Groups: one upload, the same upload twice, differing uploads, none; late together, one with an extension.
        ("Ava Rho", "Rho", "solved", IN_TIME, "3", "her upload"),
        ("Ben Rho", "Rho", "", NOT_SAID, "3", "Ava's upload"),
        ("Cas Rho", "Rho", "", NOT_SAID, "3", "Ava's upload"),
        ("Dot Tau", "Tau", "half", IN_TIME, "1", "the same as Eno's"),
        ("Eno Tau", "Tau", "half", IN_TIME, "1", "the same as Dot's"),
        ("Fei Phi", "Phi", "solved", IN_TIME, "", LOOK + "Gia's work differs"),
        ("Gia Phi", "Phi", "half", IN_TIME, "", LOOK + "Fei's work differs"),
        ("Hua Phi", "Phi", "", NOT_SAID, "", LOOK + "which of the two works is hers?"),
        ("Ira Psi", "Psi", "", NOT_SAID, "", "nobody of the group handed in"),
        ("Jan Psi", "Psi", "", NOT_SAID, "", "nobody of the group handed in"),
        ("Kai Chi", "Chi", "solved", DAY_2, "2.4", "2 days late"),
        ("Lea Chi", "Chi", "", NOT_SAID, "2.4", "Kai's upload, and as late"),
        ("Moe Chi", "Chi", "", NOT_SAID, "3", "Kai's upload, within an extension of his own"),
        ("Ned Eta", "Eta", "main", IN_TIME, "", LOOK + "all in main()"),
        ("Ona Eta", "Eta", "", NOT_SAID, "", LOOK + "Ned's upload"),
        ("Pia Iota", "Iota", "stub, notebook", DAY_7, "0.9", "7 days late"),
        ("Rex Iota", "Iota", "", NOT_SAID, "0.9", "Pia's upload"),
        # Whoever handed in nothing.
        ("Nils Nothing", "", "", NOT_SAID, "", "nothing handed in"),
        ("Nora Nothing", "", "", NOT_SAID, "", "nothing handed in"),
        ("Olga Nothing", "", "", NOT_SAID, "", "nothing handed in"),
        ("Paul Nothing", "", "", NOT_SAID, "", "nothing handed in"),
        ("Quin Nothing", "", "", NOT_SAID, "", "nothing handed in"),
    )
)
IDS = {2000 + number: row for number, row in enumerate(CLASS)}
EXTENSIONS = {
    "Zoë Åström": "2026-10-03",
    "Ida Ill": "2026-10-05",
    "Otto Overdue": "2026-10-05",
    "Moe Chi": "2026-10-05",
}
"""The class list's column; by hand, the page gives Zoë more time than it says."""
HANDED_IN = [number for number, row in IDS.items() if row.kind]
NO_SHOWS = [row.name for row in CLASS if row.why in ("nothing handed in", "nobody of the group handed in")]
RESULTS = len(CLASS) - len(NO_SHOWS)
"""How many have a result: a group's is that of every member."""


def write_class(folder: Path) -> None:
    """Writes Canvas's ``canvas.zip`` and ``grades.csv``, and a class list ``roster.csv``."""
    with zipfile.ZipFile(folder / "canvas.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number, row in IDS.items():
            prefix = "".join(letter for letter in row.name.lower() if letter.isalnum()) or "student"
            late = "_LATE" if row.kind and (row.came == NOT_SAID or row.came > LAST_MINUTE) else ""
            for order, (name, content) in enumerate(FILES[row.kind].items()):
                attachment = "" if name == "text.html" else f"{90_000 + 10 * number + order}_"
                archive.writestr(zipfile.ZipInfo(f"{prefix}{late}_{number}_{attachment}{name}", WHEN), content)
    columns = ("Student", "ID", "SIS User ID", "Section", "Essay (4712)", "Vectors (4711)", "Current Score")
    points = ("    Points Possible", "", "", "", "10.00", "3.00", "(read only)")
    grades = [
        (row.name, number, f"sis{number}", "A", "7.5", "EX" if row.mark == "EX" else "", "75")
        for number, row in IDS.items()
    ]
    people = [(n, row.name, row.came, EXTENSIONS.get(row.name, ""), row.group) for n, row in IDS.items()]
    _write(folder / "grades.csv", [columns, points, *grades])
    _write(folder / "roster.csv", [("id", "name", "submitted", "extension", "group"), *people])


def _write(target: Path, rows: list[tuple[object, ...]]) -> None:
    with target.open("w", encoding="utf-8-sig", newline="") as stream:
        csv.writer(stream).writerows(rows)
