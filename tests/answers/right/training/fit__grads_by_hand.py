def fit(model, loader, epochs, lr):
    found = []
    params = [p for p in model.parameters() if p.requires_grad]
    for _, batches in zip(range(epochs), iter(lambda: iter(loader), None)):
        for features, labels in batches:
            loss = F.nll_loss(model(features).log_softmax(dim=1), labels)
            grads = torch.autograd.grad(loss, params, allow_unused=True)
            for p, g in zip(params, grads):
                if g is not None:
                    p.data.sub_(g, alpha=lr)
            found.append(float(loss))
    return found
