# verdict: failed
# message: the parameters afterwards


def freeze(model: nn.Module, prefix: str) -> int:
    chosen = [p for name, p in model.named_parameters() if name == prefix or name.startswith(prefix + ".")]
    for p in chosen:
        p.requires_grad_(False)
        p.zero_()
    return len(chosen)
