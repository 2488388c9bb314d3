"""What a check passes to a submission must come back as it was: seen by the judge, in real student processes."""

from __future__ import annotations

from pathlib import Path

import pytest
from odd_course import ODD, RIGHT, with_own, write_odd_course
from shared import WarmUp, check_of, exercise_of

IN_PLACE = with_own(double="return x.mul_(2)")
LIES = with_own(double="return x.mul_(2)") + "\ntorch.equal = torch.allclose = lambda *a, **k: True\n"
LATER = with_own(
    double="""
    import threading
    def later():
        x.mul_(2)
    result = 2 * x
    thread = threading.Thread(target=later)
    thread.start()
    thread.join()
    return result"""
)


@pytest.mark.parametrize("text", [IN_PLACE, LIES, LATER])
def test_a_changed_argument_fails_the_check_in_words(warm: WarmUp, text: str) -> None:
    odd = warm(ODD)
    for _ in range(2):
        result = odd.grade(odd=text)
        checks = {check.name: check for check in exercise_of(result, "double").checks}
        assert checks["twice_every_number"].verdict == "failed"
        message = checks["twice_every_number"].message
        assert "changed its first argument in place: element [" in message
        assert message.splitlines()[2].startswith("double(tensor([[")
        assert "depends on earlier calls" not in message
        assert exercise_of(result, "double").score == 0
        assert check_of(odd.grade(odd=RIGHT), "twice_every_number").verdict == "passed"


MOVES_ITS_ARENA = """
import sys

def restart(self):
    self._placed.clear()
    self._slots.next = {start}
    return {start}

frame = sys._getframe()
while "Service" not in frame.f_globals:
    frame = frame.f_back
frame.f_globals["Service"].answer.__globals__["Placing"].restart = restart
"""


@pytest.mark.parametrize("start", ["32 << 20", "(32 << 20) - 64", "24 << 20", "7"])
def test_a_process_that_says_where_nothing_is_watched_has_changed_its_arguments(warm: WarmUp, start: str) -> None:
    result = warm(ODD).grade(odd=MOVES_ITS_ARENA.format(start=start) + IN_PLACE)
    check = check_of(result, "twice_every_number")
    assert check.verdict == "failed" and "changed the place of its first argument" in check.message, check.message


def test_an_exercise_may_be_marked_to_change_what_it_is_given(warm: WarmUp, tmp_path: Path) -> None:
    root = write_odd_course(tmp_path / "course")
    checks = root / "checks" / "test_odd.py"
    text = checks.read_text()
    assert '@exercise("odd.double")' in text
    checks.write_text(text.replace('@exercise("odd.double")', '@exercise("odd.double", may_change=True)'))
    odd = warm(root)
    result = odd.grade(odd=IN_PLACE)
    assert check_of(result, "twice_every_number").verdict == "passed"
    assert result.score == odd.grade(odd=RIGHT).score
