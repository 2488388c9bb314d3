class _Order(list):
    pass


def topological_order(value):
    order, stack = _Order(), [(value, iter(value._parents))]
    seen = [value]
    ids = {id(value)}
    while stack:
        one, rest = stack[-1]
        for parent in rest:
            if id(parent) not in ids:
                ids.add(id(parent))
                seen.append(parent)
                stack.append((parent, iter(parent._parents)))
                break
        else:
            order.append(stack.pop()[0])
    return order
