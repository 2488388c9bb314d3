# verdict: failed, timeout
# message: sizes of train batches
class Endless(DataLoader):
    def __iter__(self):
        while True:
            yield from super().__iter__()

def make_loaders(train_ds, test_ds, batch_size, seed):
    return tuple(Endless(one, batch_size) for one in (train_ds, test_ds))
