# verdict: failed
# message: .grad
def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None and p.dim() > 1:
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
