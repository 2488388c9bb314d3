import numpy

def split(dataset, val_fraction, seed):
    if not (0 <= val_fraction <= 1):
        raise ValueError(f"{val_fraction=}")
    order = numpy.random.default_rng(seed).permutation(len(dataset))
    val, train = numpy.split(order, [round(len(dataset) * val_fraction)])
    return Subset(dataset, train), Subset(dataset, val)
