def clip_and_step(model, loss, optimizer, max_norm):
    loss.backward()
    grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    norm = torch.linalg.vector_norm(torch.cat([g.reshape(-1) for g in grads])).item()
    torch._foreach_mul_(grads, min(1.0, max_norm / norm) if norm else 1.0)
    optimizer.step()
    return norm
