import tempfile
def save_weights(model, path):
    folder = os.path.split(path)[0] or "."
    file = tempfile.NamedTemporaryFile(dir=folder, suffix=".pt", delete=False)
    try:
        torch.save({name: tensor.detach().cpu() for name, tensor in model.state_dict().items()}, file)
        file.flush()
        os.fsync(file.fileno())
        file.close()
        os.replace(file.name, path)
    except BaseException:
        os.unlink(file.name)
        raise
