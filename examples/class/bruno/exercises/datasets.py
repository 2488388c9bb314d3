import random

import torch
from torch.utils.data import DataLoader, Dataset, Sampler


class ToyDataset(Dataset):
    def __init__(self, features, labels):
        if features.shape[0] != labels.shape[0]:
            raise ValueError(f"{features.shape[0]} != {labels.shape[0]}")
        self.rows = [(features[i], labels[i]) for i in range(features.shape[0])]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


class Shuffled(Sampler):
    def __init__(self, n, seed):
        self.n = n
        self.dice = random.Random(seed)

    def __len__(self):
        return self.n

    def __iter__(self):
        order = list(range(self.n))
        self.dice.shuffle(order)
        return iter(order)


class InOrder(Shuffled):
    def __iter__(self):
        return iter(range(self.n))


def make_loaders(train_ds, test_ds, batch_size, seed):
    # a loader draws a seed for its workers from somewhere: not from the global numbers
    private = torch.Generator()
    return (
        DataLoader(train_ds, batch_size, sampler=Shuffled(len(train_ds), seed), drop_last=True, generator=private),
        DataLoader(test_ds, batch_size, sampler=InOrder(len(test_ds), seed)),
    )


def num_batches(n, batch_size, drop_last):
    if n < 0:
        raise ValueError("n < 0")
    if batch_size <= 0:
        raise ValueError("batch_size <= 0")
    count = 0
    while n >= batch_size:
        n -= batch_size
        count += 1
    if n > 0 and not drop_last:
        count += 1
    return count


class Part(Dataset):
    def __init__(self, dataset, chosen):
        self.dataset = dataset
        self.chosen = chosen

    def __len__(self):
        return len(self.chosen)

    def __getitem__(self, i):
        return self.dataset[self.chosen[i]]


def split(dataset, val_fraction, seed):
    if val_fraction < 0 or val_fraction > 1:
        raise ValueError("a fraction is between 0 and 1")
    n = len(dataset)
    chosen = set(random.Random(seed).sample(range(n), round(n * val_fraction)))
    val = [i for i in range(n) if i in chosen]
    train = [i for i in range(n) if i not in chosen]
    return Part(dataset, train), Part(dataset, val)


def check_labels(labels, num_classes):
    if labels.is_floating_point():
        raise ValueError("float labels")
    for i, label in enumerate(labels.tolist()):
        if label not in range(num_classes):
            raise ValueError(f"label {label} at position {i}")


def pad_collate(batch):
    longest = max(len(sequence) for sequence, _ in batch)
    padded = batch[0][0].new_zeros(len(batch), longest)
    mask = torch.zeros(len(batch), longest).bool()
    for row, (sequence, _) in enumerate(batch):
        for column, token in enumerate(sequence):
            padded[row, column] = token
            mask[row, column] = True
    return padded, mask, torch.tensor([label.item() for _, label in batch])


class WindowDataset(Dataset):
    def __init__(self, tokens, context, stride):
        self.windows = []
        start = 0
        while start + context + 1 <= len(tokens):
            self.windows.append((tokens[start : start + context], tokens[start + 1 : start + 1 + context]))
            start += stride

    def __len__(self):
        return len(self.windows)

    def __getitem__(self, i):
        return self.windows[i]


def suggest_num_workers(cpu_count, gpu_count):
    if cpu_count < 0 or gpu_count < 0:
        raise ValueError("negative")
    if gpu_count == 0:
        return 0
    return (cpu_count - cpu_count % gpu_count) // gpu_count
