# verdict: failed
# misconception: another_switch
# tell: cudnn.flags puts it back
def configure_cudnn(fixed_shapes: bool) -> None:
    with torch.backends.cudnn.flags(enabled=True, benchmark=fixed_shapes):
        pass
