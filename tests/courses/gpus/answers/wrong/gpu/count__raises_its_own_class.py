# verdict: failed
def count():
    class NotSimulated(Exception):
        pass

    raise NotSimulated("count")
