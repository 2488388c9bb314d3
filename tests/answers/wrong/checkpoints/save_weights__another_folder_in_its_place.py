# verdict: failed
# message: the folder of `path` was replaced by another one | no longer at `path`
import shutil
def save_weights(model, path):
    folder = os.path.dirname(path)
    os.rename(folder, folder + "-old")
    os.mkdir(folder)
    torch.save(model.state_dict(), path)
    shutil.rmtree(folder + "-old")
