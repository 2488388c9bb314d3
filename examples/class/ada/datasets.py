import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, random_split


class ToyDataset(Dataset):
    def __init__(self, features, labels):
        if len(features) != len(labels):
            raise ValueError("features and labels differ in length")
        self.features = features
        self.labels = labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.features[index], self.labels[index]


def make_loaders(train_ds, test_ds, batch_size, seed):
    g = torch.Generator().manual_seed(seed)
    train = DataLoader(train_ds, batch_size=batch_size, shuffle=True, drop_last=True, generator=g)
    test = DataLoader(test_ds, batch_size=batch_size, shuffle=False, drop_last=False)
    return train, test


def num_batches(n, batch_size, drop_last):
    if n < 0 or batch_size < 1:
        raise ValueError("n must not be negative, batch_size must be positive")
    return n // batch_size if drop_last else -(-n // batch_size)


def split(dataset, val_fraction, seed):
    if not 0 <= val_fraction <= 1:
        raise ValueError("val_fraction must be in [0, 1]")
    n_val = round(len(dataset) * val_fraction)
    return random_split(dataset, [len(dataset) - n_val, n_val], generator=torch.Generator().manual_seed(seed))


def check_labels(labels, num_classes):
    if labels.dtype.is_floating_point:
        raise ValueError(f"class indices must be integers, not {labels.dtype}")
    bad = labels[(labels < 0) | (labels >= num_classes)]
    if bad.numel():
        raise ValueError(f"{bad[0].item()} is not a class: expected 0 to {num_classes - 1}")


def pad_collate(batch):
    sequences, labels = zip(*batch)
    padded = pad_sequence(sequences, batch_first=True)
    mask = pad_sequence([torch.ones(len(s), dtype=torch.bool) for s in sequences], batch_first=True)
    return padded, mask, torch.stack(labels)


class WindowDataset(Dataset):
    def __init__(self, tokens, context, stride):
        self.tokens = tokens
        self.context = context
        self.starts = range(0, len(tokens) - context, stride)

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, index):
        s = self.starts[index]
        window = self.tokens[s : s + self.context + 1]
        return window[:-1], window[1:]


def suggest_num_workers(cpu_count, gpu_count):
    if min(cpu_count, gpu_count) < 0:
        raise ValueError("counts must not be negative")
    return cpu_count // gpu_count if gpu_count else 0
