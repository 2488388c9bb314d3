"""The objects of a submission that one check has met: each has one proxy, whose class has the methods of its own."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from types import MethodType
from typing import Any

from grader.border.proxies import FarObject
from grader.suites.proxies import Class, Handle, class_of_handles, class_of_library, make_handle
from grader.testkit.far.operations import EVERY, names_of, special_of


class Handles:
    """Those of one check."""

    def __init__(self) -> None:
        self._known: dict[int, Handle | type] = {}
        self._kinds: dict[int, Class] = {}
        self._classes: dict[tuple[str, ...], Class] = {}
        self._of_methods = self._class("method", names_of(MethodType), special_of(MethodType))
        self._unread: list[weakref.ref[Handle]] = []

    def proxy(self, remote: Any, kind: int, facts: Sequence[Any] | None, own_name: str = "") -> Any:
        """The proxy of an object; a class that both sides have, if calling it does no harm, is itself.

        Args:
            kind: the number of its class.
            facts: if they are new, the names of its classes, the most special first, its special methods, its methods,
                and its attributes that code sets.
            own_name: of a class.
        """
        self._add(remote, kind, facts)
        if not isinstance(remote, FarObject):  # a list or dict of a class of its own
            return remote
        if remote._number not in self._known:
            here = class_of_library(own_name)
            self._known[remote._number] = here or make_handle(self._kinds[kind], remote)
        return self._known[remote._number]

    def _add(self, remote: Any, kind: int, facts: Sequence[Any] | None) -> None:
        if facts is not None:
            name = remote._kind if isinstance(remote, FarObject) else type(remote).__name__
            classes, *others = facts
            self._kinds[kind] = self._class(name, [str(one) for one in classes], *map(str, others))

    def _class(self, name: str, classes: Sequence[str], special: str, methods: str = "", guarded: str = EVERY) -> Class:
        key = (*classes, special, methods, guarded)  # of two classes of one name each has its own
        if (found := self._classes.get(key)) is None:
            found = self._classes[key] = class_of_handles(name, classes, special, methods, guarded)
        return found

    def note_class(self, kind: type, found: Any) -> None:
        """From now on, what was found over there is this class of the test."""
        if isinstance(found, Handle):
            self._known[found._number] = kind

    # ---------------------------------------------------------------- methods that are not read yet

    def method(self, owner: Handle, name: str) -> Handle:
        """A method of an object, which is found at the next operation unless this is its call."""
        made = make_handle(self._of_methods, FarObject(owner._channel, -1, "method"), late=(owner, name))
        self._unread.append(weakref.ref(made))
        return made

    def to_find(self, called: object) -> list[Any]:
        """The methods to find before an operation: those that the test still has, but for the one that it calls."""
        if not self._unread:
            return []
        alive = [method for one in self._unread if (method := one()) is not None and type(method._late) is tuple]
        self._unread = [weakref.ref(one) for one in alive if one is called]
        return [one for one in alive if one is not called]

    def unread(self, target: object) -> tuple[Handle, str] | None:
        """Of a method that is not even found its object and its name; None for anything else."""
        late = target._late if issubclass(type(target), Handle) else None  # type: ignore[attr-defined]
        return late if type(late) is tuple else None

    def note_read(self, method: Handle, found: Any) -> None:
        """From now on, a method is what was read."""
        if isinstance(found, Handle):
            object.__setattr__(method, "_number", found._number)
            self._known[found._number] = method
        else:
            object.__setattr__(method, "_plain", (found,))
        object.__setattr__(method, "_late", None)
