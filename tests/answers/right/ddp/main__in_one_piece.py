def main():
    """With more words in the line, and sys.exit at the end."""
    import sys

    rank, world_size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    seed = int(os.environ.get("SEED") or 0)
    ddp_setup(rank, world_size)
    data, model = toy_data(seed), toy_model(seed)
    net = DDP(model)
    optimizer = torch.optim.SGD(net.parameters(), lr=LEARNING_RATE)
    share = ROWS // world_size
    x, y = (part[rank * share : (rank + 1) * share] for part in data.tensors)
    for _ in range(EPOCHS):
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
    loss = F.cross_entropy(model(data.tensors[0]), data.tensors[1]).item()
    if rank == 0:
        print(f"seed {seed}: after {EPOCHS} epochs on {world_size} ranks the loss is {loss:.4f}.")
    ddp_cleanup()
    sys.exit(0)
