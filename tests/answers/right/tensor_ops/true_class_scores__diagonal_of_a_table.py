def true_class_scores(scores: Tensor, labels: Tensor) -> Tensor:
    return scores[:, labels].diagonal()
