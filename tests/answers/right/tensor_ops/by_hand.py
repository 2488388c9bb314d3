import torch


def shape_of(values):
    return (len(values), *shape_of(values[0])) if isinstance(values, (list, tuple)) and values else ()


def numbers_of(values):
    if isinstance(values, (list, tuple)):
        for value in values:
            yield from numbers_of(value)
    else:
        yield float(values)


def make_tensor(values):
    result = torch.empty(shape_of(values), dtype=torch.float32)
    for place, number in enumerate(numbers_of(values)):
        result.view(-1)[place] = number
    return result


def describe(x):
    return len(x.size()), tuple(x.size(i) for i in range(len(x.size()))), x.dtype


def as_float32(x):
    if x.dtype is torch.float32:
        return x
    result = torch.empty(x.shape, dtype=torch.float32)
    result.copy_(x)
    return result


def flatten_rows(x):
    width = 1
    for size in x.shape[1:]:
        width *= size
    result = torch.empty(x.shape[0], width, dtype=x.dtype)
    for i in range(x.shape[0]):
        result[i] = x[i].flatten()
    return result


def swap_last_axes(x):
    order = list(range(x.dim()))
    order[-1], order[-2] = order[-2], order[-1]
    return x.permute(order)


def gram(x):
    n = len(x)
    result = x.new_zeros(n, n)
    for i in range(n):
        for j in range(i + 1):
            result[i, j] = result[j, i] = (x[i] * x[j]).sum()
    return result


def standardize(x, eps=1e-5):
    n = x.shape[0]
    mean = x.sum(0) / n
    centered = x - mean
    std = ((centered * centered).sum(0) / (n - 1)) ** 0.5
    return centered / (std + eps)


def pairwise_sq_dists(a, b):
    left = a.unsqueeze(1).expand(-1, len(b), -1)
    right = b.unsqueeze(0).expand(len(a), -1, -1)
    return torch.square(torch.sub(left, right)).sum(2)


def softmax(x, dim):
    slices = x.unbind(dim)
    top = slices[0]
    for one in slices[1:]:
        top = torch.maximum(top, one)
    weights = [torch.exp(one - top) for one in slices]
    total = sum(weights)
    return torch.stack([one / total for one in weights], dim)


def accuracy(logits, labels):
    right, n = 0, 0
    for row, label in zip(logits.tolist(), labels.tolist(), strict=True):
        right += row[label] == max(row)
        n += 1
    return right / n if n else 0.0


def true_class_scores(scores, labels):
    found = scores.new_zeros(len(labels))
    for column in range(scores.shape[1]):
        found = torch.where(labels == column, scores[:, column], found)
    return found


def masked_mean(x, mask):
    total = x.new_zeros(x.shape[0], x.shape[2])
    count = x.new_zeros(x.shape[0], 1)
    for position in range(x.shape[1]):
        here = mask[:, position : position + 1]
        total = total + torch.where(here, x[:, position], x.new_zeros(()))
        count = count + here
    return total / (count + (count == 0))


def outer_sum(a, b):
    shape = torch.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    return a.view(*a.shape, 1).expand(*shape, a.shape[-1], b.shape[-1]) + b.view(*b.shape[:-1], 1, b.shape[-1])


def one_hot(labels, num_classes):
    for label in labels.reshape(-1):
        if int(label) < 0 or int(label) >= num_classes:
            raise ValueError(int(label))
    found = torch.zeros(labels.numel(), num_classes)
    for row, label in enumerate(labels.reshape(-1).tolist()):
        found[row, label] = 1
    return found.reshape(*labels.shape, num_classes)
