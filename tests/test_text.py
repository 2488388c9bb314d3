"""Text helpers that every report uses."""

from __future__ import annotations

from grader.text import counted, without_addresses


def test_a_number_agrees_with_its_noun() -> None:
    assert [counted(n, "line") for n in (0, 1, 2)] == ["0 lines", "1 line", "2 lines"]
    assert [counted(n, "class", "classes") for n in (1, 2)] == ["1 class", "2 classes"]
    assert [counted(n, "point") for n in (0.5, 1.0, 2.0)] == ["0.5 points", "1 point", "2 points"]


def test_what_differs_from_run_to_run_is_left_out() -> None:
    assert without_addresses("<Net at 0x7f00aa12>") == "<Net>"
    assert (
        without_addresses("Path('/var/tmp/torchkata-suite-a_1x/course/tests/data/a.txt')") == "Path('tests/data/a.txt')"
    )
    for folder in ("/tmp/pytest-of-ada/pytest-12", "/var/tmp/torchkata-suite-a_1x/temporary"):
        assert without_addresses(f"read '{folder}/test_save0/net.json'") == "read 'tmp_path/net.json'"
