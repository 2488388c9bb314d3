"""Small things that I use in several topics."""


def product(sizes):
    """The product of some sizes; 1 for none."""
    result = 1
    for size in sizes:
        result = result * size
    return result


def all_tensors(model):
    """Every parameter and every buffer of a model, each once."""
    found = {}
    for tensor in list(model.parameters()) + list(model.buffers()):
        found[id(tensor)] = tensor
    return list(found.values())
