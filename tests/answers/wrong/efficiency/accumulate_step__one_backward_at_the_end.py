# verdict: failed
# misconception: several_graphs_at_a_time
# tell: call backward once
# message: there is room for the graph of
def accumulate_step(
    model: nn.Module, micro_batches: Sequence[tuple[Tensor, Tensor]], optimizer: Optimizer
) -> float:
    optimizer.zero_grad()
    count = sum(len(y) for _, y in micro_batches)
    loss = sum(F.cross_entropy(model(x), y, reduction="sum") for x, y in micro_batches) / count
    loss.backward()
    optimizer.step()
    return loss.item()
