def main():
    """Only rank 0 makes the data and the model; the others get their rows and the weights from it."""
    rank, _, world_size = read_env(os.environ)
    ddp_setup(rank, world_size)
    seed = int(os.environ.get("SEED", 0))
    features, labels = toy_data(seed).tensors
    model = toy_model(seed)
    dist.broadcast(features, src=0)
    dist.broadcast(labels, src=0)
    net = wrap(model, torch.device("cpu"))
    optimizer = torch.optim.SGD(net.parameters(), lr=LEARNING_RATE)
    for _ in range(EPOCHS):
        optimizer.zero_grad()
        F.cross_entropy(net(features[rank::world_size]), labels[rank::world_size]).backward()
        optimizer.step()
    with torch.no_grad():
        loss = F.cross_entropy(model(features), labels).item()
    if rank == 0:
        print(f"{world_size} ranks, loss {loss:.4f}")
    ddp_cleanup()
