# verdict: failed
# misconception: several_graphs_at_a_time
# tell: retain the graphs
# message: there is room for the graph of
def accumulate_step(model: nn.Module, micro_batches: Sequence[tuple[Tensor, Tensor]], optimizer: Optimizer) -> float:
    optimizer.zero_grad()
    count, losses = sum(len(y) for _, y in micro_batches), []
    for x, y in micro_batches:
        loss = F.cross_entropy(model(x), y, reduction="sum") / count
        loss.backward(retain_graph=True)
        losses.append(loss)
    optimizer.step()
    return sum(loss.item() for loss in losses)
