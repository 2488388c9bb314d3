# verdict: failed
# message: what is in the file
def save_on_rank0(model, path):
    if dist.get_rank() == 0:
        torch.save({name.removeprefix("module."): value for name, value in model.state_dict().items()}, path)
    dist.barrier()
