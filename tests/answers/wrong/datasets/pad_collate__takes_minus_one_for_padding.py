# verdict: failed
# message: No number is special
def pad_collate(batch):
    s, y = zip(*batch)
    padded = pad_sequence(list(s), batch_first=True, padding_value=-1)
    mask = padded != -1
    return padded.masked_fill(~mask, 0), mask, torch.stack(y)
