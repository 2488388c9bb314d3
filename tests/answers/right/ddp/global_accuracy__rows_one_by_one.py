def global_accuracy(model, loader):
    was_training = model.training
    model.eval()
    outcomes = [float(hit) for x, y in loader for hit in model(x).detach().argmax(-1).eq(y)]
    model.train(was_training)
    sums = torch.tensor([sum(outcomes), len(outcomes)], dtype=torch.double)
    dist.all_reduce(sums, op=dist.ReduceOp.SUM)
    return float(sums[0]) / int(sums[1])
