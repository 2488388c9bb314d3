# verdict: failed
def clip_and_step(model, loss, optimizer, max_norm):
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm, norm_type=float("inf"))
    optimizer.step()
    return norm.item()
