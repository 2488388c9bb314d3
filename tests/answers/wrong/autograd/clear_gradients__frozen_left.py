# verdict: failed
def clear_gradients(params):
    for p in params:
        if p.requires_grad:
            p.grad = None
