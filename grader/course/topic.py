"""Topic and Exercise: what ``course.toml`` lists, as data."""

from __future__ import annotations

import msgspec


class Exercise(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One function or class to write: one ``[[topics.exercises]]`` table.

    Attributes:
        hints_for: names of checks, each with the number (from 1) of the hint that is for it; such a hint is shown
            beside no other check.
        topic: the topic's name; not a key of the table.
        needs: exercises that must pass first; full names, where the table may leave out the topic.
    """

    name: str
    points: float
    hints: tuple[str, ...] = ()
    hints_for: dict[str, int] = {}
    needs: tuple[str, ...] = ()
    topic: str = ""

    def __hash__(self) -> int:
        return hash((self.topic, self.name))  # a table cannot be hashed

    @property
    def full_name(self) -> str:
        """``topic.name``, unique in the course."""
        return full_name(self.topic, self.name)


class Topic(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One stub module and its exercises, in order of learning: one ``[[topics]]`` table.

    Attributes:
        preload: installed modules that are slow to import and that its exercises use: loaded once, before grading.
    """

    name: str
    title: str
    summary: str = ""
    reading: tuple[str, ...] = ()
    preload: tuple[str, ...] = ()
    exercises: tuple[Exercise, ...] = ()

    def with_full_names(self) -> Topic:
        """The topic with its name in its exercises, and with the full names of what these need."""
        exercises = (
            msgspec.structs.replace(
                exercise, topic=self.name, needs=tuple(full_name(self.name, need) for need in exercise.needs)
            )
            for exercise in self.exercises
        )
        return msgspec.structs.replace(self, exercises=tuple(exercises))


def full_name(topic: str, exercise: str) -> str:
    """``topic.exercise``; a name that is full already stays as it is."""
    return exercise if "." in exercise else f"{topic}.{exercise}"
