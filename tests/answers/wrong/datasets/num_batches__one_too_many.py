# verdict: failed
# message: num_batches(8, 4, drop_last=False): 3 where 2 was expected
def num_batches(n, batch_size, drop_last):
    if n < 0:
        raise ValueError("n is negative")
    return n // batch_size + (not drop_last)
