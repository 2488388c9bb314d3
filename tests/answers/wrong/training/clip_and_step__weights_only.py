# verdict: failed
def clip_and_step(model, loss, optimizer, max_norm):
    loss.backward()
    norm = nn.utils.clip_grad_norm_([p for p in model.parameters() if p.dim() > 1], max_norm)
    optimizer.step()
    return norm.item()
