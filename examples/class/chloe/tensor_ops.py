"""Week 1. I wrote every step on its own line so that I can print the shapes."""

import torch
from helpers import product


def make_tensor(values):
    tensor = torch.as_tensor(values)
    tensor_in_float32 = tensor.to(dtype=torch.float32)
    return tensor_in_float32


def describe(x):
    number_of_dimensions = x.dim()
    shape = tuple(x.shape)
    data_type = x.dtype
    return (number_of_dimensions, shape, data_type)


def as_float32(x):
    is_float32_already = x.dtype == torch.float32
    if is_float32_already:
        return x
    else:
        return x.to(torch.float32)


def flatten_rows(x):
    number_of_rows = x.shape[0]
    width = product(x.shape[1:])
    in_order = x.contiguous()
    return in_order.view(number_of_rows, width)


def swap_last_axes(x):
    last = x.dim() - 1
    second_to_last = x.dim() - 2
    return torch.transpose(x, second_to_last, last)


def gram(x):
    columns = torch.transpose(x, 0, 1)
    products = torch.matmul(x, columns)
    return products


def standardize(x, eps=1e-5):
    mean_of_each_column = torch.mean(x, dim=0, keepdim=True)
    std_of_each_column = torch.std(x, dim=0, keepdim=True, correction=1)
    shifted = x - mean_of_each_column
    scaled = shifted / (std_of_each_column + eps)
    return scaled


def pairwise_sq_dists(a, b):
    a_squared = torch.sum(a * a, dim=1, keepdim=True)
    b_squared = torch.sum(b * b, dim=1, keepdim=True)
    products = torch.matmul(a, b.T)
    distances = a_squared + b_squared.T - 2 * products
    return torch.clamp(distances, min=0)


def softmax(x, dim):
    largest_of_each_slice, _ = torch.max(x, dim=dim, keepdim=True)
    shifted = x - largest_of_each_slice
    exponentials = torch.exp(shifted)
    sum_of_each_slice = torch.sum(exponentials, dim=dim, keepdim=True)
    return exponentials / sum_of_each_slice


def accuracy(logits, labels):
    number_of_examples = labels.shape[0]
    if number_of_examples == 0:
        return 0.0
    predicted_classes = torch.argmax(logits, dim=1)
    is_right = torch.eq(predicted_classes, labels)
    number_of_right_ones = int(torch.sum(is_right))
    return number_of_right_ones / number_of_examples


def true_class_scores(scores, labels):
    n, classes = scores.shape
    places = torch.arange(n) * classes + labels
    flat = scores.reshape(-1)
    return flat[places]


def masked_mean(x, mask):
    column = mask.unsqueeze(2)
    nothing = torch.zeros_like(x)
    kept = torch.where(column, x, nothing)
    total = kept.sum(dim=1)
    count = mask.sum(dim=1)
    count = torch.maximum(count, torch.tensor(1))
    return total / count.unsqueeze(1)


def outer_sum(a, b):
    column = a.unsqueeze(-1)
    row = b.unsqueeze(-2)
    return column + row


def one_hot(labels, num_classes):
    if labels.numel() > 0:
        wrong = torch.logical_or(labels < 0, labels > num_classes - 1)
        if wrong.any():
            first = labels[wrong][0].item()
            raise ValueError("wrong label: " + str(first))
    classes = torch.arange(num_classes)
    same = classes == labels.unsqueeze(-1)
    return same.float()
