def count_parameters(model: nn.Module, trainable_only: bool = True) -> int:
    def gather(module: nn.Module) -> set:
        found = set(module.parameters(recurse=False))
        return found.union(*(gather(child) for child in module.children()))

    return sum(p.shape.numel() for p in gather(model) if not trainable_only or p.requires_grad)
