def total(rank):
    x = torch.tensor(rank)
    for _ in range(100_000):
        print('x' * 99)
    dist.all_reduce(x)
    return int(x)
