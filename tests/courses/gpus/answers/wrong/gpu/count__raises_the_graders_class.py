# verdict: failed
def count():
    from grader.testkit.devices import NotSimulated

    raise NotSimulated("count")
