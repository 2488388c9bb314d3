# verdict: failed
# message: the accuracy


def evaluation_repeats(model, loader):
    flags = {module: module.training for module in model.modules()}
    model.eval()
    with torch.no_grad():
        hits = [hit for features, labels in loader for hit in (model.forward(features).argmax(1) == labels).tolist()]
    for module, training in flags.items():
        module.training = training
    return sum(hits) / len(hits)
