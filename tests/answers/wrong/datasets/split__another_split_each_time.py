# verdict: failed
# message: the rows of both parts
def split(dataset, val_fraction, seed, calls=[]):
    calls.append(1)
    size = round(len(dataset) * val_fraction)
    order = [(i + len(calls)) % len(dataset) for i in range(len(dataset))]
    return Subset(dataset, order[size:]), Subset(dataset, order[:size])
