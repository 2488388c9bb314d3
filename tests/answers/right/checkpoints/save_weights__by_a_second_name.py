import shutil
def save_weights(model, path):
    new = path + ".new"
    torch.save(model.state_dict(), new)
    if os.path.exists(path):
        shutil.copy2(path, path + ".old")
    shutil.move(new, path)
