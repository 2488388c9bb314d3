import tempfile
def save_weights(model, path):
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:
        name = os.path.join(folder, "weights")
        torch.save(model.state_dict(), name)
        os.rename(name, path)
