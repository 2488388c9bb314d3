"""A class of 60 and what each must get, worked out by hand. Data alone: `make_class_zips.py` makes the files of it.

The course has `normalize` for 1 point and `cosine` for 2, which needs `normalize`. All was due on 1 October, which
means until the end of that day, and a day costs a tenth. Two sets of rules, those of the page for instructors:

- Canvas, with a class list that has times and extensions: no grace, no cap, no last date;
- Moodle, with its worksheet in German: 30 minutes of grace, at most a half is taken, nothing counts after 15 October.
  The worksheet knows no extensions.

An empty mark: the cell stays as it is.
"""

from __future__ import annotations

from typing import NamedTuple

IN_TIME = "2026-09-30T11:05"
LAST_MINUTE = "2026-10-01T23:59"
IN_GRACE = "2026-10-02T00:20"
AFTER_GRACE = "2026-10-02T00:40"
DAY_2 = "2026-10-03T12:00"
DAY_3 = "2026-10-04T12:00"
DAY_5 = "2026-10-06T12:00"
DAY_7 = "2026-10-08T12:00"
LAST_DAY = "2026-10-15T12:00"
TOO_LATE = "2026-10-16T12:00"
NOT_SAID = ""
READS_TWO_WAYS = "03/04/2026 10:00"


class Row(NamedTuple):
    """A student: the name in the LMS, the work by its name in `make_class_zips.py`, when it came, and the two marks.

    Nothing here waits or never ends, as the class is graded several times: `test_top_level_code.py` has such work.
    """

    name: str
    kind: str
    came: str
    canvas: str
    moodle: str
    why: str


EXTENSIONS = {"Zoë Åström": "2026-10-03", "Ida Ill": "2026-10-05", "Otto Overdue": "2026-10-05"}
"""The class list's column; by hand, the page gives Zoë more time than it says."""
EXCUSED = "Edda Excused"
"""Canvas has EX in her cell."""
ANNOTATED = "Petra Praised"
"""In Moodle's worksheet, a person has written to her already."""
NO_WORK = ("Nils Nothing", "Nora Nothing")
"""Beside the 60: they are in every list, and have handed in nothing."""

ROWS = tuple(
    Row(*row)
    for row in (
        ("Jürgen Müller", "solved", IN_TIME, "3", "3", "right and in time"),
        # README grades once more after what the page says, so `cosine` no longer waits for the 1 point by hand.
        ("Zoë Åström", "misspelt", DAY_5, "3", "0", "`normalise`: 0; in Canvas 1 by hand, then 2, with more time"),
        ("O'Neil, Patrick", "solved", LAST_MINUTE, "3", "3", "the day of the due date counts to its end"),
        ('Robert "Bobby" Tables', "solved", DAY_2, "2.4", "2.4", "a day and a half late: 2 days, a fifth of 3 is off"),
        ("=SUM(A1:A9)", "solved", IN_TIME, "3", "3", "a formula for a name"),
        ("+49 Anna", "stub", IN_TIME, "0", "0", "nothing written"),
        ("-2 Points", "notebook", IN_TIME, "3", "3", "magics and a last cell that failed"),
        ("@everyone", "solved", IN_GRACE, "2.7", "3", "20 minutes: a day that has begun, or within the grace"),
        ("Smiley 😀 Chan", "solved", AFTER_GRACE, "2.7", "2.7", "40 minutes: the grace is over, 1 day"),
        ("أمينة حداد", "solved", DAY_7, "0.9", "1.5", "7 days: 70 % off, and by Moodle's rules a half at most"),
        ("<script>alert(1)</script>", "solved", IN_TIME, "3", "3", "markup for a name"),
        ("Max Schmidt", "solved", IN_TIME, "3", "3", "one of two of this name"),
        ("Max Schmidt", "stub", IN_TIME, "0", "0", "the other one: found by the id"),
        ("李小龙", "solved", LAST_DAY, "0", "1.5", "14 days: more than all is off, or the half, as it is the last day"),
        ("Émile_Zola", "solved", TOO_LATE, "0", "0", "15 days; after the last date nothing counts, whatever the cap"),
        ("late Larry", "solved", NOT_SAID, "3", "3", "no time is known, Canvas's mark alone costs nothing"),
        ("Eve \x1b[31mEscape", "solved", IN_TIME, "3", "3", "a control sequence for a name"),
        ("Ida Ill", "solved", DAY_3, "3", "2.1", "within her extension; Moodle knows none: 3 days"),
        ("Otto Overdue", "solved", DAY_5, "2.7", "1.5", "a day after his extension; without it 5 days"),
        ("Rita Riddle", "solved", READS_TWO_WAYS, "3", "3", "3 April or 4 March: a note, and nobody is late for it"),
        ("Edda Excused", "solved", IN_TIME, "", "3", "excused in Canvas: EX stays"),
        ("Petra Praised", "solved", IN_TIME, "3", "3", "her mark is filled, the feedback of a person stays"),
        ("Hal Half", "half", IN_TIME, "1", "1", "`normalize` is right, `cosine` is not"),
        ("Hilda Half", "half", DAY_2, "0.8", "0.8", "the same, with a fifth of it off"),
        ("Wanda Wrong", "wrong", IN_TIME, "0", "0", "`normalize` is wrong; `cosine` would be right, and needs it"),
        ("Fay Future", "future in a later cell", IN_TIME, "3", "3", "`from __future__` holds from any cell"),
        ("Matt Plot", "matplotlib", IN_TIME, "3", "3", "plots between the answers"),
        ("Colin Lab", "colab", IN_TIME, "3", "3", "`google.colab` is not installed here, and no answer needs it"),
        ("Dis Play", "display", IN_TIME, "3", "3", "`display` is a name that only notebooks know"),
        ("Dan Data", "data file", IN_TIME, "3", "3", "`open('data.csv')` finds no file"),
        ("Ina Input", "input", IN_TIME, "3", "3", "nobody answers `input()`"),
        ("Rae Raise", "raising cell", DAY_2, "2.4", "2.4", "a scratch cell raises; two days late"),
        ("Tina Training", "training", IN_TIME, "3", "3", "a cell that trains and prints"),
        ("Trudy Toplevel", "script raises", IN_TIME, "3", "3", "code below the answers raises"),
        ("Tim Terminate", "script exits", IN_TIME, "3", "3", "code below the answers ends the process"),
        ("Misha Missing", "missing package", IN_TIME, "1", "1", "`cosine` needs a package that is not there"),
        ("Ron Renamed", "renamed", IN_TIME, "3", "3", "homework.py: the only file, so it is the topic's"),
        ("Zip Ora", "zip", IN_TIME, "3", "3", "a zip with a folder"),
        ("Tar Quin", "tar", IN_TIME, "3", "3", "a tar.gz"),
        ("Nes Ted", "nested", IN_TIME, "3", "3", "an archive in an archive in an archive"),
        ("Rhea Submitted", "resubmitted", IN_TIME, "3", "3", "vectors.py was a stub, vectors-1.py is right"),
        ("Vera Sion", "version folders", IN_TIME, "3", "3", "hw_v1 and hw_v2: the last counts"),
        ("Vic Tor", "version files", IN_TIME, "3", "3", "vectors_v1.py and vectors_v2.py: the last counts"),
        ("Tweedle Dum", "twice", IN_TIME, "3", "3", "one at the top and one below exercises/: that at the top"),
        ("Clone One", "half", IN_TIME, "1", "1", "the same bytes as Hal: work of her own all the same"),
        ("Emp Ty", "empty", IN_TIME, "0", "0", "an empty file: read, and nothing in it"),
        ("Syn Tax", "syntax error", IN_TIME, "0", "0", "Python cannot read it: an error of its own, so 0"),
        ("Brook Entail", "broken at the end", IN_TIME, "0", "0", "right answers above a line that cannot be parsed"),
        ("Pia Deef", "pdf", IN_TIME, "", "", "unread: a PDF alone"),
        ("Dee Maged", "broken zip", IN_TIME, "", "", "unread: half a zip"),
        ("Noz Ip", "no zip", IN_TIME, "", "", "unread: a text called work.zip"),
        ("Crip Ted", "encrypted", IN_TIME, "", "", "unread: a zip with a password"),
        ("Utah Sixteen", "utf16", DAY_2, "", "", "unread: UTF-16; that it is late makes no mark of it"),
        ("Tex Tentry", "text", IN_TIME, "", "", "unread: typed into a form"),
        ("Jay Son", "no json", IN_TIME, "", "", "unread: a notebook that is none"),
        ("Ray Rar", "rar", IN_TIME, "", "", "unread: a kind of archive that is not opened"),
        ("Sli Pery", "slip", IN_TIME, "", "", "unread: paths that lead out of the archive"),
        ("Lin Ker", "link", IN_TIME, "", "", "unread: a link to a file of the machine"),
        ("Bom Ber", "bomb", IN_TIME, "", "", "unread: a file of 40 MB in a small zip"),
        ("Larry Last", "solved", IN_TIME, "3", "3", "right and in time"),
    )
)

UNREAD = tuple(row.kind for row in ROWS if row.why.startswith("unread: "))
