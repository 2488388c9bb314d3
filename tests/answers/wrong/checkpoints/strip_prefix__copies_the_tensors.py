# verdict: failed
# message: very tensors
def strip_prefix(state, prefix):
    return {k.removeprefix(prefix): v.clone() for k, v in state.items()}
