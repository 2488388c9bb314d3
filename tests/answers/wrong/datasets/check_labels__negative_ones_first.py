# verdict: failed
# misconception: names_the_smallest
# tell: by a search for those below 0 first
def check_labels(labels, num_classes):
    if labels.is_floating_point():
        raise ValueError("labels are integers")
    for wrong in (labels[labels < 0], labels[labels >= num_classes]):
        if len(wrong):
            raise ValueError(f"label {int(wrong[0])}")
