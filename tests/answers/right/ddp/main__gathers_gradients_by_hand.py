def main():
    """Gradients by formula, without autograd; each rank sends its own to all others."""
    rank, _, world_size = read_env(os.environ)
    ddp_setup(rank, world_size)
    seed = int(os.environ.get("SEED", 0))
    features, labels = toy_data(seed).tensors
    x, y = features[rank::world_size], F.one_hot(labels[rank::world_size], 2).float()
    with torch.no_grad():
        weight, bias = (p.detach().clone() for p in toy_model(seed).parameters())
        dist.broadcast(weight, 0)
        dist.broadcast(bias, 0)
        for _ in range(EPOCHS):
            slope = ((x @ weight.T + bias).softmax(dim=1) - y) / len(x)
            own = torch.cat([slope.T @ x, slope.sum(dim=0)[:, None]], dim=1)
            parts = [torch.empty_like(own) for _ in range(world_size)]
            dist.all_gather(parts, own)
            mean = torch.stack(parts).mean(dim=0)
            weight -= LEARNING_RATE * mean[:, :2]
            bias -= LEARNING_RATE * mean[:, 2]
        loss = F.cross_entropy(features @ weight.T + bias, labels)
    if rank == 0:
        print(f"{loss.item():.4f}")
    ddp_cleanup()
