# verdict: failed


def true_class_scores(scores, labels):
    labels += torch.arange(len(labels)) * scores.shape[1]
    return scores.flatten()[labels]
