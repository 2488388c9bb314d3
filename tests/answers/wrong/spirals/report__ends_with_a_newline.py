# verdict: failed
def report(history):
    losses = history["val_losses"]
    best = losses.index(min(losses)) + 1
    lines = [
        f"best epoch: {best} of {len(losses)}",
        f"validation: loss {losses[best - 1]:.4f}, accuracy {history['val_accuracy']:.4f}",
        f"still improving: {'yes' if best == len(losses) else 'no'}",
    ]
    return "".join(line + "\n" for line in lines)
