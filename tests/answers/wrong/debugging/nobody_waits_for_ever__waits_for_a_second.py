# verdict: failed
# message: Operation timed out | returned before rank 0 had written the file
def nobody_waits_for_ever(rank: int, world_size: int, path: str, model: nn.Module) -> None:
    from datetime import timedelta

    errors = [None]
    if rank == 0:
        try:
            torch.save(model.state_dict(), path)
        except Exception as error:
            errors = [error]
    dist.barrier(async_op=True).wait(timedelta(seconds=1))
    dist.broadcast_object_list(errors, src=0)
    if errors[0] is not None:
        raise errors[0]
