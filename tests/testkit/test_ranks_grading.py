"""How a course that needs ranks is loaded: what it preloads. The course is ``courses/team``.

What its unlucky and hostile submissions get is in their files, and asserted by ``checks/test_wrong_answers.py``.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from answer_files import COURSES
from command_here import run_here

from grader.course import Course

TEAM = COURSES / "team"


@pytest.mark.slow
def test_a_module_to_preload_that_does_not_exist_is_named_before_other_topics_are_graded(own_course: Path) -> None:
    """The host that loads modules is first asked when its topics' turn comes."""
    for part in ("exercises", "solutions", "checks"):
        for file in (TEAM / part).glob("*.py"):
            shutil.copy(file, own_course / part)
    topic = (TEAM / "course.toml").read_text()
    topic = topic[topic.index("[[topics]]") :].replace("torch.distributed.run", "no_such_module")
    (own_course / "course.toml").write_text((own_course / "course.toml").read_text() + "\n" + topic)
    done = run_here("check", "--course", own_course, "--submission", own_course / "solutions")
    assert done.returncode != 0
    assert "No module named 'no_such_module'" in " ".join(done.stdout.split()).replace("│ ", "")
    assert "✓ normalize" not in done.stdout


def test_what_cannot_be_a_module_name_is_refused_with_its_line(
    tmp_path: Path, edit: Callable[[Path, str, str], None]
) -> None:
    course = Path(shutil.copytree(TEAM, tmp_path / "course", ignore=shutil.ignore_patterns("__pycache__")))
    edit(course / "course.toml", '["torch.distributed.run"]', '["../x"]')
    done = run_here("check", "--json", "--course", course, "--submission", course / "solutions")
    text = done.stderr + done.stdout
    assert done.returncode != 0
    assert "`../x` cannot be the name of a module" in text and "course.toml:8" in text


def test_preload_of_a_course() -> None:
    course = Course.load(TEAM)
    assert course.preload(["team"]) == ["torch.distributed.run"]
    assert course.preload([]) == []
    assert list(course.topic("team").preload) == ["torch.distributed.run"]
