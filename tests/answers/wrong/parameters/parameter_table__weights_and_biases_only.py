# verdict: failed
# message: Modules may be nested in any way


def parameter_table(model: nn.Module) -> list[tuple[str, tuple[int, ...], int]]:
    rows = []
    for name, module in model.named_modules():
        for kind in ("weight", "bias"):
            p = getattr(module, kind, None)
            if isinstance(p, nn.Parameter):
                rows.append((f"{name}.{kind}".lstrip("."), tuple(p.shape), p.numel()))
    return rows
