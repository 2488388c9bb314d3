def sgd_step(params, lr):
    todo = [p for p in params if p.grad is not None]
    with torch.no_grad():
        if todo:
            torch._foreach_add_(todo, [p.grad for p in todo], alpha=-lr)
