@torch.compile(mode="reduce-overhead")
def amp_step(model, x, y, optimizer, scaler, device_type):
    optimizer.zero_grad()
    with torch.autocast(device_type):
        logits = model(x)
        loss = (logits.logsumexp(1) - logits.gather(1, y[:, None])[:, 0]).mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()
