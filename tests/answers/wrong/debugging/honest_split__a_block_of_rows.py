# verdict: failed
# message: do not look random


def honest_split(dataset, val_fraction, seed):
    count = len(dataset)
    held_out = round(count * val_fraction)
    order = [(seed * 7 + i) % count for i in range(count)]
    return Subset(dataset, order[held_out:]), Subset(dataset, order[:held_out])
