# verdict: crashed
def save_weights(model, path):
    os._exit(0)
