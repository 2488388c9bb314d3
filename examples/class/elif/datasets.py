import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, Subset


class ToyDataset(Dataset):
    def __init__(self, features, labels):
        self.features = features
        self.labels = labels

    def __len__(self):
        return self.labels.shape[0]

    def __getitem__(self, index):
        x = self.features[index]
        y = self.labels[index]
        return x, y


def make_loaders(train_ds, test_ds, batch_size, seed):
    torch.manual_seed(seed)
    train = DataLoader(train_ds, batch_size=batch_size, shuffle=True, drop_last=True)
    test = DataLoader(test_ds, batch_size=batch_size)
    return train, test


def num_batches(n, batch_size, drop_last):
    if n < 0 or batch_size < 1:
        raise ValueError("bad sizes")
    if drop_last:
        return n // batch_size
    return (n + batch_size - 1) // batch_size


def split(dataset, val_fraction, seed):
    if val_fraction < 0 or val_fraction > 1:
        raise ValueError("val_fraction")
    n_val = round(len(dataset) * val_fraction)
    order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(seed)).tolist()
    return Subset(dataset, order[n_val:]), Subset(dataset, order[:n_val])


def check_labels(labels, num_classes):
    if labels.is_floating_point():
        raise ValueError("labels should be integers")
    for label in labels.tolist():
        if label < 0 or label >= num_classes:
            raise ValueError(f"bad label: {label}")


def pad_collate(batch):
    padded = pad_sequence([s for s, _ in batch], batch_first=True)
    mask = torch.ones(padded.shape, dtype=torch.bool)
    for row, (s, _) in enumerate(batch):
        mask[row, : len(s)] = False
    return padded, mask, torch.stack([y for _, y in batch])


class WindowDataset(Dataset):
    def __init__(self, tokens, context, stride):
        self.tokens, self.context, self.stride = tokens, context, stride

    def __len__(self):
        n = len(self.tokens) - self.context
        return max(0, (n + self.stride - 1) // self.stride)

    def __getitem__(self, i):
        start = i * self.stride
        x = self.tokens[start : start + self.context]
        y = self.tokens[start + 1 : start + self.context + 1]
        return x, y


def suggest_num_workers(cpu_count, gpu_count):
    if cpu_count < 0 or gpu_count < 0:
        raise ValueError("negative count")
    return cpu_count // gpu_count if gpu_count > 0 else 0
