# verdict: failed


def true_class_scores(scores, labels):
    return scores.float()[torch.arange(len(labels)), labels]
