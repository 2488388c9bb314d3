# verdict: failed
# message: not from the file


def same_after_resume(make, data, path, stop, epochs):
    import copy

    def train(count):
        for _ in range(count):
            for features, labels in data:
                o.zero_grad()
                F.cross_entropy(m(features), labels).backward()
                o.step()
            s.step()

    m, o, s = make()
    train(stop)
    states = copy.deepcopy([m.state_dict(), o.state_dict(), s.state_dict()])
    torch.save(states[0], path)
    m, o, s = make()
    for part, state in zip((m, o, s), states):
        part.load_state_dict(state)
    train(epochs - stop)
    return m
