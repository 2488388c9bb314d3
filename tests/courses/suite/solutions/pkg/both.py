import abc
import contextlib
import contextvars
import re
from typing import ClassVar

import numpy as np
import torch
from torch import nn

current = contextvars.ContextVar("current", default="nobody")


@contextlib.contextmanager
def acting_as(name):
    token = current.set(name)
    try:
        yield
    finally:
        current.reset(token)


def lengths(tokenizer, texts):
    return [len(tokenizer(one)["ids"]) + tokenizer.pad for one in texts]


class Place:
    example = "here"

    def of(self, place):
        self.place = place
        return self


class Plugin:
    known: ClassVar[list[type]] = []

    def __init_subclass__(cls, tag):
        Plugin.known.append(cls)
        cls.tag = tag


class Trainer:
    def __init__(self, history, *callbacks):
        self.history, self.callbacks, self.state = history, callbacks, {"rate": 1}

    def fit(self, steps):
        for _ in range(steps):
            for one in self.callbacks:
                one(self.state)
            self.history.append(self.state["rate"])


@contextlib.contextmanager
def outputs(model):
    found = {}
    hook = model.register_forward_hook(lambda layer, given, result: found.update(mean=result.mean().item()))
    yield found
    hook.remove()


def counter():
    seen = []
    return seen, seen.append


def descend(loss, step):
    for _ in range(3):
        loss().backward()
        step()


def save(prefix, text):
    with open(f"{prefix}.model", "w") as file:
        file.write(text)


def load(path):
    with open(path) as file:
        return file.read()


class Policy(abc.ABC):
    @abc.abstractmethod
    def act(self, x):
        pass


class Linear(Policy, nn.Module):
    def act(self, x):
        return x


def tell(path, is_gone=False):
    if is_gone:
        raise FileNotFoundError(f"no {path}: gone")
    print("saved", path, sep="\t")
    return f"to '{path}', and {path}"


LIMIT = 3
WORD = re.compile(r"\w+")
WEIGHTS, BIASES = torch.ones(2), np.zeros(2)
LAYER = Linear()
