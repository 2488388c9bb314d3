# verdict: failed
# message: the loss that was printed
def main():
    rank, _, world_size = read_env(os.environ)
    seed = int(os.environ.get("SEED", 0))
    ddp_setup(rank, world_size)
    dataset, model = toy_data(seed), toy_model(seed)
    state = train(rank, world_size, model, dataset, EPOCHS, 0.1, batch_size=ROWS // world_size)
    if rank == 0:
        features, labels = dataset.tensors
        loss = F.cross_entropy(features @ state["weight"].T + state["bias"], labels)
        print(f"{world_size} ranks, loss {loss.item():.4f}")
    ddp_cleanup()
