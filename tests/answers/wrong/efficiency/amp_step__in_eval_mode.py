# verdict: failed
def amp_step(model, x, y, optimizer, scaler, device_type):
    model.eval()
    optimizer.zero_grad()
    with torch.autocast(device_type):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer); scaler.update()
    return loss.item()
