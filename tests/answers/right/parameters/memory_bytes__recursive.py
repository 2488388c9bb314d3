def memory_bytes(model: nn.Module) -> int:
    tensors: dict[int, Tensor] = {}

    def visit(module: nn.Module) -> None:
        for tensor in [*module.parameters(recurse=False), *module.buffers(recurse=False)]:
            tensors[id(tensor)] = tensor
        for child in module.children():
            visit(child)

    visit(model)
    return sum(tensor.numel() * (tensor.dtype.itemsize) for tensor in tensors.values())
