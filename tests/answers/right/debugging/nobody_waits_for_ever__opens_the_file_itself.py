def nobody_waits_for_ever(rank, world_size, path, model):
    errors = [None]
    if rank == 0:
        try:
            with open(path, "wb") as file:
                torch.save(model.state_dict(), file)
        except Exception as error:
            errors = [error]
    dist.broadcast_object_list(errors, src=0)
    if errors[0] is not None:
        raise errors[0]
