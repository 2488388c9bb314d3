from contextlib import contextmanager


@contextmanager
def temporary_seed(seed):
    with torch.random.fork_rng(devices=[], enabled=True):
        yield torch.manual_seed(seed)


def seeded(build: Callable[[], T], seed: int) -> T:
    with temporary_seed(seed):
        result = build()
    return result
