# verdict: failed
# message: not a list
_right = topological_order


def topological_order(value):
    yield from _right(value)
