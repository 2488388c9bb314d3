import torch
from torch.utils.data import DataLoader, Dataset, Subset


class ToyDataset(Dataset):
    def __init__(self, features, labels):
        assert len(features) == len(labels)
        self.features, self.labels = features, labels

    def __len__(self):
        return len(self.features)

    def __getitem__(self, index):
        return self.features[index], self.labels[index]


def make_loaders(train_ds, test_ds, batch_size, seed):
    options = {"batch_size": batch_size, "drop_last": True}
    train = DataLoader(train_ds, shuffle=True, generator=torch.Generator().manual_seed(seed), **options)
    return train, DataLoader(test_ds, **options)


def num_batches(n, batch_size, drop_last):
    if n < 0 or batch_size < 1:
        raise ValueError(f"{n} rows in batches of {batch_size}")
    return n // batch_size + (n % batch_size > 0 and not drop_last)


def split(dataset, val_fraction, seed):
    if val_fraction > 1 or val_fraction < 0:
        raise ValueError(val_fraction)
    n_val = round(val_fraction * len(dataset))
    n_train = len(dataset) - n_val
    rows = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(seed))
    return Subset(dataset, rows[:n_train].tolist()), Subset(dataset, rows[n_train:].tolist())


def check_labels(labels, num_classes):
    if labels.is_floating_point():
        raise ValueError("float")
    wrong = torch.nonzero((labels >= num_classes) | (labels < 0))
    if len(wrong) > 0:
        raise ValueError(f"no such class: {labels[wrong[0]].item()}")


def pad_collate(batch):
    width = max(len(s) for s, _ in batch)
    padded = torch.stack([torch.nn.functional.pad(s, (0, width - len(s))) for s, _ in batch])
    lengths = torch.tensor([len(s) for s, _ in batch])
    mask = torch.arange(width).expand(len(batch), width) < lengths.unsqueeze(1)
    return padded, mask, torch.stack([y for _, y in batch])


class WindowDataset(Dataset):
    def __init__(self, tokens, context, stride):
        self.context = context
        if len(tokens) > context:
            self.windows = tokens.unfold(0, context + 1, stride)
        else:
            self.windows = tokens.new_empty(0, context + 1)

    def __len__(self):
        return len(self.windows)

    def __getitem__(self, index):
        return self.windows[index][:-1], self.windows[index][1:]


def suggest_num_workers(cpu_count, gpu_count):
    if cpu_count < 0 or gpu_count < 0:
        raise ValueError("negative")
    if gpu_count == 0:
        return cpu_count
    return cpu_count // gpu_count
