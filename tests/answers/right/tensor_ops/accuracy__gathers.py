def accuracy(logits: Tensor, labels: Tensor) -> float:
    if not labels.numel():
        return float(0)
    chosen = logits.gather(1, labels[:, None])
    return ((logits > chosen).sum(dim=1) == 0).float().mean().item()
