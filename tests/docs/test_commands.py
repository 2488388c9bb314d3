"""What pages say to type works as it stands there; what no test runs says why."""

from __future__ import annotations

import ast
import csv
import json
import shutil
from pathlib import Path

import class_of_a_term
import class_of_eighty
import make_class_zips
import pytest
from class_of_sixty import ANNOTATED, IN_TIME, ROWS, UNREAD, Row
from pages import SHELL, Block, all_blocks
from scenario import Scenario
from shared import ADOPTED, ALL_POINTS, OWN_COURSE, REPO, TERM_COURSE
from wheelhouse import make_wheels

SCENARIOS = ("class", "ci", "course", "student", "term", "adopt", "notebooks")
"""Each is a test of this file, in its order: ``<!-- run: class -->`` is played by the test of the class."""

BLOCKS = all_blocks()

NOTHING = {"1060": "", "1061": ""}
"""They have handed in nothing: their cells stay as they are."""
NOBODY = Row("", "", "", "", "", "nothing handed in")
POINTS = dict.fromkeys(("misspelt", "stub", "wrong", "empty", "syntax error", "broken at the end"), 0)
POINTS |= {"half": 1, "missing package": 1}
"""Before lateness; all others have 3."""
LETTERS = "[course]\nletters = { A = 90, C = 30, F = 0 }"
LETTER_OF = (
    dict.fromkeys(("3", "2.7", "EX"), "A") | dict.fromkeys(("2.4", "1", "0.9"), "C") | {"0.7": "F", "0": "F", "": ""}
)


def played(name: str, folder: Path) -> Scenario:
    """All blocks of a scenario, run in this folder, and the files and outputs that go with them."""
    scenario = Scenario(folder)
    page, current = "", ""
    for block in BLOCKS:
        if block.page != page:
            page, current = block.page, ""
        if block.kind == "run":
            current = block.value
        if block.kind in ("run", "file", "output") and current == name:
            scenario.play(block)
    assert scenario.ran, f"no page has commands of `{name}`"
    return scenario


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language in SHELL], ids=str)
def test_commands_are_run_by_a_test_or_say_why_not(block: Block) -> None:
    assert block.language == "sh", f"{block}: write ```sh"
    if block.kind == "run":
        assert block.value in SCENARIOS, f"{block}: no test plays `{block.value}`"
    else:
        assert block.kind == "not run" and block.value, f"{block}: above it, write what runs it or why nothing does"


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_blocks_say_their_language(block: Block) -> None:
    assert block.language in {"sh", "python", "toml", "text", "json"}, f"{block}: say what language it is in"


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language == "python"], ids=str)
def test_python_on_pages_imports_names_that_exist(block: Block) -> None:
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("grader"):
            for imported in node.names:
                exec(f"from {node.module} import {imported.name}", {})


def cells(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def same_but_for(columns: tuple[str, ...], before: list[dict[str, str]], after: list[dict[str, str]]) -> bool:
    """Whether two files have the same rows in the same order, but for these columns."""

    def rest(rows: list[dict[str, str]]) -> list[dict[str, str]]:
        return [{name: cell for name, cell in row.items() if name not in columns} for row in rows]

    return rest(before) == rest(after)


@pytest.mark.slow
def test_class_goes_from_download_to_upload(tmp_path: Path) -> None:
    make_class_zips.main(tmp_path)
    class_of_eighty.write_class(tmp_path)
    (tmp_path / "moodle.csv").rename(tmp_path / "worksheet.csv")
    for name in ("my-course", "new-course"):
        shutil.copytree(OWN_COURSE, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        manifest = tmp_path / name / "course.toml"
        manifest.write_text(manifest.read_text().replace("[course]", LETTERS, 1))
    checks = tmp_path / "new-course" / "checks" / "test_vectors.py"
    checks.write_text(checks.read_text() + "\n# a remark\n")
    before = {name: (tmp_path / name).read_bytes() for name in ("grades.csv", "worksheet.csv")}

    scenario = played("class", tmp_path)

    out = tmp_path / "week1"
    status = scenario.printed("grader status")
    handed_in = len(class_of_eighty.HANDED_IN)
    assert f"{handed_in} of {handed_in} done, finished" in status and "late: " in status
    nobody = status.partition("handed in nothing: ")[2].partition("\n")[0]
    assert nobody.startswith(f"{len(class_of_eighty.NO_SHOWS)} students: ")
    assert all(name in nobody for name in class_of_eighty.NO_SHOWS)
    for row in class_of_eighty.CLASS:
        looked_at = row.why.startswith(class_of_eighty.LOOK) or row.kind == "syntax error"
        assert looked_at == (f"needs a look: {row.name}: " in status), row
    assert "Zoë Åström: vectors.normalize: 1/1" in scenario.printed("grader override")
    assert "run 2 was a trial" in scenario.printed("grader grade canvas.zip --course new-course")
    assert scenario.printed("grader diff") == (
        # What waited for the exercise that has all its points by hand is graded by the next run, as the page says.
        "Zoë Åström: vectors.cosine: 0 → 2\n1 submission would move; another version of the course\n"
    )
    assert len(list((out / "report" / "students").glob("*.html"))) == class_of_eighty.RESULTS
    without = sum(row.group == "Phi" for row in class_of_eighty.CLASS)
    assert len(list((out / "gradescope").glob("*.json"))) == class_of_eighty.RESULTS - without

    # The marks that were worked out by hand stand in `class_of_eighty.py` and, for Moodle, in `class_of_sixty.py`.
    # Every other cell is as it was downloaded.
    downloaded, canvas = cells(tmp_path / "grades.csv"), cells(tmp_path / "upload.csv")
    assert same_but_for(("Vectors (4711)",), downloaded, canvas)
    filled = {row["ID"]: row["Vectors (4711)"] for row in canvas if row["ID"]}
    wrong = [(row, filled[f"{n}"]) for n, row in class_of_eighty.IDS.items() if filled[f"{n}"] != row.mark]
    assert wrong == [] and canvas[0]["Vectors (4711)"] == "3.00"
    scenario.run("grader export csv --course my-course --out week1", "after the page")
    for line in cells(out / "marks.csv"):
        row = class_of_eighty.IDS[int(line["id"])]
        final = {"EX": "3"}.get(row.mark, row.mark)
        assert (line["final"], line["grade"], line["group"]) == (final, LETTER_OF[row.mark], row.group), row

    rows = {f"{number}": row for number, row in enumerate(ROWS, start=1000)}
    downloaded, moodle = cells(tmp_path / "worksheet.csv"), cells(tmp_path / "upload-moodle.csv")
    assert same_but_for(("Bewertung", "Feedback als Kommentar"), downloaded, moodle)
    filled = {row["ID"].removeprefix("Teilnehmer/in"): row["Bewertung"] for row in moodle}
    assert filled == {number: row.moodle.replace(".", ",") for number, row in rows.items()} | NOTHING
    for number, comment in {row["ID"][-4:]: row["Feedback als Kommentar"] for row in moodle}.items():
        name, kind, came, _, mark, why = rows.get(number, NOBODY)
        begins = "" if number in NOTHING else f"Automatic feedback: {POINTS.get(kind, 3)}/3 points."
        begins = "Automatic feedback: no mark yet: work could not be read." if kind in UNREAD else begins
        begins = "Schön gemacht!" if name == ANNOTATED else begins
        assert comment.startswith(begins) and (comment == begins or came > IN_TIME or mark != "3"), (why, comment)
    assert before == {name: (tmp_path / name).read_bytes() for name in before}


@pytest.mark.slow
def test_a_term_goes_from_the_class_lists_to_its_marks(tmp_path: Path) -> None:
    class_of_a_term.write_class(tmp_path)
    shutil.copytree(TERM_COURSE, tmp_path / "term-course", ignore=shutil.ignore_patterns("__pycache__"))

    scenario = played("term", tmp_path)

    assert sorted(file.name for file in (tmp_path / "kata").glob("*.py")) == ["lines.py", "samples.py"]
    assert "2 days late by its roster, 2 late days taken: 0 % off" in scenario.printed("grader status")
    weeks = {"week1": 3, "week2": 3, "week3": 5}
    found = {line["student"]: line for line in cells(tmp_path / "term" / "marks.csv")}
    assert found.keys() == class_of_a_term.CLASS.keys()
    for name, line in found.items():
        for (week, most), work in zip(weeks.items(), class_of_a_term.CLASS[name], strict=True):
            points, state = line[f"{week} ({most})"], line[f"{week} state"]
            final = "not in the class" if work is None else work.final
            if isinstance(final, str):
                assert state.startswith(final) and points in ("", "EX"), (name, week)
            else:
                assert state.startswith("marked") and float(points) == final, (name, week)
        share, letter = class_of_a_term.TERM[name]
        assert (line["percent"], line["grade"]) == (f"{100 * share:.2f}", letter), name
        assert line["left the class"] == ("yes" if name == class_of_a_term.LEFT else ""), name
    second = {line["submission"]: line["final"] for line in cells(tmp_path / "week2.csv")}
    assert second["Farah Haddad"] == "3" and second[class_of_a_term.CAME] == "1"


@pytest.mark.slow
def test_a_notebook_goes_from_another_grader_to_a_graded_folder(tmp_path: Path) -> None:
    shutil.copytree(REPO / "examples" / "adopted" / "otter", tmp_path, dirs_exist_ok=True)
    scenario = played("notebooks", tmp_path)
    assert (tmp_path / "week1" / "data" / "temperatures.csv").is_file()
    assert "1 exercise for a person to mark: q6" in scenario.printed("grader adopt")


@pytest.mark.slow
def test_student_starts_checks_and_reads_a_failure(tmp_path: Path) -> None:
    shutil.copytree(TERM_COURSE, tmp_path / "term-course", ignore=shutil.ignore_patterns("__pycache__"))
    scenario = played("student", tmp_path)
    assert f"0/{ALL_POINTS:g} points" in scenario.printed("grader check")
    assert "1 failed" in scenario.printed("pytest")

    shown = [block for block in BLOCKS if block.kind.startswith("output of ")]
    assert shown
    for block in shown:
        function = block.kind.removeprefix("output of ")
        stub = tmp_path / "kata" / "tensor_ops.py"
        old = f'raise NotImplementedError("write `{function}` here")'
        assert old in stub.read_text()
        stub.write_text(stub.read_text().replace(old, block.value))
        scenario.run(f"cd {stub.parent}", str(block))
        scenario.run(f"grader check {function}", str(block))
        scenario.require_printed(block)


@pytest.mark.slow
def test_pipeline_commands_print_what_a_pipeline_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in make_wheels(tmp_path / "wheels").items():
        monkeypatch.setenv(name, value)
    shutil.copytree(OWN_COURSE, tmp_path / "my-course", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(REPO / "exercises", tmp_path / "kata", ignore=shutil.ignore_patterns("__pycache__"))
    played("ci", tmp_path)
    assert json.loads((tmp_path / "result.json").read_text())["score"] == 0
    assert "jobs:" in (tmp_path / ".github" / "workflows" / "grade.yml").read_text()
    assert (tmp_path / "autograder.zip").stat().st_size > 10_000
    assert (tmp_path / "classroom50" / "cs1" / "autograders" / "week1" / "autograder.py").is_file()


@pytest.mark.slow
def test_tutorial_ends_in_a_course_that_verify_accepts(tmp_path: Path) -> None:
    scenario = played("course", tmp_path)
    proofs = [one for one in scenario.ran if one.command.startswith("grader verify")]
    assert [one.command for one in proofs if "the course is sound" not in one.printed] == [proofs[-1].command]
    assert "(100.0%)" in proofs[-1].printed and "--mutants" in proofs[-1].command
    assert (tmp_path / "attention-course" / "exercises" / "beyond.py").is_file()
    assert "0/9 points" in scenario.printed("grader check")
    assert (tmp_path / "kata" / "picture.md").is_file()
    (wheel,) = (tmp_path / "wheels").iterdir()
    assert wheel.name in (REPO / "docs" / "course.md").read_text()


@pytest.mark.slow
def test_a_folder_of_tests_becomes_a_graded_class(tmp_path: Path) -> None:
    suite = shutil.copytree(ADOPTED / "suite", tmp_path / "my-suite")
    ada = shutil.copytree(suite, tmp_path / "submissions" / "ada", ignore=shutil.ignore_patterns("tests"))
    shutil.copy(suite / "tests" / "adapters.py", ada)
    bruno = shutil.copytree(ada, tmp_path / "submissions" / "bruno")
    (bruno / "lm" / "optim.py").unlink()

    scenario = played("adopt", tmp_path)

    assert "the course is sound" in scenario.printed("grader verify")
    results = [json.loads(line) for line in (tmp_path / "week1" / "results.jsonl").read_text().splitlines()]
    assert [(one["submission"], one["score"]) for one in results] == [("ada", 22), ("bruno", 17)]
