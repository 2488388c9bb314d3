"""A hook of mkdocs: the lessons of the shipped course are pages of the site, in the order of learning."""

from __future__ import annotations

from typing import Any

from mkdocs.structure.files import File

from grader.course import Course
from grader.course.lessons import Lesson, lesson_of, markdown_of


def lessons() -> list[Lesson]:
    """Those that there are."""
    course = Course.load(None, complete=False)
    return [found for topic in course.topics if (found := lesson_of(course, topic.name))]


def page_of(lesson: Lesson) -> str:
    """A lesson as the text of a page; the exercises of each idea are named below it."""
    shown = [f"# {lesson.title}", lesson.about]
    for idea in lesson.ideas:
        names = ", ".join(f"`{name}`" for name in idea.exercises)
        shown += [markdown_of(idea), f"*In:* {names}" if names else ""]
    return "\n\n".join(filter(None, shown)) + "\n"


def on_config(config: Any) -> Any:
    """Puts the lessons below the page for students."""
    names = [f"lessons/{lesson.topic}.md" for lesson in lessons()]
    if config.nav and names:
        at = next(number for number, one in enumerate(config.nav) if "For students" in one) + 1
        config.nav = [*config.nav[:at], {"Lessons": names}, *config.nav[at:]]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Makes the pages."""
    for lesson in lessons():
        files.append(File.generated(config, f"lessons/{lesson.topic}.md", content=page_of(lesson)))
    return files
