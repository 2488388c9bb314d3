"""Which processes run submitted code here: forked ones in a sandbox, or spawned ones. Imports nothing slow."""

import os
from typing import Final, Literal, NamedTuple

from grader.errors import UserError
from grader.sandbox.process_tree import why_not_forked

Engine = Literal["forked", "portable"]

VARIABLE: Final = "TORCHKATA_ENGINE"
"""An environment variable that chooses: for tests, and to compare the two."""


class Choice(NamedTuple):
    """An engine, and in a few words why it was chosen."""

    engine: Engine
    why: str


def choose() -> Choice:
    """The engine for this system.

    Raises:
        UserError: `VARIABLE` asks for an engine that there is not, or that does not work here.
    """
    lacking = why_not_forked()
    asked = os.environ.get(VARIABLE)
    if asked == "portable":
        return Choice("portable", f"{VARIABLE} asks for it")
    if asked == "forked" and lacking:
        raise UserError(f"{VARIABLE}=forked does not work here: {lacking}", fix=f"leave {VARIABLE} out")
    if asked not in (None, "", "forked"):
        raise UserError(f"{VARIABLE}={asked}: no such engine", fix="use forked or portable")
    return Choice("portable", lacking) if lacking else Choice("forked", "this system offers all that it needs")
