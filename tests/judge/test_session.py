"""The judge's pytest session: each file that cannot be collected is named; exceptions of the grading pass through."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from judge_here import desk_here

from grader.errors import UserError
from grader.judge.run import CollectedChecks
from grader.judge.session import collected_checks

HEAD = "import pytest\nfrom grader.testkit import exercise\n"
CHECK = "@exercise('some.thing')\ndef test_thing(submission):\n    'It is there.'\n"

NOT_COLLECTED = {
    "import": ("import no_such_module\n", ":3: ModuleNotFoundError: No module named 'no_such_module'"),
    "name_of_the_testkit": (
        "from grader.testkit import no_such_name\n",
        ":3: ImportError: cannot import name 'no_such",
    ),
    "syntax": ("def broken(:\n", ":3: SyntaxError: invalid syntax"),
    "raises": ("def broken():\n    return nowhere\n\nbroken()\n", ":4: NameError: name 'nowhere' is not defined"),
    "parameter": (
        "@exercise('some.thing')\n@pytest.mark.parametrize('absent', [1])\ndef test_thing(submission): ...\n",
        ": In test_session_parameter.py::test_thing: function uses no argument 'absent'",
    ),
}


def collect(folder: Path, **files: str) -> dict[str, int]:
    """How many checks of ``some.thing`` are collected from files of these names."""
    paths = [folder / f"test_session_{name}.py" for name in files]
    for path, text in zip(paths, files.values(), strict=True):
        path.write_text(HEAD + text)
    with collected_checks(paths, folder, 0) as checks:
        return {"some.thing": len(checks.of("some.thing"))}


@pytest.mark.parametrize("name", NOT_COLLECTED)
def test_a_file_that_cannot_be_collected_is_named_with_its_line_and_the_reason(tmp_path: Path, name: str) -> None:
    text, words = NOT_COLLECTED[name]
    with pytest.raises(UserError) as error:
        collect(tmp_path, **{name: text})
    assert f"the checks cannot be collected: test_session_{name}.py{words}" in str(error.value)


def test_each_file_that_cannot_be_collected_has_a_line(tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        collect(tmp_path, one="import no_such_module\n", fine=CHECK, two="1 / 0\n")
    head, first, second = str(error.value).splitlines()
    assert head == "the checks cannot be collected:"
    assert first.strip() == "test_session_one.py:3: ModuleNotFoundError: No module named 'no_such_module'"
    assert second.strip() == "test_session_two.py:3: ZeroDivisionError: division by zero"


def test_a_kit_that_course_toml_does_not_name_is_told_to_be_named_there(tmp_path: Path) -> None:
    (tmp_path / "looks").mkdir()
    with pytest.raises(UserError, match=r'No module named \'looks\'; .* below \[course\]: kit = "looks"'):
        collect(tmp_path, kit="from looks import shapes\n")


def test_who_imports_a_kit_that_is_not_there_reads_how_one_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "kit", raising=False)  # an earlier test may have imported the shipped course's
    with pytest.raises(
        UserError, match=r'; a kit is a folder \S+kit, and in course.toml below \[course\]: kit = "kit"'
    ):
        collect(tmp_path, kit="from kit import shapes\n")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    absent = collected_checks([tmp_path / "test_absent.py"], tmp_path, 0)
    with pytest.raises(UserError, match=r"test_absent\.py does not exist"), absent:
        pass


def test_a_check_file_of_the_same_name_in_another_folder_is_another(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    assert collect(tmp_path / "one", same=CHECK) == {"some.thing": 1}
    assert collect(tmp_path / "two", same=CHECK + CHECK.replace("test_thing", "test_other")) == {"some.thing": 2}


def test_pytest_options_of_the_environment_do_not_reach_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option")
    monkeypatch.setenv("PYTEST_PLUGINS", "no_such_plugin")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    assert collect(tmp_path, quiet="print('from the check file')\n" + CHECK) == {"some.thing": 1}
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("raised", [OSError("a disk"), KeyboardInterrupt(), SystemExit(3), pytest.skip.Exception("no")])
def test_an_exception_of_the_grading_passes_through_the_session(
    tmp_path: Path, raised: BaseException, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "test_session_of_errors.py"
    path.write_text(HEAD + CHECK)
    with pytest.raises(type(raised)) as error, collected_checks([path], tmp_path, 0):
        raise raised
    assert error.value is raised
    assert capfd.readouterr() == ("", "")


FIXTURES = """
@pytest.fixture
def number(tmp_path):
    (tmp_path / "a file").write_text("of a fixture of pytest's own")
    return 1

@exercise("some.thing")
def test_with_a_fixture(submission, number):
    assert submission.thing() == number

@exercise("some.thing")
@pytest.mark.parametrize("more", [0, 1])
def test_with_a_fixture_and_a_parameter(submission, number, more):
    assert submission.thing() == number + more, "not that number"

@exercise("some.thing")
def test_with_a_misspelt_fixture(submission, nmber):
    assert submission.thing() == 1

@exercise("some.thing")
def test_with_a_fixture_for_prints(submission, capsys):
    assert submission.thing() == 1

@exercise("some.thing")
@pytest.mark.skip(reason="not now")
def test_not_now(submission, number): ...
"""


def test_checks_with_fixtures_run_again_and_again(tmp_path: Path) -> None:
    (tmp_path / "some.py").write_text("def thing(): return 1\n")
    path = tmp_path / "test_session_fixtures.py"
    path.write_text(HEAD + FIXTURES)

    def verdicts(checks: CollectedChecks) -> list[tuple[str, str, str]]:
        results = [checks.run(check, desk_here(tmp_path, "some"))[0] for check in checks.of("some.thing")]
        return [(result.name, result.verdict, result.message) for result in results]

    with collected_checks([path], tmp_path, 0) as checks:
        first, second = verdicts(checks), verdicts(checks)
    assert first == second
    assert [(name, verdict) for name, verdict, _ in first] == [
        ("with_a_fixture", "passed"),
        ("with_a_fixture_and_a_parameter[0]", "passed"),
        ("with_a_fixture_and_a_parameter[1]", "failed"),
        ("with_a_misspelt_fixture", "error"),
        ("with_a_fixture_for_prints", "error"),
        ("not_now", "skipped"),
    ]
    assert "not that number" in first[2][2]
    assert "there is no fixture `nmber`" in first[3][2]
    assert "there is no fixture `capsys`: what a call prints is `printed(submission.f, ...)`" in first[4][2]
    assert first[5][2] == "not now"
