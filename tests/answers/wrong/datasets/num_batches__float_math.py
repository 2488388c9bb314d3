# verdict: failed
# misconception: rounds_a_float
# tell: n / batch_size is a float
import math
def num_batches(n, batch_size, drop_last):
    if n < 0 or batch_size < 1:
        raise ValueError("bad")
    return math.floor(n / batch_size) if drop_last else math.ceil(n / batch_size)
