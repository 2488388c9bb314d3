# verdict: failed
# message: `reshape` copies then
def average_gradients(model):
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    flat = torch.cat([grad.view(-1) for grad in grads])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    at = 0
    for grad in grads:
        grad.copy_(flat[at : at + grad.numel()].view_as(grad))
        at += grad.numel()
