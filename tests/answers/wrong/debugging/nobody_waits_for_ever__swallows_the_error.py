# verdict: failed
# message: the type of the error


def nobody_waits_for_ever(rank, world_size, path, model):
    if rank == 0:
        try:
            torch.save(model.state_dict(), path)
        except Exception:
            pass
    dist.barrier()
