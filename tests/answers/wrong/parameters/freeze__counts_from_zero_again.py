# verdict: failed
# message: the right tensors are frozen, but their number is wrong in what you return: 0 where 2 was expected
def freeze(model, prefix):
    for name, p in model.named_parameters():
        count = 0
        if name == prefix or name.startswith(prefix + "."):
            p.requires_grad_(False)
            count += 1
    return count
