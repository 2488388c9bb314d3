# verdict: failed
# message: .grad: 
def average_gradients(model):
    for part in [model, *model.children()]:
        for p in part.parameters(recurse=False):
            if p.grad is not None:
                dist.all_reduce(p.grad)
                p.grad /= dist.get_world_size()
