def _loss(model, x, y, device_type):
    with torch.amp.autocast(device_type):
        return F.nll_loss(F.log_softmax(model(x), dim=1), y)


def amp_step(model, x, y, optimizer, scaler, device_type):
    loss = _loss(model, x, y, device_type)
    for group in optimizer.param_groups:
        for p in group["params"]:
            p.grad = None
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.detach().float().item()
