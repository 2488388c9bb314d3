# verdict: failed
# misconception: inference_thaws_what_was_frozen
# tell: also for those that were frozen
def inference(model, x):
    kept = {m: m.training for m in model.modules()}
    model.eval()
    for p in model.parameters():
        p.requires_grad_(False)
    try:
        with torch.inference_mode():
            return model(x)
    finally:
        for p in model.parameters():
            p.requires_grad_(True)
        for m, t in kept.items():
            m.training = t
