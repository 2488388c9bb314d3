# verdict: failed
# message: your call changed torch's global random numbers: does the line that puts the state back run
def seeded(build, seed):
    state = torch.get_rng_state()
    torch.manual_seed(seed)
    out = build()
    torch.set_rng_state(state)
    return out
