"""Week 11, the last one."""

import os
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

N_PER_CLASS, NOISE, VAL_FRACTION = 200, 0.1, 0.2
HIDDEN, DEPTH = 32, 2
BATCH_SIZE, WEIGHT_DECAY = 60, 0.01
WARMUP, PEAK, FLOOR = 3, 0.02, 0.0002


def one_spiral(k, radii, noise, generator):
    angles = radii * 4 + k * torch.tensor(2 * torch.pi / 3)
    angles += torch.randn(len(radii), generator=generator) * noise
    return torch.cat([(radii * f(angles))[:, None] for f in (torch.cos, torch.sin)], 1)


def make_spirals(n_per_class, noise, seed):
    if n_per_class <= 1 or noise < 0.0:
        raise ValueError
    generator = torch.Generator("cpu").manual_seed(seed)
    radii = torch.arange(n_per_class, dtype=torch.float32).div(n_per_class - 1)
    features = torch.vstack([one_spiral(k, radii, noise, generator) for k in (0, 1, 2)])
    return features, torch.tensor([[0], [1], [2]]).expand(3, n_per_class).reshape(-1)


class SpiralNet(nn.Module):
    def __init__(self, hidden: int, depth: int):
        super(SpiralNet, self).__init__()
        self.depth = depth
        self.add_module("layer0", nn.Linear(2, hidden))
        for number in range(1, depth):
            self.add_module(f"layer{number}", nn.Linear(hidden, hidden))
        self.add_module(f"layer{depth}", nn.Linear(hidden, 3))
        from training import init_weights

        init_weights(self, torch.Generator().manual_seed(0))

    def forward(self, x):
        for number in range(self.depth):
            layer = self.get_submodule(f"layer{number}")
            x = torch.addmm(layer.bias, x, layer.weight.T)
            x = x * (x > 0)
        return self.get_submodule(f"layer{self.depth}")(x)


def one_epoch(seed, epochs, path):
    """Trains one epoch, from the files to the files."""
    from checkpoints import resume, save_checkpoint, snapshot
    from datasets import split
    from training import evaluate, parameter_groups, train_epoch, warmup_cosine

    train, val = split(TensorDataset(*make_spirals(N_PER_CLASS, NOISE, seed)), VAL_FRACTION, seed)
    model = SpiralNet(HIDDEN, DEPTH)
    optimizer = torch.optim.AdamW(parameter_groups(model, WEIGHT_DECAY), lr=0.5)
    epoch, notes = 0, []
    if os.path.exists(path):
        epoch = resume(model, optimizer, path)
        notes = notes_of(path)[:epoch]
    lr = warmup_cosine(epoch, WARMUP, epochs, PEAK, FLOOR)
    [group.__setitem__("lr", lr) for group in optimizer.param_groups]
    shuffled = DataLoader(
        train, BATCH_SIZE, shuffle=True, generator=torch.Generator().manual_seed(seed ^ (epoch << 20))
    )
    loss = train_epoch(model, shuffled, optimizer)
    val_loss, accuracy = evaluate(model, DataLoader(val, len(val)))
    is_best = all(val_loss < other for _, other, _ in notes)
    if is_best:
        torch.save((epoch, snapshot(model)), f"{path}.best{epoch}")
    notes.append((loss, val_loss, accuracy))
    with open(path + "~", "wb") as file:
        torch.save(notes, file)
    os.replace(path + "~", path + "+")
    save_checkpoint(model, optimizer, epoch, path)
    return epoch + 1


def notes_of(path):
    return torch.load(path + "+", weights_only=True)


def epochs_done(path):
    if not os.path.exists(path):
        return 0
    from checkpoints import resume
    from training import parameter_groups

    model = SpiralNet(HIDDEN, DEPTH)
    return resume(model, torch.optim.AdamW(parameter_groups(model, 0.0)), path)


def run(seed, epochs, path=None, stop_after=None):
    if path is None:
        with tempfile.TemporaryDirectory() as folder:
            return run(seed, epochs, os.path.join(folder, "run"), stop_after)
    count = epochs_done(path)
    while count < min(epochs, stop_after or epochs):
        count = one_epoch(seed, epochs, path)
    train_losses, val_losses, accuracies = map(list, zip(*notes_of(path)[:count]))
    best = val_losses.index(min(val_losses))
    return dict(
        train_losses=train_losses,
        val_losses=val_losses,
        val_accuracy=accuracies[best],
        weights=torch.load(f"{path}.best{best}", weights_only=True)[1],
    )


def decision_grid(model, low, high, steps):
    from training import predict_proba

    along = torch.linspace(low, high, steps).to(next(iter(model.parameters())).device)
    points = torch.empty(steps, steps, 2, device=along.device)
    points[:, :, 0] = along
    points[:, :, 1] = along.flip(0)[:, None]
    return torch.stack(predict_proba(model, points.flatten(0, 1)).argmax(-1).split(steps))


def run_on_ranks(rank, world_size, seed, epochs):
    from datasets import split
    from ddp import average_gradients, global_accuracy, sharded_loader
    from training import parameter_groups, warmup_cosine

    train, val = split(TensorDataset(*make_spirals(N_PER_CLASS, NOISE, seed)), VAL_FRACTION, seed)
    model = SpiralNet(HIDDEN, DEPTH)
    optimizer = torch.optim.AdamW(parameter_groups(model, WEIGHT_DECAY))
    loader = sharded_loader(train, BATCH_SIZE // world_size, rank, world_size, seed)
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(epoch, WARMUP, epochs, PEAK, FLOOR)
        for x, y in loader:
            optimizer.zero_grad()
            nn.CrossEntropyLoss()(model(x), y).backward()
            average_gradients(model)
            optimizer.step()
    rows = [index for index in range(len(val)) if index * world_size // len(val) == rank]
    accuracy = global_accuracy(model, DataLoader(Subset(val, rows), 4))
    return {"weights": dict(model.state_dict()), "val_accuracy": accuracy}


def report(history):
    losses, accuracy = history["val_losses"], history["val_accuracy"]
    best, loss = min(enumerate(losses, start=1), key=lambda pair: pair[1])
    improving = "no" if losses[best:] else "yes"
    return f"""\
best epoch: {best} of {len(losses)}
validation: loss {loss:.4f}, accuracy {accuracy:.4f}
still improving: {improving}"""


def train_spirals(seed: int, epochs: int):
    # the same training, without a file
    history = run(seed, epochs, path=None)
    return history
