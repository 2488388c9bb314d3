# verdict: failed
# message: no file at `path`


def same_after_resume(make, data, path, stop, epochs):
    import copy

    def train(count):
        for _ in range(count):
            for features, labels in data:
                parts[1].zero_grad()
                F.cross_entropy(parts[0](features), labels).backward()
                parts[1].step()
            parts[2].step()

    parts = make()
    train(stop)
    kept = [copy.deepcopy(part.state_dict()) for part in parts]
    parts = make()
    for part, state in zip(parts, kept):
        part.load_state_dict(state)
    train(epochs - stop)
    return parts[0]
