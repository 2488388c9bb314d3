# verdict: timeout
# message: in save_weights
def save_weights(model, path):
    while True:
        pass
