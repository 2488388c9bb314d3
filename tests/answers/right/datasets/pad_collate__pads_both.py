import torch.nn.functional as F

def pad_collate(batch):
    longest = max((s.shape[0] for s, _ in batch))
    rows, masks, labels = [], [], []
    for s, y in batch:
        rows.append(F.pad(s, (0, longest - s.shape[0])))
        masks.append(F.pad(torch.ones(s.shape[0], dtype=torch.bool), (0, longest - s.shape[0]), value=False))
        labels.append(y.reshape(1))
    return torch.stack(rows), torch.stack(masks), torch.cat(labels)
