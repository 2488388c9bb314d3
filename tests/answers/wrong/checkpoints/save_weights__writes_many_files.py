# verdict: failed
# message: in save_weights
def save_weights(model, path):
    for i in range(10**9):
        with open(f'{path}.{i}', 'wb') as file:
            file.write(bytes(1 << 20))
