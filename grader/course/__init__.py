"""A course as files: manifest, sources, stubs, handouts. Never imports torch or pytest, never runs a course's code."""

from grader.course.model import Course, checks_of, content_hash, misconceptions_of, pictured, pictured_at_end
from grader.course.source import CheckInfo, Misconception
from grader.course.tables import Exercise, Question, RubricItem, Topic
from grader.errors import CourseError, UnknownName, UserError

__all__ = [
    "CheckInfo", "Course", "CourseError", "Exercise", "Misconception", "Question", "RubricItem", "Topic", "UnknownName",
    "UserError", "checks_of", "content_hash", "misconceptions_of", "pictured", "pictured_at_end",
]  # fmt: skip
