# verdict: failed
# message: at [0]: False where True was expected
def total(rank):
    x = torch.tensor(rank)
    dist.all_reduce(x)
    dist.destroy_process_group()
    return int(x)
