# verdict: failed
# message: grad afterwards, which was 0.5 before
_correct = topological_order


def topological_order(value):
    order = _correct(value)
    for one in order:
        one.grad = 0.0
    return order
