# verdict: failed
# message: what is in the file
def save_on_rank0(model, path):
    if int(os.environ.get("LOCAL_RANK", dist.get_rank())) == 0:
        torch.save((model.module if isinstance(model, DDP) else model).state_dict(), path)
    dist.barrier()
