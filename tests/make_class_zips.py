"""Makes a class of 60 as Canvas and as Moodle would hand it out: names that break things, notebooks, broken archives.

As a script: ``python tests/make_class_zips.py FOLDER`` writes ``canvas.zip``, ``moodle.zip``, ``roster.csv``,
``canvas.csv`` (the gradebook export) and ``moodle.csv`` (the grading worksheet). Everything is the same every time.
"""

from __future__ import annotations

import csv
import io
import json
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

OWN = Path(__file__).resolve().parent.parent / "examples" / "own_course"
SOLUTION = (OWN / "solutions" / "vectors.py").read_bytes()
STUB = (OWN / "exercises" / "vectors.py").read_bytes()
WHEN = (2026, 10, 1, 12, 0, 0)
SIZE = 60
_ODD = (
    "Jürgen Müller",
    "Zoë Åström",
    "O'Neil, Patrick",
    'Robert "Bobby" Tables',
    "=SUM(A1:A9)",
    "+49 Anna",
    "-2 Points",
    "@everyone",
    "Smiley 😀 Chan",
    "أمينة حداد",
    "<script>alert(1)</script>",
    "Max Schmidt",
    "Max Schmidt",
    "李小龙",
    "Émile_Zola",
    "late Larry",
)
Files = dict[str, bytes]


@dataclass(frozen=True)
class Student:
    """One of the class; ``files`` is what was handed in, ``solved`` whether it earns all points."""

    id: int
    name: str
    kind: str
    files: Files
    solved: bool
    late: bool


def notebook(*cells: str, error: bool = False) -> bytes:
    """A notebook with these code cells, the last one failed if `error`."""
    made: list[dict[str, object]] = [{"cell_type": "markdown", "metadata": {}, "source": ["# Vectors"]}]
    for number, cell in enumerate(cells, start=1):
        failed = error and number == len(cells)
        outputs = [{"output_type": "error", "ename": "E", "evalue": "", "traceback": []}] if failed else []
        made.append(
            {
                "cell_type": "code",
                "execution_count": number,
                "metadata": {},
                "outputs": outputs,
                "source": cell.splitlines(keepends=True),
            }
        )
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def zipped(files: Files, link: str = "") -> bytes:
    """A zip in memory; `link` adds a symbolic link of that name."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(zipfile.ZipInfo(path, WHEN), content, zipfile.ZIP_DEFLATED)
        if link:
            info = zipfile.ZipInfo(link, WHEN)
            info.external_attr = 0o120777 << 16
            archive.writestr(info, "/etc/passwd")
    return target.getvalue()


def tarred(files: Files) -> bytes:
    """A tar.gz in memory."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as archive:
        for path, content in files.items():
            info = tarfile.TarInfo(path)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return target.getvalue()


def encrypted(files: Files) -> bytes:
    """A zip whose entries say that they are encrypted."""
    data = bytearray(zipped(files))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(signature)
        while at >= 0:
            data[at + offset] |= 1
            at = data.find(signature, at + 4)
    return bytes(data)


def _solved_notebook() -> bytes:
    return notebook("%matplotlib inline\n!pip install torch\n", SOLUTION.decode(), "normalize(None)\n", error=True)


_KINDS: dict[str, tuple[Callable[[], Files], bool]] = {
    "solved": (lambda: {"vectors.py": SOLUTION}, True),
    "stub": (lambda: {"vectors.py": STUB}, False),
    "notebook": (lambda: {"vectors.ipynb": _solved_notebook()}, True),
    "renamed": (lambda: {"homework.py": SOLUTION}, True),
    "zip": (lambda: {"my work.zip": zipped({"work/vectors.py": SOLUTION, "work/readme.txt": b"hi"})}, True),
    "tar": (lambda: {"work.tar.gz": tarred({"vectors.py": SOLUTION})}, True),
    "resubmitted": (lambda: {"vectors.py": STUB, "vectors-1.py": SOLUTION}, True),
    "syntax error": (lambda: {"vectors.py": b"def normalize(:\n"}, False),
    "broken zip": (lambda: {"work.zip": zipped({"vectors.py": SOLUTION})[:-30]}, False),
    "no zip": (lambda: {"work.zip": b"this is no zip file"}, False),
    "slip": (lambda: {"work.zip": zipped({"../../vectors.py": SOLUTION, "/vectors.py": SOLUTION})}, False),
    "link": (lambda: {"work.zip": zipped({}, link="vectors.py")}, False),
    "encrypted": (lambda: {"work.zip": encrypted({"vectors.py": SOLUTION})}, False),
    "nested": (lambda: {"work.zip": zipped({"in.zip": zipped({"hw/a.zip": zipped({"vectors.py": SOLUTION})})})}, True),
    "bomb": (lambda: {"work.zip": zipped({"vectors.py": b"#" * (40 << 20)})}, False),
    "no json": (lambda: {"vectors.ipynb": b"not json"}, False),
    "rar": (lambda: {"work.rar": b"Rar!\x1a\x07\x00"}, False),
    "text": (lambda: {"text.html": b"<p>I have lost my work</p>"}, False),
}


def the_class() -> Iterator[Student]:
    """The 60 students; every kind of work occurs, most of it is in order."""
    kinds = [*_KINDS, *("solved", "solved", "stub", "notebook", "resubmitted") * SIZE][:SIZE]
    for number in range(SIZE):
        name = _ODD[number] if number < len(_ODD) else f"Student Nr{number}"
        make, solved = _KINDS[kinds[-1 - number]]
        yield Student(1000 + number, name, kinds[-1 - number], make(), solved, late=number % 10 == 3)


def canvas_prefix(student: Student) -> str:
    """The sortable name as Canvas writes it: lower case, letters and digits only."""
    return "".join(letter for letter in student.name.lower() if letter.isalnum()) or "student"


def canvas_zip(target: Path) -> Path:
    """Writes Canvas's download of all submissions."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for student in the_class():
            for number, (name, content) in enumerate(student.files.items()):
                attachment = "" if name == "text.html" else f"{90_000 + 10 * student.id + number}_"
                late = "_LATE" if student.late else ""
                path = f"{canvas_prefix(student)}{late}_{student.id}_{attachment}{name}"
                archive.writestr(zipfile.ZipInfo(path, WHEN), content)
    return target


def moodle_zip(target: Path, *, ending: str = "_", flat: bool = False, blind: bool = False) -> Path:
    """Writes Moodle's download of all submissions, in one of its shapes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for student in the_class():
            who = "Participant" if blind else student.name.replace("/", "_")
            for name, content in student.files.items():
                kind = "onlinetext" if name == "text.html" else "file"
                file = "onlinetext.html" if name == "text.html" else name
                prefix = f"{who}_{student.id}_assignsubmission_{kind}"
                path = f"{prefix}_{file}" if flat else f"{prefix}{ending}/{file}"
                archive.writestr(zipfile.ZipInfo(path, WHEN), content)
    return target


def roster(target: Path) -> Path:
    """Writes a class list: id, name, and when each handed in."""
    rows = [(one.id, one.name, "2026-10-03T12:00" if one.late else "2026-09-30T12:00") for one in the_class()]
    return _csv(target, ("id", "name", "submitted"), rows)


def canvas_csv(target: Path) -> Path:
    """Writes the gradebook as Canvas exports it, nothing filled in."""
    header = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Vectors (4711)", "Current Score")
    points = ("    Points Possible", "", "", "", "", "3.00", "(read only)")
    rows = [(one.name, one.id, f"sis{one.id}", f"u{one.id}@school.example", "A", "", "") for one in the_class()]
    return _csv(target, header, [points, *rows])


def moodle_csv(target: Path) -> Path:
    """Writes Moodle's offline grading worksheet, nothing filled in."""
    header = (
        *("Identifier", "Full name", "Email address", "Status", "Grade", "Maximum grade", "Grade can be changed"),
        *("Last modified (submission)", "Last modified (grade)", "Feedback comments"),
    )
    rows = []
    for one in the_class():
        when = "Saturday, 3 October 2026, 12:00 PM" if one.late else "Wednesday, 30 September 2026, 12:00 PM"
        who = (f"Participant {one.id}", one.name, f"u{one.id}@school.example")
        rows.append((*who, "Submitted for grading", "", "3.00", "Yes", when, "-", ""))
    return _csv(target, header, rows)


def _csv(target: Path, header: tuple[str, ...], rows: list[tuple[object, ...]]) -> Path:
    with target.open("w", encoding="utf-8-sig", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
    return target


def main(folder: Path) -> None:
    """Writes all five files."""
    folder.mkdir(parents=True, exist_ok=True)
    canvas_zip(folder / "canvas.zip")
    moodle_zip(folder / "moodle.zip")
    roster(folder / "roster.csv")
    canvas_csv(folder / "canvas.csv")
    moodle_csv(folder / "moodle.csv")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
