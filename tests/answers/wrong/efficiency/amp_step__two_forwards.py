# verdict: failed
def amp_step(
    model: nn.Module, x: Tensor, y: Tensor, optimizer: Optimizer, scaler: GradScaler, device_type: str
) -> float:
    optimizer.zero_grad()
    with torch.no_grad():
        value = F.cross_entropy(model(x), y).item()
    with torch.autocast(device_type):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return value
