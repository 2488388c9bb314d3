# verdict: failed
# misconception: predict_logits_switches_recording_on
# tell: You switch the recording of gradients on afterwards
def predict_logits(model, x):
    kept = {m: m.training for m in model.modules()}
    model.eval()
    torch.set_grad_enabled(False)
    out = model(x)
    torch.set_grad_enabled(True)
    for m, t in kept.items():
        m.training = t
    return out
