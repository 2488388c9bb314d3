# verdict: failed
# misconception: others_go_last
# tell: are apart
def strip_prefix(state: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    from torch.nn.modules.utils import consume_prefix_in_state_dict_if_present

    copied = dict(state)
    consume_prefix_in_state_dict_if_present(copied, prefix)
    return copied
