# verdict: failed
# message: no file at `path`
import shutil
def save_weights(model, path):
    shutil.rmtree(os.path.dirname(path), ignore_errors=True)
