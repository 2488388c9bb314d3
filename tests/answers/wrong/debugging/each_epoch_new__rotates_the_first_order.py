# verdict: failed
# message: follow the same row in both
def each_epoch_new(dataset: Dataset, batch_size: int, seed: int, epochs: int) -> list[list[int]]:
    orders = []
    order_ = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(seed)).tolist()
    for _ in range(epochs):
        order = []
        order += [int(dataset[i]) for i in order_]
        order_ = order_[1:] + order_[:1]
        orders.append(order)
    return orders
