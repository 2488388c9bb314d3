"""Makes messages that no honest student process sends: real replies with one thing or more damaged, and junk."""

from __future__ import annotations

import math
import random
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from torch import nn

from grader.border import wire
from grader.border.messages import (
    Ended,
    Forked,
    Imported,
    Missing,
    Raised,
    Returned,
    RunFailed,
    SentLine,
    Start,
    Tidied,
    TooLarge,
)

PARTS: list[Any] = [
    None, True, False, 0, 1, -1, 2, 7, 255, 1 << 31, (1 << 63) - 1, -(1 << 63), (1 << 64) - 1, 0.0, -0.0, 1e308,
    math.nan, math.inf, "", "T", "l", "t", "d", "i", "c", "y", "v", "h", "f", "r", "z", "ok", "raise", "report",
    "n", "s", "p",
    "missing", "large", "cpu", "cuda", "cuda:05", "cuda:٣", "cuda:0", "cuda:99", "cuda:100", "cuda:-1", "mps:0",
    "meta", "hpu:0", "privateuseone:1", "cuda:0\n", "cuda:99999999999", "float32", "bool", "uint64", "complex128",
    "bfloat16", "quint8", "object", "_9", "0x-1", " 7 ", "f" * 1099, "ExceptionGroup", "UnicodeDecodeError", "OSError",
    "SystemExit", "MemoryError", "StopIteration", "NotSimulated", "__import__", "\x1b[31m", "x" * 3000, b"", b"\2",
    b"\0" * 8, b"\xff" * 16, [], {}, {1: 2}, {"a": []}, [[]], ["T"], ["l"], ["d", 1, 2],
    ["d", math.nan, 1, math.nan, 2], ["d", ["l"], 1], ["d", ["t", ["h", 0, "x"]], 1], ["d", 1, 1, True, 2],
    ["h", -1, "x"], ["h", 1 << 62, "\n" * 500], ["v", "cuda:05"], ["y", "float33"], ["i", "-0x_1"],
    ["c", math.nan, 1.0],
    ["T", "float32", [1 << 20, 1], [0, 0], b"\0" * 4, False, 0, None],
    ["T", "uint8", [16 << 20], [0], b"\0", False, 0, None],
    ["n", "float64", [2], None, b"\xff" * 16], ["n", "object", [1], None, b"\0" * 8], ["n", "bool", [1], None, b"\2"],
    ["s", "float64", b"\xff" * 8], ["s", "bool", b"\2"], ["p", "../../etc/passwd"], ["p", "a\0b"], ["p", "x" * 9000],
    ["T", "bool", [0, 1 << 39], None, b"", False, 1, "cuda:3"],
    ["T", "float16", [2, 2], [1, 1], b"\0" * 6, True, 1, "mps:0"],
]  # fmt: skip
"""What is put in the place of a part of a message."""


def real_messages() -> list[bytes]:
    """What honest student processes send, of every kind."""
    values: list[Any] = [
        None, 3, 1 << 200, 2.5, 1 + 2j, "text", b"bytes", torch.float32, torch.device("cuda", 1), [1, (2, "x")],
        {"a": 1, 2: torch.ones(2, 3)}, torch.ones(4, 2).T, torch.ones(1).expand(3), torch.tensor([True, False]),
        nn.Parameter(torch.ones(2)), torch.zeros(0, 3), OrderedDict(a=[torch.tensor(1)]), torch.Size([1, 2]),
        np.ones((2, 3)), np.arange(4, dtype=np.uint16)[::2], np.float64(0.5), {np.int32(1): np.bool_(True)},
        Path("a/b"),
        (1.0, ("0",), None, (), 3, ("mul",), True, False, False), [torch.zeros(3, dtype=torch.uint16)] * 2,
    ]  # fmt: skip
    trees = [Returned(wire.encode(value, lambda other: ["h", 0, "Thing"])) for value in values]
    line = SentLine("work.py", 3, "f", "return 1 / 0")
    others = [
        Returned(["h", 3, "Model"]),
        Raised("ZeroDivisionError", True, "division by zero", (line, line)),
        Raised("Own", False, "text", ()),
        Missing("gram"),
        TooLarge("a lot"),
        RunFailed("stuck"),
        Imported(),
        Tidied(),
        Forked(41),
        Ended(-9),
        Start(2, bindings=[("gram", "other")]),
    ]
    return [wire.pack(message) for message in [*trees, *others]]


def damaged(messages: list[bytes], count: int, seed: int) -> Iterator[bytes]:
    """So many messages, the same for the same seed: a third junk bytes or damaged bytes, the others damaged trees."""
    chance = random.Random(seed)
    for number in range(count):
        data = chance.choice(messages)
        if number % 12 == 0:
            yield chance.randbytes(chance.randrange(60))
        elif number % 3 == 0:
            yield _damaged_bytes(data, messages, chance)
        else:
            tree = msgspec.msgpack.decode(data)
            for _ in range(chance.choice((1, 1, 1, 2, 4))):
                inside = len(tree) == 2 and chance.random() < 0.8  # else most are refused for their outermost list
                tree = [tree[0], _damaged_tree(tree[1], chance)] if inside else _damaged_tree(tree, chance)
                tree = tree if isinstance(tree, list) else ["ok", tree]
            yield msgspec.msgpack.encode(tree)


def _damaged_bytes(data: bytes, messages: list[bytes], chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    other = chance.choice(messages)
    start = chance.randrange(len(other) + 1)
    match chance.randrange(5):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + chance.randbytes(1) + data[at + 1 :]
        case 2:
            return data[:at] + other[start : start + chance.randrange(9)] + data[at:]
        case 3:
            return data[:at] + data[at + chance.randrange(1, 9) :]
    return data[:at] + other[start:]


def _damaged_tree(tree: Any, chance: random.Random) -> Any:
    """The tree with one part, chosen at random, replaced, repeated or left out."""
    if isinstance(tree, list) and tree and chance.random() < 0.85:
        at = chance.randrange(len(tree))
        match chance.randrange(8):
            case 0:
                return [*tree[:at], *tree[at + 1 :]]
            case 1:
                return [*tree[: at + 1], *tree[at:]]
            case _:
                return [*tree[:at], _damaged_tree(tree[at], chance), *tree[at + 1 :]]
    return chance.choice(PARTS)
