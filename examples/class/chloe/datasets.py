"""Week 4."""

import torch
from torch.utils.data import DataLoader, Dataset, RandomSampler, SequentialSampler, Subset


class ToyDataset(Dataset):
    """Keeps the two tensors."""

    def __init__(self, features, labels):
        super().__init__()
        number_of_rows = features.size(0)
        number_of_labels = labels.size(0)
        if number_of_rows != number_of_labels:
            raise ValueError(f"{number_of_rows} rows, {number_of_labels} labels")
        self.number_of_rows = number_of_rows
        self.features = features
        self.labels = labels

    def __len__(self):
        return self.number_of_rows

    def __getitem__(self, index):
        is_outside = index >= self.number_of_rows or index < -self.number_of_rows
        if is_outside:
            raise IndexError(f"row {index} of {self.number_of_rows}")
        if index < 0:
            index = index + self.number_of_rows
        features_of_row = self.features[index]
        label_of_row = self.labels[index]
        return (features_of_row, label_of_row)


def make_loaders(train_ds, test_ds, batch_size, seed):
    own_random_numbers = torch.Generator()
    own_random_numbers.manual_seed(seed)
    train_sampler = RandomSampler(train_ds, generator=own_random_numbers)
    train_loader = DataLoader(
        dataset=train_ds,
        batch_size=batch_size,
        sampler=train_sampler,
        drop_last=True,
        generator=own_random_numbers,
    )
    test_sampler = SequentialSampler(test_ds)
    test_loader = DataLoader(dataset=test_ds, batch_size=batch_size, sampler=test_sampler)
    return train_loader, test_loader


def num_batches(n, batch_size, drop_last):
    if n < 0 or batch_size < 1:
        raise ValueError(f"n = {n}, batch_size = {batch_size}")
    full_batches = n // batch_size
    rows_in_the_last_batch = n % batch_size
    if rows_in_the_last_batch > 0 and not drop_last:
        return full_batches + 1
    return full_batches


def split(dataset, val_fraction, seed):
    if val_fraction < 0 or 1 < val_fraction:
        raise ValueError(f"val_fraction = {val_fraction}")
    number_of_rows = len(dataset)
    number_for_validation = round(number_of_rows * val_fraction)
    own_random_numbers = torch.Generator()
    own_random_numbers.manual_seed(seed)
    shuffled_rows = torch.randperm(number_of_rows, generator=own_random_numbers).tolist()
    validation_rows = shuffled_rows[:number_for_validation]
    training_rows = shuffled_rows[number_for_validation:]
    return Subset(dataset, training_rows), Subset(dataset, validation_rows)


def check_labels(labels, num_classes):
    if torch.is_floating_point(labels):
        raise ValueError("labels must be integers")
    for label in labels:
        value = int(label)
        if value < 0:
            raise ValueError(f"negative label {value}")
        if value >= num_classes:
            raise ValueError(f"label {value} is too large")


def pad_collate(batch):
    lengths = [len(sequence) for sequence, label in batch]
    longest = max(lengths)
    padded_rows = []
    mask_rows = []
    labels = []
    for sequence, label in batch:
        missing = longest - len(sequence)
        zeros = torch.zeros(missing, dtype=sequence.dtype)
        padded_rows.append(torch.cat([sequence, zeros]))
        mask_rows.append(torch.tensor([True] * len(sequence) + [False] * missing, dtype=torch.bool))
        labels.append(label)
    return torch.stack(padded_rows), torch.stack(mask_rows), torch.stack(labels)


class WindowDataset(Dataset):
    """Next-token windows, cut when they are asked for."""

    def __init__(self, tokens, context, stride):
        super().__init__()
        self.tokens = tokens
        self.context = context
        self.stride = stride
        last_possible_start = len(tokens) - (context + 1)
        if last_possible_start < 0:
            self.number_of_windows = 0
        else:
            self.number_of_windows = last_possible_start // stride + 1

    def __len__(self):
        return self.number_of_windows

    def __getitem__(self, index):
        if index < 0 or index >= self.number_of_windows:
            raise IndexError(index)
        start = index * self.stride
        inputs = self.tokens[start : start + self.context]
        targets = self.tokens[start + 1 : start + self.context + 1]
        return inputs, targets


def suggest_num_workers(cpu_count, gpu_count):
    if cpu_count < 0:
        raise ValueError("cpu_count")
    if gpu_count < 0:
        raise ValueError("gpu_count")
    try:
        return cpu_count // gpu_count
    except ZeroDivisionError:
        return 0
