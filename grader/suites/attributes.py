"""Attributes of the submission's objects that cost no exchange of their own: some come along with another result, and
some are set together with the next operation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from grader.testkit.far.operations import EVERY

if TYPE_CHECKING:
    from grader.suites.proxies import Handle

_MOST: Final = 100
_KINDS: Final = frozenset({bool, int, float, complex, type(None)})


class Attributes:
    """Those of one check.

    Attributes:
        waiting: operations to do before the next one: a number for the result, or 0, the name and the operands. They
            run no code of the submission.
    """

    def __init__(self) -> None:
        self.waiting: list[tuple[int, str, tuple[Any, ...]]] = []
        self._owner: object = None
        self._known: dict[str, Any] = {}
        self._is_quiet = False

    def know(self, owner: object, known: dict[str, Any] | None) -> None:
        """Notes the attributes of an object that came along; until the next exchange, as its code may change them.

        Args:
            known: None if nobody can say that no other thread runs over there.
        """
        self._owner, self._known, self._is_quiet = owner, known or {}, known is not None

    def known_of(self, owner: object) -> dict[str, Any]:
        """Those of an object. Each is to be taken out when it is read: a signal may change it meanwhile."""
        return self._known if owner is self._owner else {}

    def set_later(self, owner: Handle, name: str, value: object) -> bool:
        """Sets an attribute before the next operation, if no code over there may refuse it, or wait for it."""
        kind = type(owner)
        if type(value) not in _KINDS or name[:2] == "__" or name in kind._methods or {EVERY, name} & kind._guarded:
            return False
        if not self._is_quiet or len(self.waiting) == _MOST:
            return False
        self.waiting.append((0, "setattr", (owner, name, value)))
        self.know(owner, {**self.known_of(owner), name: value})
        return True
