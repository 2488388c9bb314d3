# verdict: crashed | failed
def num_batches(n, batch_size, drop_last):
    if n < 0 or batch_size < 1:
        raise ValueError
    return len(DataLoader(list(range(n)), batch_size, drop_last=drop_last))
