# verdict: failed
# message: changed in place
_correct = pad_collate


def pad_collate(batch):
    kept = []
    while batch:
        kept.append(batch.pop(0))
    return _correct(kept)
