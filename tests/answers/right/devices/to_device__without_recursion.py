def to_device(batch, device, non_blocking=False):
    done = []
    todo = [("visit", batch)]
    while todo:
        what, value = todo.pop()
        if what == "visit":
            if isinstance(value, dict):
                todo.append(("dict", value))
                todo.extend(("visit", item) for item in reversed(value.values()))
            elif isinstance(value, (list, tuple)):
                todo.append(("sequence", value))
                todo.extend(("visit", item) for item in reversed(value))
            elif isinstance(value, Tensor):
                done.append(value.to(device=device, non_blocking=non_blocking))
            else:
                done.append(value)
            continue
        items = done[len(done) - len(value):]
        del done[len(done) - len(value):]
        if what == "dict":
            done.append(dict(zip(value.keys(), items)))
        elif hasattr(value, "_make"):
            done.append(value._make(items))
        else:
            done.append(type(value)(items))
    return done[0]
