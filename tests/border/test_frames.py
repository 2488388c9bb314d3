"""Frames: whole however they are cut, refused when too long or cut short, with their own descriptors."""

from __future__ import annotations

import io
import os
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.border import frames
from grader.border.frames import BrokenFrame, FrameReader


@given(payloads=st.lists(st.binary(max_size=50), max_size=5), sizes=st.lists(st.integers(1, 9), min_size=1))
def test_frames_come_out_whole_however_they_are_cut(payloads: list[bytes], sizes: list[int]) -> None:
    stream, reader, found, index = b"".join(map(frames.frame, payloads)), FrameReader(), [], 0
    while stream:
        size = sizes[index % len(sizes)]
        reader.feed(stream[:size])
        stream, index = stream[size:], index + 1
        while (payload := reader.next()) is not None:
            found.append(payload)
    assert found == payloads


@pytest.mark.parametrize("limit", [10, frames.MAX_PAYLOAD])
def test_an_announced_length_over_the_limit_is_refused_before_it_is_waited_for(limit: int) -> None:
    reader = FrameReader(limit)
    reader.feed((limit + 1).to_bytes(4, "little"))
    with pytest.raises(BrokenFrame):
        reader.next()


def test_frames_travel_over_a_socket() -> None:
    one, other = socket.socketpair()
    with one, other:
        frames.send(one, b"a" * 1000)
        frames.send(one, b"")
        one.shutdown(socket.SHUT_WR)
        assert frames.receive(other.recv) == b"a" * 1000
        assert frames.receive(other.recv) == b""
        assert frames.receive(other.recv) is None


def test_frames_travel_through_a_file() -> None:
    file = io.BytesIO()
    frames.write(file, b"a" * 1000)
    frames.write(file, b"b")
    file.seek(0)
    assert [frames.receive(file.read), frames.receive(file.read), frames.receive(file.read)] == [
        b"a" * 1000,
        b"b",
        None,
    ]


@pytest.mark.parametrize("cut", [1, 4, 9])
def test_a_stream_that_ends_inside_a_frame_is_broken(cut: int) -> None:
    with pytest.raises(BrokenFrame):
        frames.receive(io.BytesIO(frames.frame(b"payload")[:cut]).read)


def test_descriptors_come_with_the_frame_that_they_were_sent_with() -> None:
    one, other = socket.socketpair()
    reader, writer = os.pipe()
    with one, other, open(reader, "rb") as pipe:
        frames.send(one, b"first")
        frames.send(one, b"second", [writer])
        os.close(writer)
        one.shutdown(socket.SHUT_WR)
        assert frames.receive_with_descriptors(other) == (b"first", [])
        payload, (descriptor,) = frames.receive_with_descriptors(other)
        assert payload == b"second"
        os.write(descriptor, b"it is the pipe")
        os.close(descriptor)
        assert pipe.read() == b"it is the pipe"
        assert frames.receive_with_descriptors(other) == (None, [])
