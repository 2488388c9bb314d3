def inference(model, x):
    kept = {m: m.training for m in model.modules()}
    model.eval()
    with torch.inference_mode():
        out = model(x)
    for m, t in kept.items():
        m.training = t
    return out
