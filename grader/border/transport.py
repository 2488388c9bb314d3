"""The in-process transport, and the one exception that transports share.

In-process, submitted code runs beside the check: for a debugger, a notebook, a plain ``pytest``. It isolates
nothing and must never be used to grade.
"""

from __future__ import annotations

from grader.border.service import Service


class PlanLeft(BaseException):
    """A check made another call than the plan foresaw; it must be run again without one."""


class LocalTransport:
    """Answers calls from a service in this process; a `Transport`."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def call(self, request: bytes) -> bytes:
        return self._service.answer(request)

    def take_ahead(self) -> list[bytes]:
        """Nothing is sent ahead in-process."""
        return []

    def drop_ahead(self) -> None:
        """Nothing is sent ahead in-process."""
