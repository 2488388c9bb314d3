# verdict: failed
# message: whether each .grad is still the very same tensor
def sgd_step(params, lr):
    with torch.no_grad():
        for p in params:
            if p.grad is not None:
                p -= lr * p.grad
                p.grad = p.grad.clone() * 1.0
