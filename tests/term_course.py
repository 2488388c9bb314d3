"""A course with one small topic a week, for tests of assignments: each exercise returns a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path


def write_course(folder: Path, topics: Mapping[str, Sequence[str]], more: str = "", *, needs: str = "") -> Path:
    """Writes a course: `topics` and their exercises, each worth 10 points; `more` is added to course.toml.

    The right answer of an exercise is ``return N``, with its number in the course from 1 on.
    """
    number = 0
    text = '[course]\nname = "numbers"\ntitle = "Numbers"\n'
    for topic, exercises in topics.items():
        stub, solved, checks = "", "", "from grader.testkit import exercise\n"
        text += f'\n[[topics]]\nname = "{topic}"\ntitle = "{topic}"\nsummary = "s"\nreading = ["r"]\n'
        for name in exercises:
            number += 1
            text += f'[[topics.exercises]]\nname = "{name}"\npoints = 10\n'
            text += f'needs = ["{needs}"]\n' if needs and needs != f"{topic}.{name}" else ""
            head = f'def {name}() -> int:\n    """The number {number}."""\n'
            stub += f'{head}    raise NotImplementedError("write `{name}` here")\n\n\n'
            solved += f"{head}    return {number}\n\n\n"
            checks += f'\n\n@exercise("{topic}.{name}")\ndef test_{name}(submission):\n'
            checks += f'    """It is {number}."""\n    assert submission.{name}() == {number}\n'
        for kind, content in (("exercises", stub), ("solutions", solved)):
            (folder / kind).mkdir(parents=True, exist_ok=True)
            (folder / kind / f"{topic}.py").write_text(content, encoding="utf-8")
        (folder / "checks").mkdir(exist_ok=True)
        (folder / "checks" / f"test_{topic}.py").write_text(checks, encoding="utf-8")
    (folder / "course.toml").write_text(f"{text}\n{more}", encoding="utf-8")
    return folder


def answers(**numbers: int) -> bytes:
    """A submitted module: exercises and what they return."""
    return "".join(f"def {name}():\n    return {number}\n\n\n" for name, number in numbers.items()).encode()
