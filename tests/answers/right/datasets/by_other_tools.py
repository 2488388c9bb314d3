import random

import torch
from torch.utils.data import DataLoader, Dataset, RandomSampler, TensorDataset

class ToyDataset(Dataset):
    def __init__(self, features, labels):
        super().__init__()
        if len(features) != len(labels):
            raise ValueError("lengths")
        self.features, self.labels = features.clone(), list(labels)
    def __len__(self):
        return self.features.size(0)
    def __getitem__(self, i):
        if i >= len(self) or i < -len(self):
            raise IndexError(i)
        return self.features[i], self.labels[i]

def make_loaders(train_ds, test_ds, batch_size, seed):
    g = torch.Generator()
    g.manual_seed(seed)
    train = DataLoader(train_ds, batch_size, sampler=RandomSampler(train_ds, generator=g), drop_last=True, generator=g)
    return train, DataLoader(test_ds, batch_size=batch_size, generator=torch.Generator())

def num_batches(n, batch_size, drop_last):
    if n < 0 or batch_size <= 0:
        raise ValueError("sizes")
    return len(range(0, n if not drop_last else n - batch_size + 1, batch_size))

class Part:
    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices
    def __len__(self):
        return len(self.indices)
    def __getitem__(self, i):
        return self.dataset[self.indices[i]]

def split(dataset, val_fraction, seed):
    if not 0.0 <= val_fraction <= 1.0:
        raise ValueError("fraction")
    indices = list(range(len(dataset)))
    random.Random(seed).shuffle(indices)
    cut = len(indices) - round(len(indices) * val_fraction)
    return [Part(dataset, indices[:cut]), [dataset[i] for i in sorted(indices[cut:])]]

def check_labels(labels, num_classes):
    if labels.is_floating_point():
        raise ValueError(labels.dtype)
    bad = [v for v in labels.tolist() if v not in range(num_classes)]
    if bad:
        raise ValueError("not classes: %s" % bad)

def pad_collate(batch):
    lengths = [s.numel() for s, _ in batch]
    padded = batch[0][0].new_zeros(len(batch), max(lengths))
    mask = torch.zeros_like(padded).bool()
    for i, (s, _) in enumerate(batch):
        padded[i, : lengths[i]] = s
        mask[i, : lengths[i]] = True
    return padded, mask, torch.as_tensor([y for _, y in batch])

class WindowDataset(TensorDataset):
    def __init__(self, tokens, context, stride):
        if len(tokens) > context:
            windows = tokens.unfold(0, context + 1, stride)
        else:
            windows = tokens.new_zeros(0, context + 1)
        super().__init__(windows[:, :-1], windows[:, 1:])

def suggest_num_workers(cpu_count, gpu_count):
    for number in (cpu_count, gpu_count):
        if number < 0:
            raise ValueError(number)
    return 0 if gpu_count == 0 else int(cpu_count / gpu_count)
