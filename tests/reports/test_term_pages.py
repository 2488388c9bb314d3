"""Pages of a term: students and assignments, each with its own page. All numbers are by hand."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from classrooms import check
from command_here import run_here
from msgspec.structs import replace
from term_course import answers, write_course
from test_html import browse

from grader.course import Course
from grader.course.assignments import Assignment, Plan, Term
from grader.course.due import LatePolicy
from grader.errors import UserError
from grader.gradebook import Excuse, Extension, Gradebook, LookedAt, Override
from grader.intake.roster import Student
from grader.intake.submission import Arrival, Submission
from grader.reports.html_term import report_of
from grader.results import ExerciseResult, SubmissionResult, Unread

ANN, BOB, CY, DEE, EVE = (
    Student(name, (str(number),)) for number, name in enumerate(["Ann <b>", "Bob", "Cy", "Dee", "Eve"], start=1)
)
DUE = datetime(2026, 11, 10, 12).astimezone()
LETTERS = (("A", 90.0), ("B", 80.0), ("F", 0.0))
PLAN = Plan(
    course="course",
    assignments=(
        Assignment(name="week1", title="Week 1", exercises=("t.week1",), late=LatePolicy(DUE, 0.1)),
        Assignment(name="week2", exercises=("t.week2",), late=LatePolicy(DUE + timedelta(days=7), 0.1)),
    ),
    term=Term(late_days=1, letters=LETTERS),
)
WHOLE = Plan(course="course", assignments=(Assignment(exercises=("t.week1", "t.week2")),))
SECRET = replace(check("zebra", "failed", "it was zebra"), hidden_until="always")


def grade(
    book: Gradebook,
    number: int,
    work: Mapping[Student, float],
    students: Sequence[Student],
    *,
    days: Mapping[Student, int] | None = None,
    found: Sequence[Student] = (),
    unread: Sequence[Student] = (),
    plan: Plan = PLAN,
) -> None:
    """A run of ``week1`` or ``week2``: points of 10, and the days late; `found` is not graded any more."""
    name = f"week{number}"
    one = next((one for one in plan.assignments if one.name == name), plan.assignments[0])
    book.assignment = one.name
    there = [(student.name, student.ids[0]) for student in (*work, *found)]
    run = book.start_run(
        *("course", "hash", 0, "{}", {}),
        late=one.late,
        exercises=one.exercises,
        students=students,
        found=there,
        plan=plan,
    )
    for student, points in work.items():
        due = one.late.due or DUE
        at = due + timedelta(days=(days or {}).get(student, 0), hours=-1)
        arrival = Arrival(student=student.ids[0], submitted=at.isoformat(), by="roster")
        submission = Submission(student.name, {"t.py": f"# {name} of {student.ids[0]}\n".encode()}, (), arrival)
        digest = f"{name} {student.name} {points}"
        checks = (check("shown"), replace(SECRET, verdict="passed" if points == 10 else "failed"))
        exercise = ExerciseResult(name=f"t.{name}", score=points, max=10.0, checks=checks)
        reason = (Unread("t", "a PDF"),) if student in unread else ()
        book.record_arrival(run, submission, digest)
        result = SubmissionResult(submission=student.name, score=points, max=10.0, exercises=(exercise,), unread=reason)
        book.record(run, result, digest, 0.1)
    if not found:
        book.finish_run(run)


def course_of(folder: Path, plan: Plan = PLAN) -> Course:
    text = '[course]\nname = "course"\ntitle = "Numbers"\n[[topics]]\nname = "t"\ntitle = "T"\n'
    text += "".join(f'[[topics.exercises]]\nname = "week{number}"\npoints = 10\n' for number in (1, 2))
    (folder / "course.toml").write_text(text)
    return replace(Course.load(folder, complete=False), assignments=plan.assignments, term=plan.term)


@pytest.fixture(scope="module")
def term(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of two weeks, which the tests only read.

    Week 1: Bob is two days late, one of them a late day (8 becomes 7.2); Cy handed in nothing; Eve leaves after it.
    Week 2: the run did not come to Bob; Cy again has nothing; Dee is excused, with work.
    """
    tmp_path = tmp_path_factory.mktemp("term")
    with Gradebook.open(tmp_path / "gradebook.sqlite") as book:
        grade(book, 1, {ANN: 10, BOB: 8, DEE: 9, EVE: 4}, (ANN, BOB, CY, DEE, EVE), days={BOB: 2})
        grade(book, 2, {ANN: 8, DEE: 1}, (ANN, BOB, CY, DEE), found=[BOB])
        given = Excuse(student=DEE.name, why="a private reason", who="me", made="")
        book.give("course", given, LookedAt(DEE.ids[0]))
        return report_of(book, course_of(tmp_path)).parent


def text_of(markup: str) -> str:
    return html.unescape(" ".join(re.sub(r"<[^>]+>", "", markup).split()))


def table_of(page: Path, start: str = " data-tags[^>]*") -> dict[str, list[str]]:
    """The cells of each row after the first one, by the text of that; `start`: what the rows of the table have."""
    rows = re.findall(rf'<tr{start}>(?=<th scope="row")(.*?)</tr>', page.read_text(), re.DOTALL)
    cells = [[text_of(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)] for row in rows]
    return {first: others for first, *others in cells}


def student(folder: Path, name: str) -> Path:
    (page,) = (folder / "students").glob(f"{name}-*.html")
    return page


def test_the_table_has_every_student_in_every_assignment(term: Path) -> None:
    assert table_of(term / "index.html") == {
        # week1, week2, total, grade, late days, notable
        "Ann <b>": ["10/10", "8/10", "90.00", "A", "", ""],
        "Bob": ["7.2/10 1 late day", "not graded yet", "72.00 so far", "", "1", ""],
        "Cy": ["not handed in", "not handed in", "–", "", "", ""],
        "Dee": ["9/10", "excused", "90.00", "A", "", ""],
        "Eve": ["4/10", "–", "40.00", "F", "", "left the class"],
    }
    assert table_of(term / "index.html", "")["week2"] == [
        *("2026-11-17 12:00", "10", "1 marked, 1 not handed in, 1 not graded yet, 1 excused", "80.0%")
    ]


def test_every_link_leads_to_a_page_and_a_place_on_it(term: Path) -> None:
    pages = sorted(term.rglob("*.html"))
    assert {page.name for page in pages if page.parent == term} == {
        *("index.html", "assignment-week1.html", "assignment-week2.html")
    }
    met = set()
    for page in pages:
        for link in re.findall(r'href="([^"]*)"', page.read_text()):
            name, _, place = html.unescape(link).partition("#")
            target = page.parent / name if name else page
            met.add(target.name)
            assert target.is_file(), link
            assert not place or f'id="{place}"' in target.read_text(), link
        ids = re.findall(r' id="([^"]*)"', page.read_text())
        assert len(ids) == len(set(ids)), page
    assert met == {page.name for page in pages}, "each page is linked"
    heading = re.search(r"<tr><td></td>(.*?)</tr>", (term / "index.html").read_text())
    assert heading is not None and re.findall('href="(.*?)">(.*?)</a>', heading[1]) == [
        ("assignment-week1.html", "Week 1"),
        ("assignment-week2.html", "week2"),
    ]


def test_the_page_of_an_assignment_is_of_it_alone(term: Path) -> None:
    text = (term / "assignment-week2.html").read_text()
    rows = table_of(term / "assignment-week2.html")
    assert rows["Ann <b>"][:2] == ["8/10", "80.0"] and rows["Dee"][:2] == ["excused", "–"] and len(rows) == 2
    facts = dict(re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", text))
    assert facts["mean"] == "80.0%" and facts["submissions"] == "2"
    assert [facts[name] for name in ("handed in nothing", "not graded yet", "excused")] == ["1", "1", "1"]
    assert "no mark yet" not in facts
    assert "t.week1" not in text and 'title="0 of 1 passed"' in text, "who is excused is in no statistics"
    for heading, who in {"Handed in nothing": "Cy (3)", "Not graded yet": "Bob (2)", "Excused": "Dee"}.items():
        section = re.search(f">{heading}</h2>(.*?)</section>", text, re.DOTALL)
        assert section is not None and re.findall("<bdi>(.*?)</bdi>", section[1]) == [who]


def test_a_student_sees_all_assignments_and_nobody_else(term: Path) -> None:
    """Cells: due, points or state, late, late days left."""
    lines = {name: table_of(student(term, name), "") for name in ("bob", "cy", "dee", "ann-b")}
    assert lines["bob"] == {
        "Week 1": ["2026-11-10 12:00", "7.2/10", "2 days late, 1 late day taken, 10 % off", "0"],
        "week2": ["2026-11-17 12:00", "not graded yet", "", "0"],
    }
    assert lines["cy"]["week2"] == ["2026-11-17 12:00", "not handed in", "", "1"]
    assert lines["dee"]["week2"] == ["2026-11-17 12:00", "excused: it does not count", "", "1"]
    texts = {name: student(term, name).read_text() for name in lines}
    assert "So far: <strong>72.00%</strong></p>" in texts["bob"] and "without a mark: week2" in texts["bob"]
    assert "Total: <strong>90.00%</strong>: <strong>A</strong>" in texts["ann-b"]
    assert "<strong>No mark yet</strong>" in texts["cy"]
    names = {"ann-b": "Ann &lt;b&gt;", "bob": "Bob", "cy": "Cy", "dee": "Dee"}
    for name, text in texts.items():
        assert {one for one, shown in names.items() if f">{shown}<" in text} == {name}
        others = {"ann-b": "1", "bob": "2", "dee": "4"}
        assert {one for one, who in others.items() if f"of {who}" in text} <= {name}, "no other code"
        assert "zebra" not in text and "private reason" not in text
        assert "index.html" not in text and "sandbox" not in text
    assert texts["ann-b"].count("# week1 of 1") == texts["ann-b"].count("# week2 of 1") == 1
    assert "hidden check" in texts["ann-b"], "there is one, and it says no more"


def test_what_cannot_be_read_is_no_mark_and_an_extension_is_shown(tmp_path: Path) -> None:
    with Gradebook.open(tmp_path / "gradebook.sqlite") as book:
        grade(book, 1, {ANN: 0, BOB: 5}, (ANN, BOB, CY), unread=[ANN])
        until = (DUE + timedelta(days=3)).isoformat()
        book.give("course", Extension(student="Cy", due=until, why="ill", who="me", made=""), LookedAt("3"))
        by_hand = Override(student="Bob", exercise="t.week1", points=6, max=10, why="fair", who="me", made="")
        book.give("course", by_hand, LookedAt("2", digest="of other work"))
        folder = report_of(book, course_of(tmp_path), inside=True).parent
    rows = table_of(folder / "index.html")
    assert rows["Ann <b>"][:2] == ["unread", "–"] and rows["Bob"][:3] == ["6/10 needs a look", "60.00", "F"]
    line = table_of(student(folder, "ann-b"), "")["Week 1"]
    assert line[1] == "no mark yet: your instructor looks at it"
    assert table_of(student(folder, "bob"), "")["Week 1"][1] == "6/10"
    assert table_of(student(folder, "cy"), "")["Week 1"][0] == "2026-11-13 12:00"
    assert "So far: <strong>60.00%" in student(folder, "bob").read_text(), "week2 has no run"
    assert 'href="../index.html"' in student(folder, "cy").read_text(), "a page for instructors"


def test_the_lowest_is_named_where_it_stands(tmp_path: Path) -> None:
    plan = replace(PLAN, term=replace(PLAN.term, drop_lowest=1))
    with Gradebook.open(tmp_path / "gradebook.sqlite") as book:
        grade(book, 1, {ANN: 8.996, BOB: 2}, (ANN, BOB), plan=plan)
        grade(book, 2, {ANN: 1, BOB: 3}, (ANN, BOB), plan=plan)
        folder = report_of(book, course_of(tmp_path, plan)).parent
    rows = table_of(folder / "index.html")
    assert rows["Ann <b>"][:4] == ["9/10", "1/10 dropped", "89.96", "B"], "the exact percentage is below 90"
    assert rows["Bob"][:4] == ["2/10 dropped", "3/10", "30.00", "F"]
    assert "not counted, as it went worst: week2" in student(folder, "ann-b").read_text()


def test_two_students_of_one_name_have_two_pages_and_old_pages_go(tmp_path: Path) -> None:
    twins = Student("Bob", ("8",)), Student("Bob", ("9",))
    with Gradebook.open(tmp_path / "gradebook.sqlite") as book:
        grade(book, 1, {ANN: 1}, (ANN,))
        course = course_of(tmp_path)
        folder = report_of(book, course).parent
        assert [page.name[:5] for page in (folder / "students").iterdir()] == ["ann-b"]
        grade(book, 1, {twins[0]: 3, twins[1]: 7}, twins)
        report_of(book, course)
        grade(book, 2, {twins[1]: 6}, twins)
        report_of(book, course)
    pages = sorted(page.read_text() for page in (folder / "students").glob("bob-*.html"))
    marks = {tuple(re.findall(r"<strong>(\d+/10|not handed in)</strong></td>", page)) for page in pages}
    assert marks == {("3/10", "not handed in"), ("7/10", "6/10")}


def test_without_assignments_who_waits_has_not_handed_in_nothing(tmp_path: Path) -> None:
    """The class page of a course that declares no assignments: one folder, as before."""
    with Gradebook.open(tmp_path / "gradebook.sqlite") as book:
        grade(book, 1, {ANN: 10, DEE: 2}, (ANN, BOB, CY, DEE, EVE), found=[BOB, Student("Zed", ("",))], plan=WHOLE)
        for name, person in (("Dee", "4"), ("Eve", "5")):
            book.give("course", Excuse(student=name, why="ill", who="me", made=""), LookedAt(person))
        course = replace(course_of(tmp_path), assignments=(), term=Term())
        page = report_of(book, course)
    assert page == tmp_path / "report" / "index.html"
    text = page.read_text()
    facts = dict(re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", text))
    assert facts["mean"] == "100.0%" and [
        facts[name] for name in ("handed in nothing", "not graded yet", "excused")
    ] == ["1", "2", "2"]
    shown = {"Handed in nothing": ["Cy (3)"], "Not graded yet": ["Bob (2)", "Zed"], "Excused": ["Dee", "Eve (5)"]}
    for heading, who in shown.items():
        section = re.search(f">{heading}</h2>(.*?)</section>", text, re.DOTALL)
        assert section is not None and re.findall("<bdi>(.*?)</bdi>", section[1]) == who
    assert "Excused: it does not count." in student(page.parent, "dee").read_text()
    assert not list(tmp_path.glob("report/assignment-*")) and "All assignments" not in text


def test_a_run_that_came_to_nobody_has_its_page(tmp_path: Path) -> None:
    with Gradebook.open(tmp_path / "gradebook.sqlite") as book:
        grade(book, 1, {}, (ANN, CY), found=[ANN])
        folder = report_of(book, course_of(tmp_path)).parent
    rows = table_of(folder / "index.html")
    assert {name: cells[:2] for name, cells in rows.items()} == {
        "Ann <b>": ["not graded yet", "–"],
        "Cy": ["not handed in", "–"],
    }
    assert "<bdi>Cy (3)</bdi>" in (folder / "assignment-week1.html").read_text()


def test_results_of_no_assignment_are_named_and_another_course_is_refused(tmp_path: Path) -> None:
    with Gradebook.open(tmp_path / "gradebook.sqlite") as book:
        grade(book, 1, {ANN: 1}, (ANN,))
        grade(book, 2, {ANN: 2}, (ANN,))
        course = course_of(tmp_path)
        only = replace(course, assignments=PLAN.assignments[:1])
        text = report_of(book, only).read_text()
        assert "Not shown: the results of 1 student of the assignment `week2`" in text
        with pytest.raises(UserError, match="is of the course `course`"):
            report_of(book, replace(course, name="other", assignments=()))


@pytest.mark.slow
def test_the_files_of_one_week_are_not_those_of_another(tmp_path: Path) -> None:
    """`results-NAME.jsonl` and `report-NAME/`, by real commands; a late day is in the notes of `grade`, too."""
    declared = "".join(
        f'[[assignments]]\nname = "w{n}"\nexercises = ["week{n}"]\ndue = "2026-10-0{n}T12:00"\n' for n in (1, 2)
    )
    more = f"{declared}late_penalty_per_day = 0.5\n[term]\nlate_days = 1\n"
    course = write_course(tmp_path / "course", {"week1": ["one"], "week2": ["two"]}, more)
    (tmp_path / "roster.csv").write_text("id,name,submitted\n1,ann,2026-10-03T11:00\n2,bob,\n")
    out = tmp_path / "grades"
    common = ("--course", course, "--out", out)
    for number, name in enumerate(("one", "two"), start=1):
        work = tmp_path / f"w{number}" / "ann"
        work.mkdir(parents=True)
        (work / f"week{number}.py").write_bytes(answers(**{name: number}))
        roster = ("--roster", tmp_path / "roster.csv", "--no-sandbox", "--jobs", "1")
        graded = run_here("grade", work.parent, *common, "--assignment", f"w{number}", *roster)
        assert graded.returncode == 0, graded.stderr
    assert "1 day late by its roster, 1 late day taken: 0 % off; 10/10 before, 10/10 after" in graded.stderr
    assert f"results:   {out / 'results-w2.jsonl'}" in graded.stdout and not (out / "results.jsonl").exists()
    kept = {name: (out / f"results-{name}.jsonl").read_text() for name in ("w1", "w2")}
    assert "week1.one" in kept["w1"] and "week2" not in kept["w1"]
    assert "week2.two" in kept["w2"] and "week1" not in kept["w2"]

    assert run_here("report", *common).stdout == f"class page: {out / 'report' / 'index.html'}\n"
    assert table_of(out / "report" / "index.html")["ann"][:2] == ["10/10 late", "10/10 1 late day"]
    assert run_here("report", *common, "--assignment", "w2").stdout.endswith("report-w2/index.html\n")
    assert table_of(out / "report-w2" / "index.html")["ann"][:2] == ["10/10", "100.0"]
    assert "week1" not in (out / "report-w2" / "index.html").read_text()
    assert run_here("report", *common, "--run", "1").stdout.endswith("report-w1/index.html\n")
    refused = run_here("report", *common, "--assignment", "w3")
    assert refused.returncode == 4 and "no assignment `w3`" in refused.stderr
    refused = run_here("similar", *common)
    assert refused.returncode == 4 and "name one: --assignment w2" in refused.stderr
    assert run_here("similar", *common, "--assignment", "w1").returncode == 0


@pytest.mark.slow
def test_a_browser_sorts_the_table_of_the_term(term: Path) -> None:
    test = """<script>
    const said = [], names = () => [...document.querySelectorAll("#table tbody th")].map((th) => th.textContent);
    const heads = document.querySelectorAll("#table thead button");
    heads[1].click(); said.push(names());
    const search = document.getElementById("search"); search.value = "left"; search.dispatchEvent(new Event("input"));
    said.push(document.querySelectorAll("#table tbody tr:not([hidden])").length);
    document.body.dataset.said = said.join("|");
    </script></body>"""
    index = term / "index.html"
    text = re.sub("<meta http-equiv[^>]*>", "", index.read_text()).replace("</body>", test)
    index.write_text(text)
    found = re.search(r'data-said="([^"]*)"', browse(index))
    assert found is not None and html.unescape(found[1]) == "Ann <b>,Dee,Bob,Eve,Cy|1"
