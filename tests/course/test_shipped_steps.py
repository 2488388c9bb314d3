"""The shipped course says of every exercise how hard and how long it is, and why; hunts stand where bugs arise."""

from __future__ import annotations

from grader.course import Course

COURSE = Course.load(None, complete=False)


def test_every_exercise_has_its_steps() -> None:
    assert [one.full_name for one in COURSE.exercises if not (one.minutes and one.level and one.why)] == []
    assert {one.level for one in COURSE.exercises} == {"easy", "medium", "hard"}


def test_the_first_topic_is_an_early_win() -> None:
    first, *_ = COURSE.topics
    assert first.name == "first_run" and sum(one.minutes or 0 for one in first.exercises) <= 10
    assert all(one.level == "easy" for one in first.exercises)


def test_the_twelve_short_hunts_are_met_along_the_course() -> None:
    hunts = [one for one in COURSE.topic("debugging").exercises if one.after]
    assert len(hunts) == 12
    names = [one.full_name for one in COURSE.path]
    assert sorted(names) == sorted(one.full_name for one in COURSE.exercises)
    for one in hunts:
        assert names.index(one.after) < names.index(one.full_name)
        assert names[names.index(one.full_name) - 1] == one.after
    topics = [name.partition(".")[0] for name in names]
    assert topics.index("debugging") < topics.index("autograd")  # the first of them soon
