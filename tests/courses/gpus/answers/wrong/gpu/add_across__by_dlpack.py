# verdict: failed
# message: GPUs are simulated here, and DLPack of a GPU tensor is not simulated: this check fails
# message: in add_across
def add_across(x, y):
    return x + torch.utils.dlpack.from_dlpack(y.cuda()).to(x.device)
