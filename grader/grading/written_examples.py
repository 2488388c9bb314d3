"""The examples in docstrings of a solution: are they true?

Two forms count: statements after ``>>>`` as in Python's own doctest, and, for an exercise whose manifest entry has
``transcript = "torchrun"``, a command after ``$`` with its output below it, up to an empty line. Statements under a
line such as "Example (with 2 GPUs):" run on that many simulated ones. The statements run in a student process; their
output is compared here.
"""

import itertools
import re
import shlex
from collections.abc import Iterator
from typing import Final

import msgspec
import pytest

from grader.border.failures import SubmissionCrashed, SubmissionRaised, SubmissionTimeout
from grader.course import Course, Topic
from grader.course.lessons import Lesson
from grader.course.source import parse
from grader.judge.docstrings import CHECKER, Docstring, docstrings_of
from grader.judge.topic_desk import TopicDesk
from grader.testkit import ranks
from grader.testkit._ranks import launch, world
from grader.testkit.written_examples import run

LESSON: Final = "the lesson"
_VARIABLE: Final = re.compile(r"[A-Z_]+=.*")
_COMMAND: Final = re.compile(r"torchrun --nproc[-_]per[-_]node[= ](\d+)")


class Untrue(msgspec.Struct, frozen=True):
    """An example that is not what comes; ``line`` is that of the statement."""

    line: int
    message: str


def untrue_examples(desk: TopicDesk, course: Course, topic: Topic) -> Iterator[Untrue]:
    """The first example of each docstring that is not true.

    Args:
        desk: of the solution.
        topic: with the exercises that are looked at; so are the functions and classes that are no exercise.

    Raises:
        CourseError: the file is not Python.
    """
    transcripts = {exercise.name for exercise in topic.exercises if exercise.transcript}
    others = {one.name for one in course.topic(topic.name).exercises} - {one.name for one in topic.exercises}
    for docstring in docstrings_of(parse(course.solution_file(topic.name))):
        if docstring.name.partition(".")[0] not in others:
            desk.begin(docstring.name)
            found = _tried(desk, topic.name, docstring, docstring.name in transcripts)
            if found is not None and not desk.is_final:
                desk.use_fresh_process()
                found = _tried(desk, topic.name, docstring, docstring.name in transcripts)
            desk.finish(is_right=found is None)
            if found is not None:
                yield found


def untrue_in_lesson(desk: TopicDesk, lesson: Lesson) -> Iterator[Untrue]:
    """The first example of a lesson that is not true: they run from top to bottom, and know no name of the solution."""
    text = Docstring(LESSON, lesson.examples, 1)
    desk.begin(text.name)
    desk.use_fresh_process()  # nothing that the solution has done to torch makes an example true
    found = _tried(desk, "", text, has_transcript=False)
    desk.finish(is_right=found is None)
    if found is not None:
        yield found


def _tried(desk: TopicDesk, topic: str, docstring: Docstring, has_transcript: bool) -> Untrue | None:
    try:
        found = _first_untrue_statement(desk, topic, docstring)
        return _untrue_transcript(desk, docstring) if found is None and has_transcript else found
    except pytest.skip.Exception:  # no ranks here
        return None
    except ValueError as error:  # of doctest: the indentation
        return Untrue(docstring.line, f"the examples of `{docstring.name}` cannot be read: {error}")
    except (SubmissionCrashed, SubmissionTimeout, SubmissionRaised) as error:
        return Untrue(docstring.line, f"the examples of `{docstring.name}` cannot be run: {error}")


def _first_untrue_statement(desk: TopicDesk, topic: str, docstring: Docstring) -> Untrue | None:
    statements = docstring.statements()
    if not statements:
        return None
    sources = [statement.source for statement in statements]
    outcomes = desk.channel().request("call", (run, topic, sources, docstring.gpus), {}, None)
    for statement, (printed, raised) in zip(statements, outcomes, strict=True):
        rules = sum(rule for rule, is_on in statement.options.items() if is_on)
        wanted = statement.want if statement.exc_msg is None else statement.exc_msg
        has_ended_so = (raised is None) == (statement.exc_msg is None)
        if not has_ended_so or not CHECKER.check_output(wanted, raised or printed, rules):
            line = docstring.line + statement.lineno
            return Untrue(line, _message(docstring.name, statement.source, raised or printed, wanted))
    return None


def _untrue_transcript(desk: TopicDesk, docstring: Docstring) -> Untrue | None:
    """The first command whose output is another one, or that cannot be run as the manifest says."""
    lines = docstring.text.splitlines()
    for number, command in enumerate(lines):
        indent = len(command) - len(command.lstrip())
        if not command.startswith("$ ", indent):
            continue
        below = itertools.takewhile(str.strip, (line[indent:] for line in lines[number + 1 :]))
        wanted = "".join(f"{line}\n" for line in below)
        _, *words = shlex.split(command)
        variables = list(itertools.takewhile(_VARIABLE.fullmatch, words))
        found = _COMMAND.fullmatch(" ".join(words[len(variables) : -1]))
        if found is None:
            message = f"`{docstring.name}`: `{command.strip()}` is not `[NAME=VALUE] torchrun --nproc-per-node=N FILE`"
            return Untrue(docstring.line + number, message)
        env = dict(word.split("=", 1) for word in variables)
        outcome = launch.launch(desk.channel(), words[-1], int(found[1]), ranks.LAUNCH_SECONDS, env)
        out = "".join(out for out, _ in outcome.printed)
        printed = out if outcome.exit_code == 0 else world.shown(outcome.printed)
        if printed != wanted:
            return Untrue(docstring.line + number, _message(docstring.name, command.strip(), printed, wanted))
    return None


def _message(name: str, source: str, came: str, wanted: str) -> str:
    source, came, wanted = (" | ".join(text.rstrip().splitlines()) or "nothing" for text in (source, came, wanted))
    written = "it" if name == LESSON else "the docstring"
    return f"`{name}`: the example `{source}` gives `{came}`, but {written} says `{wanted}`"
