def predict_proba(model, x):
    before = [(m, m.training) for m in model.modules()]
    for m, _ in before:
        m.training = False
    try:
        with torch.inference_mode():
            return torch.cat([torch.softmax(model(row[None]), dim=-1) for row in x]).clone()
    finally:
        for m, flag in before:
            m.training = flag
