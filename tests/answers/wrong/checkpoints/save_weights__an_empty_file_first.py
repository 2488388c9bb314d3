# verdict: failed
# message: another file was at `path` in between
def save_weights(model, path):
    torch.save(model.state_dict(), path + ".tmp")
    if not os.path.exists(path):
        open(path, "w").close()
    os.replace(path + ".tmp", path)
