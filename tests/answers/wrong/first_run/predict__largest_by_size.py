# verdict: failed
def predict(model, points):
    return model(points).abs().argmax(dim=1)
