# verdict: failed
def report(history):
    losses = history["val_losses"]
    best = losses.index(min(losses)) + 1
    return (
        f"best epoch: {best} of {len(losses)}\n"
        f"validation: loss {losses[best - 1]:.4f}, accuracy {history['val_accuracy']:.4f}\n"
        f"still improving: {best == len(losses)}"
    )
