# verdict: failed
# message: the model and torch afterwards
# message: gradients are recorded


def evaluation_repeats(model, loader):
    flags = {module: module.training for module in model.modules()}
    model.eval()
    torch.set_grad_enabled(False)
    hits = [hit for features, labels in loader for hit in (model(features).argmax(1) == labels).tolist()]
    for module, training in flags.items():
        module.training = training
    return sum(hits) / len(hits)
