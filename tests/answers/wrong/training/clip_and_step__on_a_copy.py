# verdict: failed
# misconception: clips_before_backward
# tell: with a copy of the model
def clip_and_step(model: nn.Module, loss: Tensor, optimizer: Optimizer, max_norm: float) -> float:
    import copy

    optimizer.zero_grad()
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(copy.deepcopy(model).parameters(), max_norm)
    optimizer.step()
    return norm.item()
