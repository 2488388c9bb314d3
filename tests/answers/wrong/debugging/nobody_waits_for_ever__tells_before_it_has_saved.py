# verdict: failed
# message: returned before rank 0
# misconception: nobody_waits_at_all
# tell: comes after the saving


def nobody_waits_for_ever(rank, world_size, path, model):
    dist.barrier()
    if rank == 0:
        torch.save(model.state_dict(), path)
