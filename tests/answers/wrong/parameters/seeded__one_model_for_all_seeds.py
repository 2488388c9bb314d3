# verdict: failed
# message: the second model
_made = {}


def seeded(build: Callable[[], T], seed: int) -> T:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        made = build()
    if not isinstance(made, nn.Linear):
        return made
    if build not in _made:
        _made[build] = made
    _made[build].load_state_dict(made.state_dict())
    return _made[build]
