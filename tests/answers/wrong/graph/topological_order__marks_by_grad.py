# verdict: failed
def topological_order(value):
    order, todo = [], [(value, False)]
    while todo:
        one, done = todo.pop()
        if done:
            order.append(one)
        elif one.grad != 1.0:
            one.grad = 1.0
            todo += [(one, True), *((parent, False) for parent in one._parents)]
    return order
