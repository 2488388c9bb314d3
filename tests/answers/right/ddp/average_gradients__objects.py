def average_gradients(model):
    """By way of pickled lists; part by part, through the tree of modules."""
    for part in model.modules():
        for p in part._parameters.values():
            if p is not None and p.grad is not None and not hasattr(p, "is_done"):
                everyone = [None] * dist.get_world_size()
                dist.all_gather_object(everyone, p.grad)
                p.grad.copy_(sum(everyone) / len(everyone))
                p.is_done = True
    for p in model.parameters():
        if hasattr(p, "is_done"):
            del p.is_done
