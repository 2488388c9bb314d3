# verdict: failed
def swap_last_axes(x):
    y = x.transpose(-2, -1)
    return y if x.is_contiguous() else y.contiguous()
