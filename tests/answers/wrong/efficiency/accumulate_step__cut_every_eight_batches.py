# verdict: failed
# misconception: several_graphs_at_a_time
# tell: the sum of several losses
def accumulate_step(model: nn.Module, micro_batches: Sequence[tuple[Tensor, Tensor]], optimizer: Optimizer) -> float:
    total = sum(len(y) for _, y in micro_batches)
    mean, joined = 0.0, torch.zeros(())
    optimizer.zero_grad()
    for number, (x, y) in enumerate(micro_batches, 1):
        joined = joined + F.cross_entropy(model(x), y, reduction="sum") / total
        if number % 8 == 0 or number == len(micro_batches):
            joined.backward()
            mean, joined = mean + joined.item(), torch.zeros(())
    optimizer.step()
    return mean
