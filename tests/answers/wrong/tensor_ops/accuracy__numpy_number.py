# verdict: failed
# message: where a float was expected


def accuracy(logits: Tensor, labels: Tensor) -> float:
    if not len(labels):
        return 0.0
    return (logits.numpy().argmax(1) == labels.numpy()).mean()
