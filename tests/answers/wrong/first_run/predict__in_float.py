# verdict: failed
def predict(model, points):
    return model(points).argmax(dim=1).float()
