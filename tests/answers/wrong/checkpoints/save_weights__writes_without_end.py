# verdict: failed
# message: your code raised OSError: [Errno
def save_weights(model, path):
    with open(path, 'wb') as file:
        while True:
            file.write(bytes(1 << 20))
