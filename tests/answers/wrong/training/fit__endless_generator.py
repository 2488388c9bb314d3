# verdict: failed
# others: blocked
# message: generator
def fit(model, loader, epochs, lr):
    while True:
        yield 0.75
