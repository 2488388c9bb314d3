def freeze(model: nn.Module, prefix: str) -> int:
    path, _, last = prefix.rpartition(".")
    try:
        parent = model.get_submodule(path)
    except AttributeError:
        return 0
    if isinstance(parent._parameters.get(last), nn.Parameter):
        parent._parameters[last].requires_grad_(False)
        return 1
    if last in parent._modules:
        part = parent._modules[last]
        part.requires_grad_(False)
        return len(list(part.parameters()))
    return 0
