import collections.abc
import contextlib
import inspect
import itertools
from typing import NamedTuple
from urllib.parse import urlsplit

import torch
from torch.utils.data import Dataset, IterableDataset, get_worker_info


class Point(NamedTuple):
    x: float
    y: float = 0.0

    def norm(self):
        return (self.x**2 + self.y**2) ** 0.5

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)


def between(a, b):
    return Point(a.x - b.x, a.y - b.y).norm()


def host(address):
    return urlsplit(address)


class Numbers(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, at):
        return torch.tensor(at * 2)


class Shards(IterableDataset):
    first = 0

    def __init__(self, size):
        self.size = size

    def __iter__(self):
        info = get_worker_info()
        yield from range(self.first + info.id, self.first + self.size, info.num_workers)


def begin_at_one(place):
    get_worker_info().dataset.first = 1


def cube(x):
    return x**3


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.inner(x) * 2


class Bag:
    def __init__(self):
        self.items = []

    def push(self, value):
        self.items.append(value)

    def pop(self):
        self.items.sort()
        return self.items.pop()


def echo():
    while (line := input("> ")) != "quit":
        print(line.upper())


class Host:
    def __init__(self, name):
        self.name = name

    def is_on(self):
        return self.name == "a"


class Doubled(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x) * 2


def adapt(model, note):
    """Doubles a layer, and notes the shapes of results."""
    model[0] = Doubled(model[0])
    model[1].register_forward_hook(lambda module, given, got: note(tuple(got.shape)))
    model.rank = 1
    model.eval()


@contextlib.contextmanager
def doubles():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


class Halving(torch.optim.lr_scheduler.LRScheduler):
    def get_lr(self):
        return [one * 0.5**self.last_epoch for one in self.base_lrs]


class Late(Exception):
    def __init__(self, text, days=0):
        super().__init__(text)
        self.days = days


def attempt(function, kinds):
    try:
        return function()
    except kinds as error:
        return str(error)


@contextlib.contextmanager
def ignoring(kind):
    with contextlib.suppress(kind):
        yield


def take(count, values):
    return list(itertools.islice(values, count))


class Kept:
    def __init__(self, functions):
        self.functions = list(functions)

    def call(self):
        return [function() for function in self.functions]


def first_of(value, key):
    return value, key is ...


def parts(text):
    return {frozenset(text[:end]) for end in range(1, len(text) + 1)}


def extend(nested):
    nested["inner"].append(2)


class Lower(collections.abc.Mapping):
    def __init__(self, **entries):
        self._entries = {name.lower(): one for name, one in entries.items()}

    def __getitem__(self, name):
        return self._entries[name.lower()]

    def __iter__(self):
        return iter(self._entries)

    def __len__(self):
        return len(self._entries)


def popped(bag):
    return bag.pop()


def describe(function):
    signature = inspect.signature(function)
    given = ", ".join(f"{one.name}: {one.annotation.__name__}" for one in signature.parameters.values())
    return f"{function.__name__}({given}) -> {signature.return_annotation.__name__}"


def advance(schedule, steps):
    for _ in range(steps):
        schedule.optimizer.step()
        schedule.step()


def shifted(normal, by):
    return torch.distributions.Normal(normal.mean + by, normal.stddev)


class Listener:
    def begin(self):
        pass

    def hear(self, number):
        pass


def tell(listener, count, after=None):
    listener.begin()
    for number in range(count):
        listener.hear(number)
        if after is not None:
            after(number)
    return count


def made(kind, *args):
    return kind(*args)


def quietly(function):
    with torch.no_grad():
        return function()


class Pipe:
    def __init__(self, steps):
        self.steps = steps

    def run(self, x):
        for one in self.steps:
            x = one.apply(x)
        return x
