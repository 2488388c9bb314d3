# verdict: failed
# misconception: autocast_for_cuda_only
# tell: for every device
def amp_step(
    model: nn.Module, x: Tensor, y: Tensor, optimizer: Optimizer, scaler: GradScaler, device_type: str
) -> float:
    optimizer.zero_grad()
    with torch.autocast(device_type, enabled=device_type == "cuda"):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()
