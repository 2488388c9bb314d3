# verdict: failed
# message: TypeError
def save_on_rank0(model, path):
    if dist.get_rank() == 0:
        torch.save((model.module if isinstance(model, DDP) else model).state_dict(), path + ".part")
        os.replace(path + ".part", path)
    dist.barrier()
