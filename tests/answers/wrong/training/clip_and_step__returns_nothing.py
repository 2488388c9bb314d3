# verdict: failed
# misconception: clips_values_and_returns_none
# tell: You return None. The norm before clipping is what clip_grad_norm_ gives
def clip_and_step(model, loss, optimizer, max_norm):
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
