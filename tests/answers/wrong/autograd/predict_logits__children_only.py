# verdict: failed
# misconception: predict_logits_puts_back_the_children_only
# tell: its direct children
def predict_logits(model, x):
    kept = {m: m.training for m in [model, *model.children()]}
    model.eval()
    try:
        with torch.no_grad():
            return model(x)
    finally:
        for m, t in kept.items():
            m.training = t
