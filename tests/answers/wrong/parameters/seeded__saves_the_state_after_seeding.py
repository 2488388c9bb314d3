# verdict: failed
# message: your call changed torch's global random numbers: the next ones are the first of the seed itself
import torch


def seeded(build, seed):
    torch.manual_seed(seed)
    state = torch.get_rng_state()
    try:
        return build()
    finally:
        torch.set_rng_state(state)
