# verdict: failed
# message: where


def evaluation_repeats(model, loader):
    flags = {module: module.training for module in model.modules()}
    model.eval()
    with torch.no_grad():
        found = [(model(features).argmax(1) == labels).float().mean().item() for features, labels in loader]
    for module, training in flags.items():
        module.training = training
    return sum(found) / len(found)
