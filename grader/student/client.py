"""Orders to the warm host, from the judge. Holds no submission's state and never waits for submitted code."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from grader.border import frames, wire
from grader.border.bounds import WireError
from grader.border.frames import BrokenFrame
from grader.errors import UserError
from grader.kit import Kit
from grader.machine import Devices
from grader.sandbox.limits import Limits
from grader.student import orders

if TYPE_CHECKING:
    from grader.student.leader_client import LeaderClient


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
        place = (kit.name, str(kit.folder)) if kit else None
        self._send(orders.Prepare(self.limits, [*hidden], [*preload], devices, place))
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
            match self._receive():
                case orders.Refused(reason):
                    raise UserError(f"course.toml: {reason}")
                case orders.Layers(names):
                    self._layers = names
                case answer:
                    raise HostGone(f"an unexpected answer: {answer}")

    def open_topic(
        self, topic: str, files: Mapping[str, bytes], bindings: Sequence[tuple[str, str]] | None
    ) -> LeaderClient:
        """A new leader for one topic of a submission."""
        from grader.student.leader_client import LeaderClient  # it needs this module

        return LeaderClient(self, topic, files, bindings)

    def spawn(self, control: socket.socket) -> tuple[int, int]:
        """Starts a topic's leader, which gets one end of a socket.

        Returns:
            Its number, for the other orders, and its process id.

        Raises:
            HostGone: no process could be started.
        """
        self._count += 1
        match self._ask(orders.Spawn(self._count), [control.fileno()]):
            case orders.Spawned(process):
                return self._count, process
            case answer:
                raise HostGone(f"cannot start a student process: {answer}")

    def end(self, topic: int) -> None:
        """Ends a topic's leader and all that it started."""
        self._ask(orders.End(topic))

    def sweep(self, topic: int) -> None:
        """Ends every process below a topic's leader."""
        self._ask(orders.Sweep(topic))

    def dump(self, topic: int, process: int) -> None:
        """Makes a process below a topic's leader write where it is."""
        self._ask(orders.Dump(topic, process))

    def ran_out_of_memory(self, topic: int) -> bool:
        """Whether the host ended a process of the topic for its memory, since last asked."""
        return self._ask(orders.WhyEnded(topic)) == orders.Why(True)

    def _ask(self, order: orders.Order, descriptors: Sequence[int] = ()) -> orders.Answer:
        """Raises `HostGone` when no answer comes."""
        self.finish_preparing()
        self._send(order, descriptors)
        return self._receive()

    def _send(self, order: orders.Order, descriptors: Sequence[int] = ()) -> None:
        try:
            frames.send_with_descriptors(self._control, wire.pack(order), descriptors)
        except OSError as error:
            raise HostGone(str(error)) from error

    def _receive(self) -> orders.Answer:
        try:
            payload = frames.receive(self._control.recv)
            if payload is None:
                raise HostGone("the warm host has ended")
            answer: orders.Answer = wire.unpack(payload, orders.Answer)
        except (OSError, BrokenFrame, WireError) as error:
            raise HostGone(str(error)) from error
        return answer

    def close(self) -> None:
        """Ends the host and with it every student process."""
        self._control.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.process, 0)
