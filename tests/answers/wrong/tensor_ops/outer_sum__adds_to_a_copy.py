# verdict: failed
# message: copied


def outer_sum(a, b):
    a, b = torch.broadcast_tensors(a.unsqueeze(-1), b.unsqueeze(-2))
    total = a.clone(memory_format=torch.contiguous_format)
    total += b
    return total
