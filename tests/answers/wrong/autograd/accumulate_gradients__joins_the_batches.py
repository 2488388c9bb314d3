# verdict: failed
# message: there is room for the graph of
# misconception: one_graph_for_all_batches
# tell: joined or added up
def accumulate_gradients(model, loss_fn, batches):
    model.zero_grad()
    features, targets = (torch.cat(parts) for parts in zip(*batches))
    loss_fn(model(features), targets).backward()
