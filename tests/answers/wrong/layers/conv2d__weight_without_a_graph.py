# verdict: failed
_conv = conv2d


def conv2d(x, weight, bias=None, stride=1, padding=0):
    return _conv(x, weight.detach(), bias, stride, padding)
