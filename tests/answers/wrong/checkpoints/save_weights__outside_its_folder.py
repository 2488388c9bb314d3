# verdict: failed
# message: in save_weights: torch.save
FOLDER = "/"

def save_weights(model, path):
    torch.save(model.state_dict(), os.path.join(FOLDER, "torchkata-stray-weights.pt"))
