# verdict: failed
# message: the file was written at `path` itself
import io
def save_weights(model, path):
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    with open(path + ".tmp", "wb") as file:
        file.write(buffer.getvalue()[:-100])
        os.replace(path + ".tmp", path)
        file.write(buffer.getvalue()[-100:])
