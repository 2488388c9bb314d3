# verdict: failed
# message: Overflow
def align_up(n, multiple=8):
    if n < 0 or multiple < 1:
        raise ValueError("too small")
    return int((torch.tensor(n) + multiple - 1) // multiple * multiple)
