"""Messages between worker and main process: whole ones, also when a signal interrupts the sending."""

from __future__ import annotations

import os
import signal
import threading

from grader.grading.protocol import Alive, Began, FromWorker, Sender, receive
from grader.judge.listener import Place

MESSAGES = 20_000


def test_a_sign_of_life_in_the_middle_of_a_message_breaks_nothing() -> None:
    reader, writer = os.pipe()
    received: list[object] = []

    def keep() -> None:
        with os.fdopen(reader, "rb") as stream:
            while (message := receive(stream, FromWorker)) is not None:
                received.append(message)

    thread = threading.Thread(target=keep)
    thread.start()
    with os.fdopen(writer, "wb") as stream:
        sender = Sender(stream)
        previous = signal.signal(signal.SIGALRM, lambda number, frame: sender.send_alive())
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
        try:
            for number in range(MESSAGES):
                sender.send(Began(Place("topic", "topic.exercise", str(number))))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)
    thread.join()
    began = [message.place.check for message in received if isinstance(message, Began)]
    assert began == [str(number) for number in range(MESSAGES)]
    assert any(isinstance(message, Alive) for message in received)
