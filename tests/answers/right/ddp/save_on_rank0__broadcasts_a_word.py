def save_on_rank0(model, path):
    """The others wait for a message; every rank looks at its own state, only rank 0 writes."""
    plain = model.module if isinstance(model, DDP) else model
    state = {name: value.clone() for name, value in plain.state_dict().items()}
    if dist.get_rank() == 0:
        torch.save(state, path)
    dist.broadcast_object_list(["written"], src=0)
