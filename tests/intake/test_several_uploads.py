"""Several uploads of one student: the one with work counts, the latest attempt, and what is no file is unread."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from make_class_zips import tarred, zipped
from shared import OWN_COURSE

from grader.course import Course
from grader.grading.settings import topics_of
from grader.intake.find import find_submissions
from grader.intake.reader import Reader
from grader.intake.roster import Roster
from grader.intake.several import SeveralSources
from grader.intake.sources import Source
from grader.intake.submission import Submission
from grader.intake.topics import Topics

OWN = Course.load(OWN_COURSE)
STUB = OWN.stub_file("vectors").read_bytes()
ANSWER = OWN.solution_file("vectors").read_bytes() + b"\n# mine\n"
OTHER = ANSWER + b"# another\n"
LIST = "identifier,github_username,github_id,name\nu1,annlee,1,Ann Lee\nu2,boc,2,Bo Chen\n"
TWO = {"vectors": ["normalize"], "matrices": ["trace"]}
NORMALIZE = b"def normalize(x):\n    return x\n"
TRACE = b"def trace(x):\n    return x.diagonal().sum()\n"


def found(folder: Path, files: Mapping[str, bytes], topics: object = None) -> tuple[list[Source], list[str]]:
    for name, content in files.items():
        (folder / "class" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "class" / name).write_bytes(content)
    (folder / "list.csv").write_text(LIST)
    notes: list[str] = []
    roster = Roster.read(folder / "list.csv")
    known = topics_of(OWN) if topics is None else topics
    sources = find_submissions([folder / "class"], known, roster=roster, note=notes.append)  # type: ignore[arg-type]
    return sources, notes


def in_download(folder: Path, files: Mapping[str, bytes], name: str = "d.zip") -> dict[str, Submission]:
    (folder / name).write_bytes(zipped(dict(files)))
    return {one.name: one.read() for one in find_submissions([folder / name], topics_of(OWN))}


def unread(submission: Submission) -> dict[str, str]:
    return {one.topic: one.reason for one in submission.unread}


# ---------------------------------------------------------------- clones, and a file for each topic


@pytest.mark.parametrize("stub_first", [True, False])
def test_of_two_clones_the_one_with_work_counts(tmp_path: Path, stub_first: bool) -> None:
    contents = (STUB, ANSWER) if stub_first else (ANSWER, STUB)
    names = ("hw1-annlee", "hw1-annlee-1")
    files = {f"{name}/vectors.py": content for name, content in zip(names, contents, strict=True)}
    sources, notes = found(tmp_path, files | {"hw1-boc/vectors.py": ANSWER})
    assert [(one.name, one.arrival.student) for one in sources] == [("Ann Lee", "u1"), ("Bo Chen", "u2")]
    assert notes == ["Ann Lee: handed in several times (hw1-annlee; hw1-annlee-1): the one with work counts"]
    with Reader() as reader:
        submission = reader.read(sources[0])
    assert isinstance(submission, Submission)
    assert submission.files == {"vectors.py": ANSWER} and submission.unread == ()
    counts, other = names[stub_first], names[not stub_first]
    assert submission.note_lines[0] == f"./: handed in several times: {counts} counts, not {other}"


def test_two_clones_with_different_answers_are_a_question(tmp_path: Path) -> None:
    (source,), _ = found(tmp_path, {"hw1-annlee/vectors.py": ANSWER, "hw1-annlee-1/vectors.py": OTHER})
    assert unread(source.read()) == {"vectors": "vectors.py: hw1-annlee and hw1-annlee-1 differ; which one counts?"}


@pytest.mark.parametrize("content", [ANSWER, STUB])
def test_two_clones_with_the_same_file_are_one(tmp_path: Path, content: bytes) -> None:
    files = {"hw1-annlee/vectors.py": content, "hw1-annlee-1/vectors.py": content.replace(b"\n", b"\r\n")}
    (source,), _ = found(tmp_path, files)
    assert source.read().files == {"vectors.py": content} and source.read().unread == ()


def test_a_clone_that_cannot_be_read_does_not_hide_the_one_with_work(tmp_path: Path) -> None:
    files = {"hw1-annlee/readme.md": b"hi", "hw1-annlee-1/vectors.py": ANSWER, "hw1-boc/work.rar": b"Rar!"}
    (ann, bo), _ = found(tmp_path, files | {"hw1-boc-1/vectors.py": STUB})
    assert ann.read().files == {"vectors.py": ANSWER} and ann.read().unread == ()
    assert "vectors" in unread(bo.read()), "the stub's 0 is no mark while the archive may hold the work"


def test_a_file_for_each_topic_is_one_submission(tmp_path: Path) -> None:
    """As a plugin of Moodle names them; the modules beside them come along."""
    files = {"Lee_Ann_annlee_vectors.py": NORMALIZE, "Lee_Ann_annlee_matrices.py": TRACE}
    (source,), _ = found(tmp_path, files, TWO)
    assert isinstance(source, SeveralSources)
    submission = source.read()
    assert submission.files == {"vectors.py": NORMALIZE, "matrices.py": TRACE} and submission.unread == ()


def test_other_modules_come_along_unless_two_differ(tmp_path: Path) -> None:
    uses = b"from helper import f\n" + NORMALIZE
    files = {
        "hw1-annlee/vectors.py": uses,
        "hw1-annlee/helper.py": b"f = 1\n",
        "hw1-annlee-1/matrices.py": b"from more import g\n" + TRACE,
        "hw1-annlee-1/more.py": b"g = 1\n",
    }
    (source,), _ = found(tmp_path, files, TWO)
    assert sorted(source.read().files) == ["helper.py", "matrices.py", "more.py", "vectors.py"]
    assert source.read().unread == ()
    (tmp_path / "class" / "hw1-annlee-1" / "helper.py").write_bytes(b"f = 2\n")
    assert unread(source.read()) == {"matrices": "matrices.py: helper.py of hw1-annlee and of hw1-annlee-1 differ"}


def test_what_a_person_marks_comes_along_and_nothing_of_it_is_lost(tmp_path: Path) -> None:
    topics = Topics(frozenset(TWO), {name: frozenset(inside) for name, inside in TWO.items()}, frozenset({"report.md"}))
    files = {"annlee/vectors.py": NORMALIZE, "hw1-annlee/report.md": b"mine", "hw2-annlee/report.md": b"other"}
    (source,), _ = found(tmp_path, files, topics)
    submission = source.read()
    assert submission.files == {"vectors.py": NORMALIZE, "report.md": b"mine", "hw2-annlee/report.md": b"other"}
    assert "report.md: that of hw2-annlee is not the same; which one counts?" in submission.note_lines


# ---------------------------------------------------------------- attempts in folders by time

VPL = {
    "Ann Lee 11 ann@uni_example/2026-09-29-10-00-00/vectors.py": ANSWER,
    "Ann Lee 11 ann@uni_example/2026-09-30-10-00-00/vectors.py": OTHER,
    "Ann Lee 11 ann@uni_example/2026-09-30-10-00-00.ceg/execution.txt": b"ok",
    "Bo Chen 12 bo@uni_example/2026-09-28-10-00-00/vectors.py": ANSWER,
    "Bo Chen 12 bo@uni_example/2026-09-28-11-00-00/vectors.py": STUB,
}


@pytest.mark.parametrize("as_folder", [True, False])
def test_of_attempts_in_folders_by_time_the_latest_with_an_answer_counts(tmp_path: Path, as_folder: bool) -> None:
    if as_folder:
        sources = found(tmp_path, VPL)[0]
    else:
        (tmp_path / "vpl.zip").write_bytes(zipped(VPL))
        sources = find_submissions([tmp_path / "vpl.zip"], topics_of(OWN))
    with Reader() as reader:
        ann, bo = (reader.read(one) for one in sources)
    assert isinstance(ann, Submission) and isinstance(bo, Submission)
    assert (ann.files, bo.files) == ({"vectors.py": OTHER}, {"vectors.py": ANSWER})
    assert (ann.arrival.submitted[:16], bo.arrival.submitted[:16]) == ("2026-09-30T10:00", "2026-09-28T10:00")
    assert ann.arrival.by == bo.arrival.by == "folder time"
    assert "./: handed in 2 times; the last counts, of 2026-09-30 10:00:00" in ann.note_lines
    assert "./: handed in 2 times; the last with an answer counts, of 2026-09-28 10:00:00" in bo.note_lines


def test_the_attempts_of_one_student_alone_are_one_submission(tmp_path: Path) -> None:
    files = {name: content for name, content in VPL.items() if name.startswith("Ann")}
    (tmp_path / "vpl.zip").write_bytes(zipped(files))
    (packed,) = find_submissions([tmp_path / "vpl.zip"], topics_of(OWN))
    found(tmp_path, files)
    (folder,) = find_submissions([tmp_path / "class" / "Ann Lee 11 ann@uni_example"], topics_of(OWN))
    for source in (packed, folder):
        assert source.name == "Ann Lee 11 ann@uni_example" and source.read().files == {"vectors.py": OTHER}


def test_a_folder_that_a_student_names_by_a_time_proves_no_time(tmp_path: Path) -> None:
    files = {"hw1-annlee/2026-09-01-10-00-00/vectors.py": ANSWER, "hw1-boc/vectors.py": ANSWER}
    (ann, _), _ = found(tmp_path, files)
    assert ann.read().files == {"vectors.py": ANSWER} and ann.read().arrival.by == "file time"


@pytest.mark.parametrize("names", [("ann.py", "bo.py"), ("ann/vectors.py", "bo/vectors.py")])
@pytest.mark.parametrize("top", ["", "class/"])
def test_copies_of_a_class_in_folders_by_time_are_no_attempts(tmp_path: Path, names: tuple[str, ...], top: str) -> None:
    """Whose work it is nobody knows then, but no student gets that of others."""
    files = {f"{top}2026-09-{day}-10-00-00/{name}": ANSWER for day in (29, 30) for name in names}
    (tmp_path / "c.zip").write_bytes(zipped(files))
    found(tmp_path, files)
    sources = find_submissions([tmp_path / "c.zip", tmp_path / "class" / top], topics_of(OWN))
    assert not any("attempts" in line or "counts, of" in line for one in sources for line in one.read().note_lines)


def test_each_exercise_of_a_plus_has_attempts_of_its_own(tmp_path: Path) -> None:
    """Its files may have the names of fields of a form, without an ending."""
    top = "CS (id=1)/Lee, Ann (123456)/Week 1 (id=3)"
    files = {
        f"{top}/vectors (id=7)/2026-09-29 10:00:00.5+03:00/vectors": b"def normalize(x):\n    return 1\n",
        f"{top}/vectors (id=7)/2026-09-30 10:00:00.5+03:00 (best)/vectors": NORMALIZE,
        f"{top}/matrices (id=8)/2026-09-28 10:00:00.5+03:00/file1": TRACE,
        "CS (id=1)/Chen, Bo (123457)/Week 1 (id=3)/vectors (id=7)/2026-09-30 10:00:00/vectors": NORMALIZE,
    }
    (tmp_path / "a.tar.gz").write_bytes(tarred(files))
    packed = find_submissions([tmp_path / "a.tar.gz"], TWO)
    folders = find_submissions([tmp_path / "class" / "CS (id=1)"], TWO) if found(tmp_path, files) else []
    for ann in (next(one for one in sources if "Ann" in one.name).read() for sources in (packed, folders)):
        assert ann.files == {"vectors.py": NORMALIZE, "matrices.py": TRACE} and ann.unread == ()


# ---------------------------------------------------------------- names of files


@pytest.mark.parametrize("name", ["123456_vectors", "vectors", "solution"])
def test_python_without_an_ending_is_read_with_a_note(tmp_path: Path, name: str) -> None:
    (inside, whole), _ = found(tmp_path, {f"annlee/{name}": ANSWER, f"{name}": ANSWER, "README": b"read me\n"})
    for source in (inside, whole):
        submission = source.read()
        assert submission.files == {"vectors.py": ANSWER} and submission.unread == ()
        assert any("has no ending" in line for line in submission.note_lines)


@pytest.mark.parametrize("name", ["hw.tar.gz", "hw.tar-1.gz", "hw.tar (2).gz", "HW.TAR-12.GZ"])
def test_a_second_tar_of_canvas_is_read(tmp_path: Path, name: str) -> None:
    packed = tarred({"vectors.py": ANSWER})
    of_canvas = in_download(tmp_path, {f"leeann_70_9_{name}": packed, "chenbo_71_8_vectors.py": ANSWER})
    assert of_canvas["leeann"].files == {"vectors.py": ANSWER}
    (source,), _ = found(tmp_path, {f"annlee/{name}": packed})
    assert source.read().files == {"vectors.py": ANSWER}


def test_the_last_tar_of_canvas_counts(tmp_path: Path) -> None:
    files = {
        f"leeann_70_{at}_hw.tar{'-1' * at}.gz": tarred({"vectors.py": one}) for at, one in enumerate((ANSWER, OTHER))
    }
    assert in_download(tmp_path, files)["leeann"].files == {"vectors.py": OTHER}


def test_canvas_leaves_nothing_of_a_name_without_letters(tmp_path: Path) -> None:
    """Of an emoji, say; its links are pages of its own."""
    files = {
        "_70_1_vectors.py": ANSWER,
        "_LATE_71_2_vectors.py": ANSWER,
        "chenbo_72_link.html": b'<meta http-equiv="refresh" content="0; url=https://example.org/">',
        "diazcy_LATE_73_text.html": b"<p>sorry</p>",
    }
    submissions = in_download(tmp_path, files)
    assert {name: one.arrival.platform_id for name, one in submissions.items()} == {
        "user 70": "70",
        "user 71": "71",
        "chenbo": "72",
        "diazcy": "73",
    }
    assert [name for name, one in submissions.items() if one.unread] == ["chenbo", "diazcy"]
    assert [name for name, one in submissions.items() if one.arrival.late] == ["diazcy", "user 71"]


# ---------------------------------------------------------------- what is typed into Blackboard's form

NOTHING = (
    "There is no student submission text data for this assignment.",
    "There are no student comments for this assignment.",
)


def about(user: str, text: str = NOTHING[0], comment: str = NOTHING[1], files: str = "No files were attached") -> bytes:
    return (
        f"Name: {user.title()} Lee ({user})\r\nAssignment: hw1\r\nDate Submitted: Wednesday\r\n\r\n"
        f"Submission Field:\r\n{text}\r\n\r\nComments:\r\n{comment}\r\n\r\nFiles:\r\n{files}\r\n"
    ).encode()


def blackboard(user: str, time: str, more: str = "") -> str:
    return f"hw1_{user}_attempt_2026-09-{time}-11-05-00{more or '.txt'}"


@pytest.mark.parametrize(
    ("text", "comment"),
    [
        NOTHING,
        ("<p>My work is at https://github.example/bo/hw1</p>", NOTHING[1]),
        ("<p>import torch<br>def normalize(x):<br>&nbsp; return x</p>", NOTHING[1]),
        (NOTHING[0], "I could not attach my file, I have mailed it"),
        ("Es gibt keine Textdaten", "Es gibt keine Kommentare"),
    ],
)
def test_an_attempt_without_a_file_is_unread(tmp_path: Path, text: str, comment: str) -> None:
    files = {
        blackboard("ann", "30"): about("ann", text, comment),
        blackboard("bo", "30"): about("bo", files="vectors.py"),
    }
    submissions = in_download(tmp_path, files | {blackboard("bo", "30", "_vectors.py"): ANSWER})
    assert submissions["Bo Lee"].files == {"vectors.py": ANSWER} and submissions["Bo Lee"].unread == ()
    assert list(unread(submissions["Ann Lee"])) == ["vectors"]
    assert "only what is typed into the form" in unread(submissions["Ann Lee"])["vectors"]


def test_beside_a_file_the_form_may_say_where_the_work_lies(tmp_path: Path) -> None:
    texts = {"ann": "https://github.example/ann/hw1", "bo": NOTHING[0], "cy": "def normalize(x):<br>  return x + 1"}
    files = {}
    for user, text in texts.items():
        files[blackboard(user, "30")] = about(user, text, files="vectors.py")
        files[blackboard(user, "30", "_vectors.py")] = STUB
    submissions = in_download(tmp_path, files)
    assert [name for name, one in submissions.items() if one.unread] == ["Ann Lee", "Cy Lee"]


def test_text_in_a_later_attempt_does_not_take_the_answer_before(tmp_path: Path) -> None:
    files = {
        blackboard("ann", "29"): about("ann", files="vectors.py"),
        blackboard("ann", "29", "_vectors.py"): ANSWER,
        blackboard("ann", "30"): about("ann", "sorry, see above"),
        blackboard("bo", "29"): about("bo", files="vectors.py"),
        blackboard("bo", "29", "_vectors.py"): STUB,
        blackboard("bo", "30"): about("bo", "https://example.org/my/work"),
    }
    ann, bo = in_download(tmp_path, files).values()
    assert ann.files == {"vectors.py": ANSWER} and ann.unread == ()
    assert any("handed in 2 times; the last with an answer counts" in line for line in ann.note_lines)
    assert ann.arrival.submitted[:10] == "2026-09-29", "the time is that of the work which counts"
    assert "vectors" in unread(bo)


def test_a_name_with_brackets_and_a_colon_in_full_width_are_read(tmp_path: Path) -> None:
    text = about("x").decode().replace("Name: X Lee (x)", "\u59d3\u540d\uff1a\u738b\u5c0f\u660e\uff08x\uff09")
    brackets = about("al1").decode().replace("Al1 Lee (al1)", "Ann (Annie) Lee (al1)")
    files = {blackboard("x", "30"): text.encode(), blackboard("al1", "30"): brackets.encode()}
    assert set(in_download(tmp_path, files)) == {"\u738b\u5c0f\u660e", "Ann (Annie) Lee"}
