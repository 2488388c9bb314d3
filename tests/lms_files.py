"""The files of two LMS, filled as ``grader export`` fills them."""

import functools
from typing import Final

from grader.exports.lms import fill

fill_canvas: Final = functools.partial(fill, "canvas")
fill_moodle: Final = functools.partial(fill, "moodle")
