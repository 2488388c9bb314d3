"""Week 5."""

import copy
import math

import torch
from helpers import logits_without_a_trace
from torch import nn


def train_step(model, features, labels, optimizer):
    loss_function = nn.CrossEntropyLoss()
    logits = model(features)
    loss = loss_function(logits, labels)
    model.zero_grad()
    loss.backward()
    optimizer.step()
    loss_before_the_step = loss.detach().item()
    return loss_before_the_step


def train_epoch(model, loader, optimizer):
    model.train()
    sum_of_losses = 0.0
    number_of_examples = 0
    for features, labels in loader:
        batch_size = labels.shape[0]
        mean_loss_of_batch = train_step(model, features, labels, optimizer)
        sum_of_losses = sum_of_losses + mean_loss_of_batch * batch_size
        number_of_examples = number_of_examples + batch_size
    model.train()
    return sum_of_losses / number_of_examples


def fit(model, loader, epochs, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.0)
    losses = []
    for epoch in range(epochs):
        for batch in loader:
            features, labels = batch
            loss = train_step(model, features, labels, optimizer)
            losses.append(loss)
    return losses


def evaluate(model, loader):
    loss_of_each_example = nn.CrossEntropyLoss(reduction="none")
    losses = []
    hits = []
    for features, labels in loader:
        logits = logits_without_a_trace(model, features)
        losses.extend(loss_of_each_example(logits, labels).tolist())
        hits.extend(torch.eq(torch.argmax(logits, dim=1), labels).tolist())
    mean_loss = sum(losses) / len(losses)
    accuracy = sum(hits) / len(hits)
    return mean_loss, accuracy


def predict_proba(model, x):
    logits = logits_without_a_trace(model, x)
    largest = torch.max(logits, dim=1, keepdim=True).values
    exponentials = torch.exp(logits - largest)
    return exponentials / torch.sum(exponentials, dim=1, keepdim=True)


def predict_labels(model, x):
    probabilities = predict_proba(model, x)
    return torch.argmax(probabilities, dim=1)


def fit_best(model, train_loader, val_loader, epochs, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    best_loss = None
    best_model = None
    for epoch in range(epochs):
        train_epoch(model, train_loader, optimizer)
        validation_loss, validation_accuracy = evaluate(model, val_loader)
        is_the_best_so_far = best_loss is None or validation_loss < best_loss
        if is_the_best_so_far:
            best_loss = validation_loss
            best_model = copy.deepcopy(model)
    model.load_state_dict(best_model.state_dict())
    return best_loss


def clip_and_step(model, loss, optimizer, max_norm):
    loss.backward()
    sum_of_squares = 0.0
    for parameter in model.parameters():
        if parameter.grad is not None:
            sum_of_squares = sum_of_squares + torch.sum(parameter.grad**2).item()
    norm = sum_of_squares**0.5
    if norm > max_norm:
        factor = max_norm / norm
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad.mul_(factor)
    optimizer.step()
    return norm


TRAIN_FEATURES = [[-1.2, 3.1], [-0.9, 2.9], [-0.5, 2.6], [2.3, -1.1], [2.7, -1.5]]
TRAIN_LABELS = [0, 0, 0, 1, 1]
TEST_FEATURES = [[-0.8, 2.8], [2.6, -1.6]]
TEST_LABELS = [0, 1]


def experiment(seed=123):
    from datasets import ToyDataset
    from parameters import NeuralNetwork
    from torch.utils.data import DataLoader

    train_features = torch.tensor(TRAIN_FEATURES, dtype=torch.float32)
    train_labels = torch.tensor(TRAIN_LABELS)
    train_dataset = ToyDataset(train_features, train_labels)
    test_dataset = ToyDataset(torch.tensor(TEST_FEATURES, dtype=torch.float32), torch.tensor(TEST_LABELS))
    torch.manual_seed(seed)
    network = NeuralNetwork(2, 2)
    train_loader = DataLoader(train_dataset, batch_size=2, shuffle=True, drop_last=True)
    losses = fit(network, train_loader, 3, 0.5)
    _, train_accuracy = evaluate(network, DataLoader(train_dataset, batch_size=1))
    _, test_accuracy = evaluate(network, DataLoader(test_dataset, batch_size=1))
    probabilities = predict_proba(network, train_features)
    return {
        "losses": losses,
        "train_accuracy": train_accuracy,
        "test_accuracy": test_accuracy,
        "probabilities": probabilities,
    }


def init_weights(model, generator):
    for module in model.modules():
        if not isinstance(module, nn.Linear):
            continue
        bound = math.sqrt(6 / module.in_features)
        numbers = torch.rand(module.weight.shape, generator=generator)
        module.weight.data.copy_(numbers * 2 * bound - bound)
        if module.bias is not None:
            module.bias.data.zero_()


def parameter_groups(model, weight_decay):
    decaying = []
    others = []
    for parameter in model.parameters():
        if not parameter.requires_grad:
            continue
        if len(parameter.shape) < 2:
            others.append(parameter)
        else:
            decaying.append(parameter)
    first = {"params": decaying, "weight_decay": weight_decay}
    second = {"params": others, "weight_decay": 0}
    return [first, second]


def warmup_cosine(step, warmup, total, peak, floor=0.0):
    if warmup < 0:
        raise ValueError("warmup is negative")
    if total <= warmup:
        raise ValueError("there is nothing after the warm-up")
    if step < warmup:
        rise = peak / (warmup + 1)
        return rise * (step + 1)
    if step > total - 1:
        return floor
    way = (step - warmup) / (total - 1 - warmup)
    height = (math.cos(way * math.pi) + 1) / 2
    return floor + height * (peak - floor)
