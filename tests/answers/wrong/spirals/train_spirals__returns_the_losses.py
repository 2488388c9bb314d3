# verdict: failed
# message: not a dict


def train_spirals(seed, epochs):
    history = run(seed, epochs)
    return history["train_losses"], history["val_losses"]
