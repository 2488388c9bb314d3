# verdict: failed
@contextmanager
def evaluating(model):
    for m in model.modules():
        m._was = m.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for m in model.modules():
            m.training = m._was
