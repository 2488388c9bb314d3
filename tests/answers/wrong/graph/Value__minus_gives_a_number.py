# verdict: failed
class Value(Value):
    def __neg__(self):
        return -self.data
