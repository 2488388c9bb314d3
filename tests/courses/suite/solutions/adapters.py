import collections
import datetime
import json
import logging
import os
import random
import sys
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

GREETING = "hello"
log = logging.getLogger("adapters")


class Layer(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(o, i))

    def forward(self, x):
        return x @ self.weight.T


class SGD(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    def step(self):
        for g in self.param_groups:
            for p in g["params"]:
                p.data -= g["lr"] * p.grad


def get_optimizer():
    return SGD


def relu_(x):
    x[x < 0] = 0
    return x


def scale(a, n):
    a *= n


def run_through(model, x):
    return model(x)


def train(n, log):
    for i in range(n):
        if log(i, i / 2):
            return i + 1
    return n


def softmax_(x, dim):
    return torch.exp(x) / torch.exp(x).sum(dim)


def vocab():
    return [1.5, 2.5]


def count_words(path):
    return len(Path(path).read_text().split())


def dump(data, path):
    Path(path).write_text(json.dumps(data))


def save_to(f):
    f.write(b"x")


def greet(name):
    print("hello", name)


def greeting():
    return GREETING


def words(text):
    yield from text.split()


def warn_about(x):
    log.warning("careful: %s", x)


class Out(NamedTuple):
    loss: torch.Tensor
    n: int


def pair(w):
    return Out(w.sum(), 2)


def top(x):
    return x.max(0)


def draw():
    return torch.randn(3).tolist(), np.random.randn(), random.gauss(0, 1)


def seed(n):
    torch.manual_seed(n)
    np.random.seed(n)
    random.seed(n)


def save(name):
    with open(name, "w") as file:
        file.write(os.environ["SUITE_HOME"])


def ask():
    return input()


def pause(seconds):
    time.sleep(seconds)


def warn():
    warnings.warn("old", DeprecationWarning, stacklevel=2)


def bound(weight):
    weight /= 2


def divide(a, b):
    return a / b


def parse(text):
    return json.loads(text)


def total(values):
    return sum(values)


def count(text):
    return collections.Counter(text)


def swap(x):
    return x.T.shape


def drawn(generator):
    return torch.rand(2, generator=generator).tolist()


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad


def minimize(function, x):
    x = x.clone().requires_grad_()
    for _ in range(30):
        x.grad = None
        function(x).backward()
        x.data -= 0.2 * x.grad
    return x.detach()


def fit(model, loader, optimizer, loss):
    losses = []
    for _ in range(5):
        for x, y in loader:
            optimizer.zero_grad()
            found = loss(model(x), y)
            found.backward()
            optimizer.step()
            losses.append(found.item())
    optimizer.param_groups[0]["lr"] = 0.05
    return losses


def save_tensor(x, path):
    if path.suffix == ".png":
        path.write_bytes(b"\x89PNG\0" * 300_000)
    else:
        torch.save({"x": x, "step": 1}, path)


class Held:
    def __init__(self, size=1):
        self.groups, self.items, self.size, self.added = [{"lr": 1}], [], size, 0

    def sum(self):
        return self.groups[0]["lr"] + sum(self.items)

    def __len__(self):
        return self.size

    def __enter__(self):
        self.is_open = True
        return self

    def __exit__(self, kind, error, trace):
        return kind is KeyError

    def add(self):
        self.added += 1


class Diary:
    def __init__(self, path):
        self.path = path

    def write(self, text):
        self.path.write_text(text)

    def read(self):
        return self.path.read_text()

    def shelve(self, name):
        self.path.unlink()
        (self.path.parent / name).mkdir()


def command(args):
    try:
        count = len(Path(args[1]).read_text().split())
    except OSError:
        print("no file", file=sys.stderr)
        return -1
    print(count)
    return count


def total_of(counting, function):
    return counting.total() + function(0) + counting["a"] - 1, function.words, function.__name__


def later(when):
    assert when.utcoffset() == datetime.timedelta(hours=2)
    return when + datetime.timedelta(1)


def found(pattern, text):
    return pattern.search(text).group()


KNOWN = set()


def is_known(name):
    return name in KNOWN


class Refused(ValueError):
    def __init__(self, number):
        super().__init__(f"no {number}")
        self._number = number

    @property
    def double(self):
        return 2 * self._number

    def times(self, n):
        return n * self._number


def refuse(number):
    raise Refused(number)
