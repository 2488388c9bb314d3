def align_up(n, multiple=8):
    if not (n >= 0 and multiple >= 1):
        raise ValueError(f"{n} and {multiple}")
    return n + -n % multiple
