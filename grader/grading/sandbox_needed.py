"""Whether submissions of others may be graded on this system: only in a sandbox, unless somebody says otherwise."""

from grader.errors import UserError
from grader.student import engine


def require_sandbox(count: int, *, no_sandbox: bool) -> bool:
    """Whether there is a sandbox here.

    Args:
        count: how many submissions are to be graded; one alone may be one's own.
        no_sandbox: whether several may be graded without.

    Raises:
        UserError: there is none, and grading the work of others without one was not allowed.
    """
    if engine.choose().engine == "forked":
        return True
    if count > 1 and not no_sandbox:
        raise UserError(
            "there is no sandbox on this system: submissions could read and change your files",
            fix="grade on Linux; or, if you would run all of this code yourself, add --no-sandbox",
        )
    return False
