def save_on_rank0(model, path):
    state = model.state_dict()
    if isinstance(model, nn.parallel.DistributedDataParallel):
        state = {name[len("module.") :]: value for name, value in state.items()}
    if not dist.get_rank():
        torch.save(state, path)
    dist.barrier()
