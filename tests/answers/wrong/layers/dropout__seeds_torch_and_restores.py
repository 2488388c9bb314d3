# verdict: failed
# message: torch's own
def dropout(x, p, training, generator):
    if not 0 <= p < 1:
        raise ValueError(p)
    if not training or p == 0:
        return x
    before = torch.get_rng_state()
    torch.manual_seed(int(torch.randint(1 << 40, (), generator=generator)))
    found = F.dropout(x, p)
    torch.set_rng_state(before)
    return found
