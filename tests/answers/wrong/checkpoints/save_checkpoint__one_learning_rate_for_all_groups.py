# verdict: failed
# message: the weights after resuming and training on
_resume = resume
def resume(model, optimizer, path):
    epoch = _resume(model, optimizer, path)
    for group in optimizer.param_groups:
        group["lr"] = optimizer.param_groups[0]["lr"]
    return epoch
