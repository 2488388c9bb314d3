"""Wrong answers of odd."""

import time

from grader.testkit import misconception


@misconception("double", tell="You squared it.")
def squares(x):
    return x * x


@misconception("double", tell="You left it as it was.")
def leaves_it(x):
    return x


@misconception("scaled", tell="You always double.")
def always_doubles(x, factor):
    time.sleep(0.05)
    return 2 * x


@misconception("scaled", tell="You triple.")
def triples(x, factor):
    time.sleep(0.05)
    return 3 * x
