# verdict: failed


def clear_grads(optimizer):
    for group in optimizer.param_groups:
        for param in group["params"]:
            param.grad = None
            break
