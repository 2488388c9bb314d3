"""Pages of a class: what they show, that nothing from a submission becomes markup, and that a browser runs them."""

from __future__ import annotations

import dataclasses
import io
import re
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

import msgspec
import pytest
from classrooms import OWN, check, classroom, entry, exercise, result
from make_class_zips import notebook
from msgspec.structs import replace

from grader.course import Course, Misconception, misconceptions_of
from grader.course.due import LatePolicy, read_due
from grader.errors import UserError
from grader.exports.feedback_zip import feedback_zip
from grader.gradebook import Gradebook, Override, Row
from grader.gradebook.records import Late
from grader.intake.notebook import module_of
from grader.intake.submission import Arrival
from grader.judge import explain
from grader.pictures import Lines, Picture
from grader.reports import html
from grader.reports.entries import Entry, about, entries_of
from grader.reports.html import _code, page_name, write_report
from grader.reports.html_feedback import excerpt, feedback_page
from grader.results import Cause, Frame

COURSE = Course.load(OWN)
CODE = """import torch


def normalize(x):
    '''Text.
    More.'''
    y = x + 1
    return helper(y)


def helper(y):
    return y / 0
"""
RAISED = Cause(
    kind="exception",
    sentence="Rows have length 1.",
    call="normalize(1)",
    exception_type="ZeroDivisionError",
    frames=(Frame("vectors.py", 8, "normalize", "return helper(y)"), Frame("vectors.py", 12, "helper", "return y / 0")),
)


def test_what_was_graded_has_room_before_other_files(tmp_path: Path) -> None:
    """As of a grading of one topic of many: the other files of the upload may fill the page otherwise."""
    long = "".join(f"x{n} = {n}\n" for n in range(6_000))
    files = {"vectors.py": CODE, **{f"{letter}.py": long for letter in "abcdefgh"}}
    text = page(entry(result("me", exercise("vectors.normalize", check())), files), tmp_path)
    shown = re.findall(r"<summary><code>([\w.]+)</code>", text.partition("What was graded")[2])
    assert shown[0] == "vectors.py" and 1 < len(shown) < len(files) and "too long to show here" in text


HOSTILE = "<img src=x onerror=alert(1)>{{ 7*7 }}[red]\x1b[31m\u202eabc\x00&amp;"


def page(given: Entry, out: Path) -> str:
    write_report([given], COURSE, out)
    return (out / "students" / page_name(given.result.submission)).read_text()


def failed(cause: Cause, misconception: Misconception | None = None) -> Entry:
    wrong = explain.result("rows_of_length_one", cause)
    one = exercise("vectors.normalize", wrong, check(), misconception=misconception)
    return entry(result("me", one), {"vectors.py": CODE})


def test_feedback_page_has_message_hint_and_code_with_the_line_marked(tmp_path: Path) -> None:
    text = page(failed(RAISED), tmp_path)
    assert "rows of length one" in text and "<pre>your code raised" in text and "normalize(1)\n  vectors.py:" in text
    assert "Hint:" not in text  # no hint is about an exception
    wrong = page(failed(replace(RAISED, kind="assertion", reason="3 where 4 was expected")), tmp_path)
    assert COURSE.exercise("vectors.normalize").hints[0][:30] in wrong and "--level 2" in wrong
    assert '<span class="here"><i>8</i>    return helper(y)' in text and '<span class="here"><i>12</i>' in text
    beside, _, whole = text.partition("What was graded")
    assert "2 lines left out" in beside and "More.&#39;&#39;&#39;" not in beside and "More.&#39;&#39;&#39;" in whole
    assert "0/1" in text


def test_feedback_page_explains_the_misconception_instead_of_the_hint(tmp_path: Path) -> None:
    known = next(one for one in misconceptions_of(COURSE, "vectors") if one.exercise == "vectors.normalize")
    text = page(failed(RAISED, known), tmp_path)
    assert "What happened:" in text and "Hint:" not in text


def test_a_slip_of_one_student_hides_no_explanation_of_another() -> None:
    known = next(one for one in misconceptions_of(COURSE, "vectors") if one.exercise == "vectors.normalize")
    causes = replace(RAISED, is_slip=True), RAISED
    slip, other = (feedback_page(failed(cause, known), COURSE, 10**6) for cause in causes)
    assert [one.topics[0].others[0].explanation is None for one in (slip, other)] == [True, False]


def test_what_happened_comes_first_then_one_failure_and_the_others_are_folded_away(tmp_path: Path) -> None:
    known = next(one for one in misconceptions_of(COURSE, "vectors") if one.exercise == "vectors.normalize")
    checks = [
        check(name, "failed", "", cause=replace(RAISED, call=call))
        for name, call in (("one", "f(1)"), ("two", "f(2)"), ("alike", "f(2)"), ("four", "f(4)"))
    ]
    checks = [explain.result(one.name, one.cause) for one in checks if one.cause]
    text = page(entry(result("me", exercise("vectors.normalize", *checks, misconception=known))), tmp_path)
    beginning, _, folded = text.partition("<details>")
    assert beginning.index("What happened:") < beginning.index("f(1)") and "f(2)" not in beginning
    assert "and 3 more fail alike" in folded and folded.index("f(2)") < folded.index("f(4)")
    assert "in another way" not in folded

    other = explain.result("other", replace(RAISED, exception_type="KeyError", call="f(5)"))
    text = page(entry(result("me", exercise("vectors.normalize", *checks[:2], other))), tmp_path / "again")
    assert "and 1 more fails alike" in text and "and 1 more does not pass, in another way" in text


def test_one_cause_of_a_whole_topic_is_shown_once(tmp_path: Path) -> None:
    broken = check("a", "failed", "vectors.py cannot be imported: SyntaxError: bad\n  vectors.py:3: x = (")
    given = entry(result("me", exercise("vectors.normalize", broken), exercise("vectors.cosine", broken)), {})
    assert page(given, tmp_path).count("cannot be imported") == 1


def test_overrides_lateness_notes_and_faults_are_on_the_page(tmp_path: Path) -> None:
    given = result(
        "me",
        exercise("vectors.normalize", check("a", "error", "the check is wrong\nsorry")),
        exercise("vectors.cosine", check("b", "failed", "no")),
    )
    override = Override(
        student="me", exercise="vectors.cosine", points=2, max=2, why="<b>nice</b>", who="Prof", made=""
    )
    row = Row(given, "d", 1.0, notes=("x.py: left out",), late=Late(1, 0.1, "roster"), overrides=(override,))
    text = page(Entry(row), tmp_path)
    assert "Given by hand: vectors.cosine: 2/2 by Prof: &lt;b&gt;nice" in text
    assert "1 day late" in text and "<strong>1.8/2</strong>" in text
    assert "x.py: left out" in text and "The grader failed" in text
    table = (tmp_path / "index.html").read_text()
    assert "with late penalty" in table and "late, 10% off" in table and "faults of the grader" in table


def test_nothing_from_a_submission_becomes_markup(tmp_path: Path) -> None:
    one = exercise("vectors.normalize", check(HOSTILE, "failed", f"{HOSTILE}\n{HOSTILE}\n  vectors.py:1"), check())
    given = entry(
        result(HOSTILE, one, sandbox=(HOSTILE,)), {"vectors.py": f"def normalize(x):\n    return '{HOSTILE}'"}
    )
    write_report([Entry(Row(given.result, "d", 1.0, notes=(HOSTILE,)), given.files_of)], COURSE, tmp_path)
    for file in tmp_path.rglob("*.html"):
        text = file.read_text()
        assert "<img" not in text and "&lt;img" in text and "{{ 7*7 }}" in text
        assert not re.search("[\x00\x1b\u202e]", text) and "&amp;amp;" in text


def test_pictures_of_what_passed_are_on_the_page_as_far_as_there_is_room(tmp_path: Path) -> None:
    line = Picture("Loss", Lines(series={HOSTILE: [3.0, 2.0, 1.0]}))
    told = Picture("Regions", problem=f"your code raised {HOSTILE}")
    passed = msgspec.structs.replace(exercise("vectors.normalize", check()), pictures=(line, told))
    text = page(entry(result("me", passed), {"vectors.py": CODE}), tmp_path)
    assert text.count('<figure class="picture">') == 1 and "<figcaption>Loss</figcaption><svg" in text
    assert "Regions: no picture: your code raised &lt;img" in text and "<img" not in text and "\x1b" not in text
    many = msgspec.structs.replace(passed, pictures=(line,) * 200)  # the same: it is drawn once
    small = page(entry(result("me", many), {"vectors.py": CODE}), tmp_path)
    assert 10 < small.count("<figure") < 200 and len(small) < html._REPORT_BYTES / 30 * 1.2


def test_page_names_are_safe_stable_and_different_for_names_that_look_equal() -> None:
    names = ["../../etc/passwd", "A", "a", "ß" * 300, "", "con", "Zoë", "名前"]
    pages = [page_name(name) for name in names]
    assert len(set(pages)) == len(names) and all(re.fullmatch(r"[\w-]{5,75}\.html", one) for one in pages)
    assert pages[-1].startswith("名前-") and all(len(one.encode()) < 200 for one in pages)
    assert pages == [page_name(name) for name in names]


def test_class_page_counts_what_happened(tmp_path: Path) -> None:
    known = next(one for one in misconceptions_of(COURSE, "vectors") if one.exercise == "vectors.normalize")
    wrong = exercise("vectors.normalize", check("a", "failed", "Rows have length 1.\nx"), check(), misconception=known)
    entries = [entry(result(f"s{i}", wrong, exercise("vectors.cosine", check("b", "blocked", "no")))) for i in range(3)]
    entries += [
        entry(result("good", exercise("vectors.normalize", check()), exercise("vectors.cosine", check())), seconds=9)
    ]
    entries += [entry(result("boom", exercise("vectors.cosine", check("b", "crashed", "ended\nx"), check())))]
    text = write_report(entries, COURSE, tmp_path).read_text()
    assert "3 of 5" not in text and "1 of 4 passed" in text and "<b>25%</b>" in text
    assert ">3</button></b><div><code>vectors.normalize</code><p>Rows have length 1.</p>" in text
    assert ">3</button></b><div>a <small>of 3</small>" in text
    assert "crashed: vectors.cosine" in text and ">9.00 s</td>" in text
    assert "90–100 percent: 1;" in text and "0–9 percent: 4;" in text


def test_nothing_assessed_makes_a_page_without_percentages(tmp_path: Path) -> None:
    text = page(entry(result("me", exercise("vectors.cosine", check("b", "skipped", "needs a GPU")))), tmp_path)
    assert "nothing could be assessed" in text and "not assessed: vectors.cosine" in text
    assert "–</td>" in (tmp_path / "index.html").read_text()


def test_a_second_report_removes_pages_of_former_submissions_and_no_other_file(tmp_path: Path) -> None:
    one, two = (entry(result(name, exercise("vectors.cosine", check()))) for name in ("one", "two"))
    write_report([one, two], COURSE, tmp_path)
    (tmp_path / "students" / "mine.html").write_text("mine")
    write_report([one], COURSE, tmp_path)
    assert {file.name for file in (tmp_path / "students").iterdir()} == {page_name("one"), "mine.html"}


def test_report_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="file"):
        write_report([entry(result("me"))], COURSE, tmp_path / "file")


def test_pages_need_nothing_from_elsewhere(tmp_path: Path) -> None:
    write_report(classroom(COURSE, 3), COURSE, tmp_path)
    for file in tmp_path.rglob("*.html"):
        text = file.read_text()
        assert "default-src &#39;none&#39;" in text
        assert not re.search(r'(?:src|action)\s*=\s*"|url\(|@import|<link|https?://(?!x&#34;)', text)
        for target in re.findall(r'href="([^"]*)"', text):
            assert (file.parent / target).is_file()


@pytest.mark.slow
def test_class_of_300_over_120_exercises_stays_below_12_mb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shown for a tenth of the class and of the room: each page has the same."""
    monkeypatch.setattr(html, "_REPORT_BYTES", html._REPORT_BYTES // 10)
    shipped = Course.load()
    write_report(classroom(shipped, 30), shipped, tmp_path)
    assert sum(file.stat().st_size for file in tmp_path.rglob("*")) < 12_000_000 // 10


@pytest.mark.parametrize(
    "text",
    ["", "\x00\xff", "def normalize(", "class normalize:\n\tpass", "(" * 100_000, "'''", "normalize = lambda x: x\r\n"],
)
def test_code_that_is_broken_is_shown_as_it_is_or_not_at_all(text: str) -> None:
    pieces = excerpt({"vectors.py": text.encode("latin-1")}, "vectors.normalize", [("vectors.py", 1), ("no.py", 9)])
    assert sum(len(piece.lines) for piece in pieces) <= 2


def test_code_of_a_notebook_has_the_lines_of_its_cells() -> None:
    module, *_ = module_of(
        notebook("import torch", "A = 1\n\ndef normalize(x):\n    return f(x)", "B = 2\nC = 3\ndef f(x):\n    return x")
    )
    assert module is not None
    last = module.decode().splitlines().index("    return x") + 1
    own, other = excerpt({"vectors.py": module}, "vectors.normalize", [("vectors.py", last)])
    assert [(line.number, line.text) for line in own.lines] == [
        (0, "cell 3"), (3, "def normalize(x):"), (4, "    return f(x)"),
    ]  # fmt: skip
    assert [(line.number, line.text, line.highlighted) for line in other.lines] == [
        (0, "cell 4", False), (1, "B = 2", False), (2, "C = 3", False), (3, "def f(x):", False),
        (4, "    return x", True), (5, "", False),
    ]  # fmt: skip


def test_long_code_is_cut_round_the_marked_line() -> None:
    text = "def normalize(x):\n" + "".join(f"    x += {n}\n" for n in range(500))
    (piece,) = excerpt({"vectors.py": text.encode()}, "vectors.normalize", [("vectors.py", 400)])
    assert len(piece.lines) == 60 and [line.number for line in piece.lines if line.highlighted] == [400]


def browse(path: Path, *options: str) -> str:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium on this machine: pages were not opened in a browser")
    with tempfile.TemporaryDirectory() as profile:
        flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
        flags += f" --disable-component-update --disable-sync --user-data-dir={profile} --virtual-time-budget=3000"
        ended = subprocess.run(
            [chromium, *flags.split(), *options, "--dump-dom", path.as_uri()],
            capture_output=True,
            text=True,
            timeout=600,
        )
    return ended.stdout


@pytest.mark.slow
def test_browser_runs_the_page_and_no_script_that_is_not_ours(tmp_path: Path) -> None:
    index = write_report(classroom(COURSE, 20), COURSE, tmp_path)
    index.write_text(index.read_text().replace("</main>", "<script>document.title='owned'</script></main>"))
    dom = browse(index)
    assert 'class="scripted"' in dom and "20 of 20" in dom and "<title>owned" not in dom


@pytest.mark.slow
def test_table_sorts_searches_and_lists_who_missed_an_exercise(tmp_path: Path) -> None:
    entries = classroom(COURSE, 20)
    at = next(n for n, one in enumerate(entries) if one.result.submission == "student009")
    entries[at] = dataclasses.replace(entries[at], row=replace(entries[at].row, arrival=Arrival(student="4711")))
    index = write_report(entries, COURSE, tmp_path)
    test = """<script>
    const names = () => [...document.querySelectorAll("#table tbody tr:not([hidden]) th")].map((th) => th.textContent);
    const type = (text) => { search.value = text; search.dispatchEvent(new Event("input")); };
    const said = [], search = document.getElementById("search"), heads = document.querySelectorAll("thead button");
    heads[1].click(); said.push("high " + document.querySelector("#table tbody td").dataset.value);
    heads[1].click(); said.push("low " + document.querySelector("#table tbody td").dataset.value);
    heads[0].click(); said.push("first " + names()[0]);
    const order = document.getElementById("order");
    const first = () => document.querySelector("#table tbody td").dataset.value;
    const choose = (text) => {
      order.value = [...order.options].find((one) => one.text === text).value;
      order.dispatchEvent(new Event("change"));
    };
    choose("points, highest first"); const chosen = [first(), heads[1].parentNode.ariaSort];
    choose("percent, lowest first"); chosen.push(first()); heads[0].click(); chosen.push(order.selectedOptions[0].text);
    said.push("chosen " + chosen);
    type("muller"); said.push("found " + names());
    type(""); document.querySelector("[data-tag='e0']").click();
    said.push("missed " + names().length); document.getElementById("everyone").click();
    said.push("all " + names().length);
    const one = document.querySelector("#h-failures ~ ol button"); one.click();
    said.push(`failed ${names().length === Number(one.textContent)} ${document.getElementById("shown").textContent}`);
    const check = document.querySelector("#h-checks ~ details button"); check.click();
    said.push(`${check.title} ${check.type} ${document.getElementById("shown").textContent}`);
    const missing = document.querySelector("[data-tag='e0']"); missing.click();
    said.push(document.getElementById("shown").textContent);
    document.getElementById("everyone").click(); type("4711"); said.push("id " + names());
    document.body.dataset.said = said.join("|");
    </script></body>"""
    text = re.sub("<meta http-equiv[^>]*>", "", index.read_text()).replace("</body>", test)
    missed = sum(e.result.exercises[0].score < e.result.exercises[0].max for e in classroom(COURSE, 20))
    scores = [e.result.score for e in classroom(COURSE, 20)]
    index.write_text(text)
    found = re.search(r'data-said="([^"]*)"', browse(index))
    assert found is not None
    high, low, first, chosen, name, some, everyone, failed_so, by_check, by_exercise, by_id = found[1].split("|")
    assert failed_so.startswith("failed true ") and " have this failure in " in failed_so
    assert re.fullmatch(r"list them button \d+ of 20 did not pass `[^`]+` of vectors\.\w+", by_check), by_check
    assert by_exercise == f"{missed} of 20 did not pass normalize"
    assert by_id == "id student009"
    assert (high, low) == (f"high {max(scores)}", f"low {min(scores)}") and first.startswith("first ")
    assert chosen == f"chosen {max(scores)},descending,{min(scores)},submission", "on a phone the table has no head"
    assert name == "found Zoë Müller" and some == f"missed {missed}" and everyone == "all 20"


def test_a_page_for_a_student_neither_links_the_class_nor_names_the_sandbox(tmp_path: Path) -> None:
    given = entry(result("me", exercise("vectors.normalize", check()), sandbox=("seccomp",)))
    text = page(given, tmp_path)
    assert "index.html" not in text and "seccomp" not in text
    write_report([given], COURSE, tmp_path, for_instructors=True)
    text = (tmp_path / "students" / page_name("me")).read_text()
    assert 'href="../index.html"' in text and "sandbox: seccomp" in text


def test_what_stands_between_backticks_is_code_and_stays_escaped() -> None:
    assert _code("use `x.sum(dim=1)` & <b> `<i>`") == (
        "use <code>x.sum(dim=1)</code> &amp; &lt;b&gt; <code>&lt;i&gt;</code>"
    )
    assert _code("one ` only") == "one ` only"


def test_code_in_notes_and_short_messages_is_shown_as_code(tmp_path: Path) -> None:
    unwritten = explain.result("one", Cause(kind="unwritten", reason="`normalize` is not written yet"))
    right = exercise("vectors.cosine", check())
    given = entry(result("me", exercise("vectors.normalize", unwritten, unwritten), right))
    noted = replace(given.row, notes=("vectors.py: put it under `if <x>:`",))
    text = page(Entry(noted, given.files_of), tmp_path)
    assert "<code>normalize</code> is not written yet" in text and "<code>if &lt;x&gt;:</code>" in text


def test_the_whole_submission_can_be_opened_where_there_is_room(tmp_path: Path) -> None:
    right = result("me", exercise("vectors.normalize", check()))
    text = page(entry(right, {"vectors.py": CODE, "helper.py": "secret = '<b>'\n"}), tmp_path)
    assert text.count("<details>") == 2 and "secret = &#39;&lt;b&gt;&#39;" in text
    text = page(entry(right, {"vectors.py": CODE, "long.py": "x = 1\n" * 100_000}), tmp_path)
    assert text.count("<details>") == 1 and "1 more: too long to show here" in text


def test_the_class_page_says_what_it_is_about(tmp_path: Path) -> None:
    with Gradebook.open(tmp_path / "gradebook.sqlite") as book:
        late = LatePolicy(read_due("2026-10-01T12:00"), 0.1)
        for name in ("ann", "bob"):
            run = book.start_run("course", "hash", 0, "{}", {}, late=late)
            book.record(run, result(name, exercise("vectors.normalize", check())), "d", 0.1)
        lines = list(about(book, entries_of(book)))
    assert len(lines) == 2 and lines[0].startswith("course, run 1 of 20")
    assert lines[1].endswith(": 1 submission; due 2026-10-01 12:00, 10 % off a day")
    entries = [entry(result("ann", exercise("vectors.normalize", check())))]
    assert lines[1] in write_report(entries, COURSE, tmp_path / "r", lines).read_text()


def test_feedback_is_one_file_for_each_student_by_the_names_that_moodle_knows() -> None:
    def came(name: str, **arrival: str) -> Entry:
        made = entry(result(name, exercise("vectors.normalize", check())), {"vectors.py": CODE})
        return dataclasses.replace(made, row=replace(made.row, arrival=Arrival(**arrival)))

    entries = [
        came("x", student="99", lms="moodle", prefix="Zoë_M =x_12_assignsubmission_file/"),
        came("Ann", student="13", lms="canvas", prefix="ann_13_501_"),
        came("<b>"),
    ]
    data = feedback_zip(entries, COURSE)
    assert data == feedback_zip(entries, COURSE)
    with zipfile.ZipFile(io.BytesIO(data)) as made:
        first, second, third = made.namelist()
        assert first == "Zoë M =x_12_assignfeedback_file_feedback.html" and first.split("_", 4)[1] == "12"
        assert (second, third) == ("ann_13_501_feedback.html", "b.html")
        text = made.read(first).decode()
    assert "default-src" in text and "index.html" not in text and "<bdi>x</bdi>" in text
