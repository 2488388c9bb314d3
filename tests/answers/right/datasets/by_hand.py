import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, Sampler, random_split

class ToyDataset(Dataset):
    def __init__(self, features, labels):
        if features.shape[0] != labels.shape[0]:
            raise ValueError("lengths")
        self.rows = [[x, y] for x, y in zip(features, labels)]
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, index):
        return self.rows[index]

class Shuffled(Sampler):
    def __init__(self, n, seed):
        self.n, self.seed, self.epoch = n, seed, 0
    def __len__(self):
        return self.n
    def __iter__(self):
        self.epoch += 1
        g = torch.Generator().manual_seed(1_000_003 * self.seed + self.epoch)
        return iter(torch.randperm(self.n, generator=g).tolist())

def make_loaders(train_ds, test_ds, batch_size, seed):
    sampler = BatchSampler(Shuffled(len(train_ds), seed), batch_size, True)
    train = DataLoader(train_ds, batch_sampler=sampler, generator=torch.Generator())
    return [train, DataLoader(test_ds, batch_size=batch_size, shuffle=False, drop_last=False)]

def num_batches(n, batch_size, drop_last):
    if not (n >= 0 and batch_size > 0):
        raise ValueError
    return n // batch_size if drop_last else -(-n // batch_size)

def split(dataset, val_fraction, seed):
    if val_fraction < 0 or val_fraction > 1:
        raise ValueError("fraction")
    n_val = int(round(len(dataset) * val_fraction))
    return random_split(dataset, [len(dataset) - n_val, n_val], generator=torch.Generator().manual_seed(seed))

def check_labels(labels, num_classes):
    if labels.dtype in (torch.float16, torch.float32, torch.float64, torch.bfloat16):
        raise ValueError("float labels")
    for i, label in enumerate(labels):
        if label < 0 or label >= num_classes:
            raise ValueError(f"labels[{i}] = {label}")
    return True

def pad_collate(batch):
    width = max([len(s) for s, _ in batch])
    padded = torch.stack([torch.cat([s, torch.zeros(width - len(s), dtype=s.dtype)]) for s, _ in batch])
    mask = torch.tensor([[i < len(s) for i in range(width)] for s, _ in batch], dtype=torch.bool)
    return [padded, mask, torch.tensor([int(y) for _, y in batch])]

class WindowDataset(Dataset):
    def __init__(self, tokens, context, stride):
        self.inputs, self.targets = [], []
        for s in range(0, len(tokens) - context, stride):
            self.inputs.append(tokens[s : s + context].clone())
            self.targets.append(tokens[s + 1 : s + context + 1].clone())
    def __len__(self):
        return len(self.inputs)
    def __getitem__(self, index):
        return [self.inputs[index], self.targets[index]]

def suggest_num_workers(cpu_count, gpu_count):
    if min(cpu_count, gpu_count) < 0:
        raise ValueError
    try:
        return cpu_count // gpu_count
    except ZeroDivisionError:
        return 0
