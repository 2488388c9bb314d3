"""Not the course's wrong answers."""


def gram(x):
    return None


def __getattr__(name):
    return gram
