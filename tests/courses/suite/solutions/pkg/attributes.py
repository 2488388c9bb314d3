import signal
import threading
from dataclasses import dataclass

import torch


class Point:
    def __init__(self, x=0.0):
        self.x, self.steps = x, 0

    def moved(self, by):
        return Point(self.x + by)

    def step(self):
        self.steps += 1
        return self.x

    def ask(self, function):
        function()
        return self.x


class Halved(Point):
    @property
    def x(self):
        return self.half * 2

    @x.setter
    def x(self, value):
        if value < 0:
            raise ValueError("below zero")
        self.half = value / 2


class Checked(Point):
    def __setattr__(self, name, value):
        if value < 0:
            raise ValueError("below zero")
        super().__setattr__(name, value)


class Percent:
    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, point, owner):
        return vars(point)[self.name] / 100

    def __set__(self, point, value):
        vars(point)[self.name] = value


class Share(Point):
    x = Percent()


class Counted(Point):
    def __getattribute__(self, name):
        value = super().__getattribute__(name)
        return value + 1 if name == "x" else value


class Slotted:
    __slots__ = ("x",)

    def __init__(self):
        self.x = 0.0


@dataclass(frozen=True)
class Fixed:
    x: float = 0.0


class Twin:
    """Twins have the same attributes."""

    together: dict[str, float] = {}  # noqa: RUF012

    def __init__(self):
        self.__dict__ = self.together


class Worker:
    def __init__(self):
        self.done = False

    def start(self):
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def work(self):
        self.done = True


class Alarm:
    def __init__(self, seconds):
        self.rang = False
        signal.signal(signal.SIGALRM, self.ring)
        signal.setitimer(signal.ITIMER_REAL, seconds)

    def ring(self, number, frame):
        self.rang = True


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, point):
        ctx.point = point
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.point.x, None


def scaled(x, point):
    return Scaled.apply(x, point)


class Doubling:
    """From now on, the steps of a point are twice as large."""

    def __init__(self, point):
        step = point.step
        point.step = lambda: 2 * step()
