# verdict: failed
# message: not a pair of two datasets
def split(dataset, val_fraction, seed):
    return dataset
