# verdict: failed
def seeded(build, seed):
    state = torch.get_rng_state()
    torch.manual_seed(seed)
    out = build()
    torch.set_rng_state(state)
    return out
