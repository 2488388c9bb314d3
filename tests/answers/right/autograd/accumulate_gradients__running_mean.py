def accumulate_gradients(model, loss_fn, batches):
    """The gradients so far are made smaller before the next batch's come: always the mean over what was seen."""
    model.zero_grad()
    seen = 0
    for features, targets in batches:
        before, seen = seen, seen + len(features)
        for p in model.parameters():
            if p.grad is not None:
                p.grad *= before / seen
        outputs = model(features)
        loss = loss_fn(outputs, targets)
        loss.backward(gradient=torch.tensor(len(features) / seen))
