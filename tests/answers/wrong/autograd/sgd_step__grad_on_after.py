# verdict: failed
def sgd_step(params, lr):
    torch.set_grad_enabled(False)
    for p in params:
        if p.grad is not None:
            p -= lr * p.grad
    torch.set_grad_enabled(True)
