"""The end of a course: what the student has built, topic by topic, its picture, and where to go on. Decides nothing."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from grader.course import Course
from grader.pictures import Picture
from grader.reports.picture_text import ROWS, print_picture
from grader.reports.rows import print_wrapped
from grader.text import clean


def print_end(course: Course, console: Console, pictures: Sequence[Picture] = (), rows: int = ROWS) -> None:
    """Prints what has been built and where to go on, for a student who has passed everything.

    Args:
        pictures: those to show, such as of the last exercise.
        rows: lines of text of each.
    """
    for picture in pictures:
        console.print()
        print_picture(picture, console, rows)
    console.print()
    print_wrapped(console, "What you have built:", "bold")
    for topic in course.topics:
        print_wrapped(console, f"  {topic.name}: {clean(topic.title)}", "")
    if course.finish:
        print_wrapped(console, "Where to go on:", "bold")
        for line in course.finish:
            print_wrapped(console, f"  {clean(line)}", "")
    console.print()
