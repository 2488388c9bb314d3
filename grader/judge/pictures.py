"""The pictures of a course's exercises: finds the functions that make them, and runs one against a submission.

A picture decides no verdict, and whatever happens while it is made ends as one line of text. Draws nothing.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from grader.border.failures import MissingName, SubmissionCrashed, SubmissionRaised, SubmissionTimeout
from grader.border.proxies import SubmissionProxy
from grader.judge.check import Check
from grader.judge.desk import Desk
from grader.judge.marks import Place, place_of
from grader.pictures import Picture, bounded
from grader.testkit.marking import PICTURE_MARK
from grader.text import one_line


@dataclass(frozen=True)
class PictureFunction:
    """A function beside the checks that makes a picture of an exercise (full name)."""

    exercise: str
    title: str
    function: Callable[..., Any]

    @property
    def place(self) -> Place:
        """Its place, beside those of the checks."""
        return place_of(self.exercise, f"picture {self.function.__name__}")


def pictures_beside(checks: Iterable[Check]) -> dict[str, list[PictureFunction]]:
    """The functions in the files of these checks, by exercise, in their order."""
    found: dict[str, list[PictureFunction]] = {}
    modules = {check.item.path: check.item.module for check in checks}
    for module in modules.values():
        for value in [*vars(module).values()]:  # a copy: a thread that imports may add to it
            mark = getattr(value, "__dict__", {}).get(PICTURE_MARK)
            if mark is not None and value.__module__ == module.__name__:
                exercise, title = mark
                found.setdefault(exercise, []).append(PictureFunction(exercise, title, value))
    return found


def make(picture: PictureFunction, desk: Desk) -> Picture:
    """Runs the function at a desk, whose process should be a fresh one."""
    try:
        channel = desk.channel()
        channel.begin_example(may_change=True)
        return Picture(one_line(picture.title), bounded(picture.function(SubmissionProxy(channel))))
    except MissingName as error:
        problem = f"there is no `{error.message}`"
    except SubmissionRaised as error:
        problem = f"your code raised {error.kind}: {error.message}"
    except SubmissionTimeout:
        problem = "your code gave no answer in time"
    except SubmissionCrashed as error:
        problem = f"the process of your code {error}"
    except (ValueError, AssertionError, pytest.skip.Exception) as error:
        problem = str(error)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    return no_picture(picture, problem)


def no_picture(picture: PictureFunction, problem: str) -> Picture:
    """The line that is shown in place of a picture."""
    return Picture(one_line(picture.title), problem=one_line(problem.split("\n", 1)[0], 200))
