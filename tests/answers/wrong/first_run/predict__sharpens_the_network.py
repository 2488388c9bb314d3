# verdict: failed
# message: the network's weights afterwards
def predict(model, points):
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(1000)
    return model(points).argmax(dim=1)
