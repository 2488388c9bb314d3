def accumulate_step(model, micro_batches, optimizer):
    params = [p for p in model.parameters() if p.requires_grad]
    sums, loss_sum, count = [torch.zeros_like(p) for p in params], 0.0, 0
    for x, y in micro_batches:
        loss = F.cross_entropy(model(x), y, reduction="sum")
        torch._foreach_add_(sums, list(torch.autograd.grad(loss, params)))
        loss_sum, count = loss_sum + loss.item(), count + y.numel()
    for p, total in zip(params, sums):
        p.grad = total / count
    optimizer.step()
    return loss_sum / count
