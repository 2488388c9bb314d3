from .deep.ops import add

LIMIT = 3


class BadScalar(Exception):
    pass


class Scalar:
    def __init__(self, data):
        if isinstance(data, str):
            raise BadScalar(data)
        self.data = data

    def __add__(self, other):
        return Scalar(add(self.data, other.data))

    def __mul__(self, other):
        return Scalar(self.data * other)

    __rmul__ = __mul__

    def __eq__(self, other):
        return self.data == other.data

    def __repr__(self):
        return f"Scalar({self.data})"

    def __float__(self):
        return float(self.data)


def work():
    return sum(range(10))


def secret(n):
    return 4711
