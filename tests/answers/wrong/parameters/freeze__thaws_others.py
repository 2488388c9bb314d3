# verdict: failed
def freeze(model, prefix):
    n = 0
    for name, p in model.named_parameters():
        hit = name == prefix or name.startswith(prefix + ".")
        p.requires_grad_(not hit)
        n += hit
    return n
