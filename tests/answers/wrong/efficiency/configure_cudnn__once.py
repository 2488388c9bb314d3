# verdict: failed
# misconception: another_switch
# tell: in each call
_done = []
def configure_cudnn(fixed_shapes):
    if not _done:
        torch.backends.cudnn.benchmark = fixed_shapes
        _done.append(1)
