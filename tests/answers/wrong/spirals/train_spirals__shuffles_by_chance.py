# verdict: failed
# message: the result of the second call


def train_spirals(seed, epochs):
    state = torch.get_rng_state()

    def not_seeded(seed):
        torch.set_rng_state(state)

    seeded, torch.manual_seed = torch.manual_seed, not_seeded
    try:
        return run(seed, epochs)
    finally:
        torch.manual_seed = seeded
