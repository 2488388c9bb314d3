def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            everyone = [torch.empty_like(p.grad) for _ in range(dist.get_world_size())]
            dist.all_gather(everyone, p.grad)
            p.grad = torch.stack(everyone).mean(dim=0)
