"""Orders to the warm host, from the judge. Holds no submission's state and never waits for submitted code."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Sequence

from grader.border.wire import WireError
from grader.course.kit import Kit
from grader.errors import UserError
from grader.machine import Devices
from grader.sandbox.limits import Limits
from grader.student.process import receive_with_fds, send_with_fds


class HostGone(BaseException):
    """The warm host does not answer: the grader's fault. Not an `Exception`, so that no check blames a submission."""


class HostClient:
    """Orders to the warm host, one question and one answer at a time."""

    def __init__(self, control: socket.socket, process: int, limits: Limits) -> None:
        self._control = control
        self.process = process
        self.limits = limits
        self._layers: tuple[str, ...] = ()
        self._preparing = False
        self._count = 0

    def prepare(
        self,
        hidden: Sequence[str],
        preload: Sequence[str],
        devices: Devices = "simulated",
        kit: Kit | None = None,
    ) -> None:
        """Sets limits, hides folders and loads modules and the course's kit, before the first submission.

        Does not wait until it is done.
        """
        import msgspec

        self._tell(
            [
                "prepare",
                msgspec.to_builtins(self.limits),
                [*hidden],
                [*preload],
                devices,
                [kit.name, str(kit.folder)] if kit else [],
            ]
        )
        self._preparing = True

    @property
    def layers(self) -> tuple[str, ...]:
        """The sandbox's active layers."""
        self.finish_preparing()
        return self._layers

    def finish_preparing(self) -> None:
        """Waits until the host is ready.

        Raises:
            UserError: when a module of ``preload`` or the kit cannot be loaded.
        """
        if self._preparing:
            self._preparing = False
            answer = self._answer()
            if answer[0] == "refused":
                raise UserError(f"course.toml: {answer[1]}")
            self._layers = tuple(str(layer) for layer in answer[1:])

    def ask(self, order: list[object], fds: Sequence[int] = ()) -> list[object]:
        """Raises `HostGone` when no answer comes."""
        self.finish_preparing()
        self._tell(order, fds)
        return self._answer()

    def _tell(self, order: list[object], fds: Sequence[int] = ()) -> None:
        try:
            send_with_fds(self._control, order, list(fds))
        except OSError as error:
            raise HostGone(str(error)) from error

    def _answer(self) -> list[object]:
        try:
            answer, _ = receive_with_fds(self._control)
        except (OSError, WireError) as error:
            raise HostGone(str(error)) from error
        if not isinstance(answer, list):
            raise HostGone("the warm host has ended")
        return answer

    def next_number(self) -> int:
        """A number for a new topic process."""
        self._count += 1
        return self._count

    def settle(self) -> None:
        """Takes 0.3 s to make later forks cheaper: worth it before the second submission, not before the only one."""
        self.ask(["settle"])

    def close(self) -> None:
        """Ends the host and with it every student process."""
        self._control.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.process, 0)
