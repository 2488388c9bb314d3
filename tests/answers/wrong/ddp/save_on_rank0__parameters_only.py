# verdict: failed
# message: what is in the file
def save_on_rank0(model, path):
    if dist.get_rank() == 0:
        plain = model.module if isinstance(model, DDP) else model
        torch.save({name: p.detach() for name, p in plain.named_parameters()}, path)
    dist.barrier()
