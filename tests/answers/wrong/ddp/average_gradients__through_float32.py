# verdict: failed
# message: .grad: 
def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            total = p.grad.float()
            dist.all_reduce(total)
            p.grad.copy_(total / dist.get_world_size())
