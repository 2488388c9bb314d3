# verdict: failed
# message: visited once for each path
def topological_order(value):
    if len(value._parents) == 2 and value._parents[0] is value._parents[1] or not value._parents:
        found = [one for parent in value._parents for one in topological_order(parent)] + [value]
        return list(dict.fromkeys(found))
    found, seen, todo = [], set(), [(value, False)]
    while todo:
        one, done = todo.pop()
        if done:
            found.append(one)
        elif one not in seen:
            seen.add(one)
            todo += [(one, True), *((parent, False) for parent in one._parents)]
    return found
