SLOPES = {
    "+": lambda r, a, b: (1, 1),
    "*": lambda r, a, b: (b, a),
    "**": lambda r, a, n: (n * r / a, 0),
    "exp": lambda r, a: (r,),
    "log": lambda r, a: (1 / a,),
    "tanh": lambda r, a: ((1 - r) * (1 + r),),
}


def backward(value):
    seen, todo, uses = {id(value)}, [value], {}
    while todo:
        one = todo.pop()
        one.grad = 0
        for parent in one._parents:
            uses[id(parent)] = uses.get(id(parent), 0) + 1
            if id(parent) not in seen:
                seen.add(id(parent))
                todo.append(parent)
    value.grad, ready = 1, [value]
    while ready:
        one = ready.pop()
        if not one._parents:
            continue
        slopes = SLOPES[one._operation](one.data, *(parent.data for parent in one._parents))
        for parent, slope in zip(one._parents, slopes):
            parent.grad = parent.grad + slope * one.grad
            uses[id(parent)] -= 1
            if uses[id(parent)] == 0:
                ready.append(parent)
