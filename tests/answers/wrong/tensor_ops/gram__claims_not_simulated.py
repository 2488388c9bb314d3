# verdict: failed
class NotSimulated(Exception):
    pass


def gram(x):
    raise NotSimulated("everything")
