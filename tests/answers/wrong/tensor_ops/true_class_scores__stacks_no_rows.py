# verdict: failed


def true_class_scores(scores, labels):
    picked = torch.eye(scores.shape[1], dtype=scores.dtype)[labels]
    return torch.einsum("nc,nc->n", scores, picked) * torch.ones(len(labels)).amax()
