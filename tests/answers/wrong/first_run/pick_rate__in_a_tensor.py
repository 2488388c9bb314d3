# verdict: failed
# message: the rate is of type Tensor, not a number
def pick_rate():
    return torch.tensor(0.3)
