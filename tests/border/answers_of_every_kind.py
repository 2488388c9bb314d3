"""A submission whose answers are of every kind that may cross the border, or may not."""

import torch
from torch import nn

class Number(float):
    def __eq__(self, other):
        return True

class Special(torch.Tensor):
    pass

class MyError(ValueError):
    pass

class Stack:
    size = 3
    def __init__(self, *items): self.items = list(items)
    def __len__(self): return len(self.items)
    def __getitem__(self, index): return self.items[index]
    def __iter__(self): return iter(self.items)
    def __call__(self, x): return x + self.size
    def push(self, item):
        self.items.append(item)
        return self

def echo(*args, **kwargs): return args, kwargs
def same(x): return x
def half(): return Number(0.5)
def special(): return torch.ones(2).as_subclass(Special)
def model(): return nn.Linear(2, 1)
def add_(x, y=None, eps=0):
    x.add_(1)
    return x
def hidden_softmax(x):
    with torch._C.DisableTorchFunction():
        return torch.softmax(x, 0)
def cube(x, w): return x**3 * w
def with_square(x): return x, x * x
def no_graph(x): return x.detach()
def draws(): return torch.rand(1)
def raises(kind):
    raise {"value": ValueError("too few"), "own": MyError("mine"), "stop": StopIteration("over"), "exit": SystemExit(3),
           "interrupt": KeyboardInterrupt(), "memory": MemoryError(), "key": KeyError("k"),
           "unicode": UnicodeDecodeError("utf-8", b"x", 0, 1, "bad"), "wordy": ValueError("x" * 99999)}[kind]
def unreadable():
    class Mute(Exception):
        def __str__(self): raise RuntimeError
    raise Mute
def numbers():
    yield 1
    yield torch.ones(1)
    raise RuntimeError("in the middle")
def total(items):
    first = next(items)
    return [first, sum(items), type(items).__name__]
def fill(items):
    for item in items: item.fill_(1)
def endless():
    while True: yield 1
def greet(name):
    print("Hello,", name)
    print("x" * 10, end="")
    return None
def deep(n=200):
    value = []
    for _ in range(n): value = [value]
    return value
class Length:
    def __len__(self): return 5
    def __getattr__(self, name): raise AttributeError(name)
