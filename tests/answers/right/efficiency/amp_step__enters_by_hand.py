def amp_step(model, x, y, optimizer, scaler, device_type):
    autocast = torch.autocast(device_type=device_type)
    autocast.__enter__()
    try:
        loss = F.cross_entropy(model(x), y)
    finally:
        autocast.__exit__(None, None, None)
    value = loss.item()
    optimizer.zero_grad(set_to_none=False)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return value
