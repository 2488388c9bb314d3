def save_on_rank0(model, path):
    """Every rank makes the state, the group's first one writes it, and a sum that all take part in makes them wait."""
    state = nn.Module.state_dict(getattr(model, "module") if type(model) is DDP else model)
    if dist.get_rank(dist.group.WORLD) == 0:
        with open(path, "wb") as file:
            torch.save(state, file)
    dist.all_reduce(torch.ones(1))
