# verdict: failed
# message: the accuracy
def global_accuracy(model, loader):
    return 0.5
