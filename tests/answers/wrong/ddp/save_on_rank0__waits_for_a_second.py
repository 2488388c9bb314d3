# verdict: failed
# message: rank 1 returned before rank 0 had written the file
# misconception: nobody_waits
# tell: return before the file exists
def save_on_rank0(model: nn.Module, path: str | Path) -> None:
    import contextlib
    from datetime import timedelta

    if dist.get_rank() == 0:
        torch.save((model.module if isinstance(model, DDP) else model).state_dict(), path)
    with contextlib.suppress(RuntimeError):
        dist.barrier(async_op=True).wait(timedelta(seconds=1))
