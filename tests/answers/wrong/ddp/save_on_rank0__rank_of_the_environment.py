# verdict: failed
# message: what is in the file
def save_on_rank0(model, path):
    if int(os.environ.get("RANK", 0)) == 0:
        plain = model.module if isinstance(model, DDP) else model
        torch.save(plain.state_dict(), path)
    dist.barrier()
