"""Makes the class of `class_of_sixty.py` as Canvas and as Moodle hand it out: odd names, notebooks, broken archives.

As a script: ``python tests/make_class_zips.py FOLDER`` writes ``canvas.zip``, ``moodle.zip``, ``roster.csv``,
``canvas.csv`` (the gradebook export) and ``moodle.csv`` (the grading worksheet, in German). Everything is the same
every time. Times of files are those of the download, as an LMS makes them.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import re
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from class_of_sixty import ANNOTATED, EXCUSED, EXTENSIONS, NO_WORK, NOT_SAID, ROWS

OWN = Path(__file__).resolve().parent.parent / "examples" / "own_course"
SOLUTION = (OWN / "solutions" / "vectors.py").read_bytes()
STUB = (OWN / "exercises" / "vectors.py").read_bytes()
WHEN = (2026, 11, 20, 8, 30, 0)
"""The time of the download, long after all was due."""
DUE = "2026-10-01T23:59:59"
SIZE = len(ROWS)
Files = dict[str, bytes]


@dataclass(frozen=True)
class Student:
    """One of the class: a row of `class_of_sixty.py`, with the files that were handed in."""

    id: int
    name: str
    kind: str
    files: Files
    came: str
    canvas: str
    moodle: str

    @property
    def late(self) -> bool:
        """Whether Canvas marks it."""
        return self.came == NOT_SAID or (self.came.startswith("2026") and self.came > DUE)


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


_TEXT = SOLUTION.decode()
_IMPORTS, _, _REST = _TEXT.partition("\n\n\ndef normalize")
NORMALIZE, _, _REST = f"def normalize{_REST}".partition("\n\n\ndef cosine")
COSINE = f"def cosine{_REST}"
_HALF = f"{_IMPORTS}\n\n\n{NORMALIZE}\n\n\ndef cosine(a, b):\n    return (a * b).sum(dim=1)\n"
_WRONG = """
import torch


def normalize(x):
    return x / torch.linalg.vector_norm(x).clamp_min(1e-12)


def cosine(a, b):
    return torch.nn.functional.cosine_similarity(a, b, dim=1)
"""


def _among_cells(scratch: str) -> Callable[[], Files]:
    """A right notebook with this cell between its answers."""
    return lambda: {"vectors.ipynb": notebook(_IMPORTS, NORMALIZE, scratch, COSINE, "cosine(*torch.eye(2)[:, None])")}


def _below(code: str) -> Callable[[], Files]:
    """A right script with this below its answers."""
    return lambda: {"vectors.py": f"{_TEXT}\n\n{code}\n".encode()}


WORK: dict[str, Callable[[], Files]] = {
    "solved": lambda: {"vectors.py": SOLUTION},
    "stub": lambda: {"vectors.py": STUB},
    "half": lambda: {"vectors.py": _HALF.encode()},
    "wrong": lambda: {"vectors.py": _WRONG.encode()},
    "misspelt": lambda: {"vectors.py": SOLUTION.replace(b"normalize(", b"normalise(")},
    "empty": lambda: {"vectors.py": b""},
    "notebook": lambda: {
        "vectors.ipynb": notebook("%matplotlib inline\n!pip install torch\n", _TEXT, "normalize(None)\n", error=True)
    },
    "future in a later cell": _among_cells("from __future__ import annotations\nimport math"),
    "matplotlib": _among_cells("import matplotlib.pyplot as plt\nplt.plot(normalize(torch.ones(2, 2)))\nplt.show()"),
    "colab": _among_cells("from google.colab import drive\ndrive.mount('/content/drive')"),
    "display": _among_cells("display(normalize(torch.ones(2, 2)))"),
    "data file": _among_cells("import csv\nrows = list(csv.reader(open('data.csv')))"),
    "input": _among_cells("size = int(input('how many rows? '))"),
    "raising cell": _among_cells("print(normalize(torch.ones(2, 2)) @ torch.ones(7, 7))"),
    "training": _among_cells("for epoch in range(10):\n    print(epoch, normalize(torch.ones(2, 2)).sum())"),
    "script raises": _below('print(normalize("four"))'),
    "script exits": _below("raise SystemExit(cosine(*torch.eye(2)[:, None]))"),
    "missing package": lambda: {
        "vectors.py": f"{_IMPORTS}\nimport no_such_einops as e\n\n\n{NORMALIZE}\n\n\n"
        "def cosine(a, b):\n    return e.reduce(normalize(a) * normalize(b), 'n d -> n', 'sum')\n".encode()
    },
    "renamed": lambda: {"homework.py": SOLUTION},
    "zip": lambda: {"my work.zip": zipped({"work/vectors.py": SOLUTION, "work/readme.txt": b"hi"})},
    "tar": lambda: {"work.tar.gz": tarred({"vectors.py": SOLUTION})},
    "nested": lambda: {"work.zip": zipped({"in.zip": zipped({"hw/a.zip": zipped({"vectors.py": SOLUTION})})})},
    "resubmitted": lambda: {"vectors.py": STUB, "vectors-1.py": SOLUTION},
    "version folders": lambda: {"work.zip": zipped({"hw_v1/vectors.py": STUB, "hw_v2/vectors.py": SOLUTION})},
    "version files": lambda: {"vectors_v1.py": STUB, "vectors_v2.py": SOLUTION},
    "twice": lambda: {"work.zip": zipped({"exercises/vectors.py": STUB, "vectors.py": SOLUTION})},
    "syntax error": lambda: {"vectors.py": b"def normalize(:\n"},
    "broken at the end": _below("def main(:\n    pass"),
    "pdf": lambda: {"report.pdf": b"%PDF-1.7"},
    "utf16": lambda: {"vectors.py": _TEXT.encode("utf-16")},
    "broken zip": lambda: {"work.zip": zipped({"vectors.py": SOLUTION})[:-30]},
    "no zip": lambda: {"work.zip": b"this is no zip file"},
    "slip": lambda: {"work.zip": zipped({"../../vectors.py": SOLUTION, "/vectors.py": SOLUTION})},
    "link": lambda: {"work.zip": zipped({}, link="vectors.py")},
    "encrypted": lambda: {"work.zip": encrypted({"vectors.py": SOLUTION})},
    "bomb": lambda: {"work.zip": zipped({"vectors.py": b"#" * (40 << 20)})},
    "no json": lambda: {"vectors.ipynb": b"not json"},
    "rar": lambda: {"work.rar": b"Rar!\x1a\x07\x00"},
    "text": lambda: {"text.html": b"<p>I have lost my work</p>"},
}


def the_class() -> Iterator[Student]:
    """The 60 students."""
    for number, row in enumerate(ROWS, start=1000):
        yield Student(number, row.name, row.kind, WORK[row.kind](), row.came, row.canvas, row.moodle)


def on_the_lists() -> list[tuple[int, str]]:
    """Id and name of all students, those who handed in nothing at the end."""
    return list(enumerate([*(row.name for row in ROWS), *NO_WORK], start=1000))


def moodle_prefix(name: str, number: int) -> str:
    """What Moodle makes of a name: no underscores, and nothing that a file's name may not have."""
    return f"{re.sub(_NOT_IN_FILES, '', name.replace('_', ' '))}_{number}"


_NOT_IN_FILES = r"""[\x00-\x1f\x7f&<>"`|':\\/]"""


def canvas_prefix(student: Student) -> str:
    """The sortable name as Canvas writes it: lower case, letters and digits only."""
    return "".join(letter for letter in student.name.lower() if letter.isalnum()) or "student"


def canvas_zip(target: Path, students: Iterable[Student] | None = None) -> Path:
    """Writes Canvas's download of all submissions, or of those of these students."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for student in the_class() if students is None else students:
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
            for name, content in student.files.items():
                kind = "onlinetext" if name == "text.html" else "file"
                file = "onlinetext.html" if name == "text.html" else name
                prefix = (
                    f"{moodle_prefix('Participant' if blind else student.name, student.id)}_assignsubmission_{kind}"
                )
                path = f"{prefix}_{file}" if flat else f"{prefix}{ending}/{file}"
                archive.writestr(zipfile.ZipInfo(path, WHEN), content)
    return target


def roster(target: Path) -> Path:
    """Writes a class list: id, name, when each handed in, and until when those with an extension may."""
    came = {one.id: one.came for one in the_class()}
    rows = [(number, name, came.get(number, ""), EXTENSIONS.get(name, "")) for number, name in on_the_lists()]
    return _csv(target, ("id", "name", "submitted", "extension"), rows)


def canvas_csv(target: Path) -> Path:
    """Writes the gradebook as Canvas exports it: two assignments, one of them marked already."""
    header = (
        "Student",
        "ID",
        "SIS User ID",
        "SIS Login ID",
        "Section",
        "Essay (4712)",
        "Vectors (4711)",
        "Current Score",
    )
    points = ("    Points Possible", "", "", "", "", "10.00", "3.00", "(read only)")
    rows = [
        (name, number, f"sis{number}", f"u{number}@school.example", "A", "7.5", "EX" if name == EXCUSED else "", "75")
        for number, name in on_the_lists()
    ]
    return _csv(target, header, [points, *rows])


def moodle_csv(target: Path) -> Path:
    """Writes Moodle's offline grading worksheet in German."""
    header = (
        *("ID", "Vollständiger Name", "E-Mail-Adresse", "Status", "Bewertung", "Bestwertung"),
        *("Bewertung kann geändert werden", "Zuletzt geändert (Abgabe)", "Zuletzt geändert (Bewertung)"),
        "Feedback als Kommentar",
    )
    came = {one.id: one.came for one in the_class()}
    rows = [
        (
            *(f"Teilnehmer/in{number}", name, f"u{number}@school.example"),
            "Zur Bewertung abgegeben" if number in came else "Keine Abgabe",
            *("", "3,00", "Ja", in_german(came.get(number, "")), "-"),
            "Schön gemacht!" if name == ANNOTATED else "",
        )
        for number, name in on_the_lists()
    ]
    return _csv(target, header, rows)


def in_german(time: str) -> str:
    """A time as Moodle writes it; what is none stays as it is."""
    try:
        when = datetime.datetime.fromisoformat(time)
    except ValueError:
        return time or "-"
    day = ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag")[when.weekday()]
    return f"{day}, {when.day}. {('September', 'Oktober')[when.month - 9]} {when.year}, {when:%H:%M}"


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
