# verdict: failed
# misconception: loops_over_the_rows
# tell: the more rows there are
def true_class_scores(scores, labels):
    parts = [s.gather(1, l[:, None])[:, 0] for s, l in zip(scores.split(1000), labels.split(1000))]
    return torch.cat(parts) if parts else scores.new_zeros(0)
