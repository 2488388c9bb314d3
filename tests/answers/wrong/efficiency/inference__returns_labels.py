# verdict: failed
def inference(model, x):
    flags = {m: m.training for m in model.modules()}
    model.eval()
    with torch.inference_mode():
        r = model(x)
    for m, t in flags.items(): m.training = t
    return r.argmax(1)
