# verdict: failed
# message: not a file that torch.save wrote
def save_weights(model, path):
    os.makedirs(path, exist_ok=True)
