# verdict: failed
from grader.testkit.devices import NotSimulated


def gram(x):
    raise NotSimulated("everything")
