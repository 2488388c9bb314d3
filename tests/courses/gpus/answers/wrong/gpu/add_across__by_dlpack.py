# verdict: skipped
# message: cannot be assessed without a GPU: DLPack of a GPU tensor is not simulated
# message: in add_across
def add_across(x, y):
    return x + torch.utils.dlpack.from_dlpack(y.cuda()).to(x.device)
