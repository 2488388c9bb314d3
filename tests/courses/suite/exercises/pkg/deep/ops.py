def add(a, b):
    raise NotImplementedError


def div(a, b):
    raise NotImplementedError
