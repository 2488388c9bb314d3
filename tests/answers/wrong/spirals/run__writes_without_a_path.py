# verdict: failed
# message: a run without a path wrote
_correct = run


def run(seed, epochs, path=None, stop_after=None):
    history = _correct(seed, epochs, path, stop_after)
    if path is None:
        torch.save(history, "history.pt")
    return history
