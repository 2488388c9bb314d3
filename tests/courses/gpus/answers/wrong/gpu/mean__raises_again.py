# verdict: failed
def mean(x):
    try:
        raise RuntimeError("not compiled with CUDA")
    except RuntimeError:
        raise
