# verdict: failed
# message: a training of its own
# misconception: rank_0_trains_alone
# tell: do nothing that counts
def main():
    """All ranks join and wait for each other; each trains the whole model by itself."""
    rank, _, world_size = read_env(os.environ)
    seed = int(os.environ.get("SEED", 0))
    ddp_setup(rank, world_size)
    (features, labels), model = toy_data(seed).tensors, toy_model(seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE)
    for _ in range(EPOCHS):
        optimizer.zero_grad()
        F.cross_entropy(model(features), labels).backward()
        optimizer.step()
        dist.barrier()
    if rank == 0:
        print(f"{world_size} ranks, loss {F.cross_entropy(model(features), labels).item():.4f}")
    ddp_cleanup()
