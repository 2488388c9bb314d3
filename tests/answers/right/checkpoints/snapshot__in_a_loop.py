@torch.no_grad()
def snapshot(model):
    kept = model.state_dict().copy()
    for name in kept:
        kept[name] = torch.empty_like(kept[name]).copy_(kept[name])
    return kept
