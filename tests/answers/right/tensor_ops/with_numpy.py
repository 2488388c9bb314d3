import numpy as np
import torch


def make_tensor(values):
    return torch.from_numpy(np.array(values, dtype=np.float32))


def describe(x):
    return x.numpy().ndim, x.numpy().shape, x.dtype


def as_float32(x):
    return x if x.dtype == torch.float32 else x.clone().type(torch.FloatTensor)


def flatten_rows(x):
    array = x.numpy()
    return torch.from_numpy(array.reshape(len(array), int(np.prod(array.shape[1:]))).copy())


def swap_last_axes(x):
    return torch.from_numpy(x.numpy().swapaxes(-1, -2))


def gram(x):
    return torch.from_numpy(np.inner(x.numpy(), x.numpy()))


def standardize(x, eps=1e-5):
    array = x.numpy()
    return torch.from_numpy((array - array.mean(0)) / (array.std(0, ddof=1) + np.asarray(eps, array.dtype)))


def pairwise_sq_dists(a, b):
    left, right = a.numpy(), b.numpy()
    return torch.from_numpy(((left[:, np.newaxis] - right[np.newaxis]) ** 2).sum(-1))


def softmax(x, dim):
    array = x.numpy()
    weights = np.exp(array - array.max(axis=dim, keepdims=True))
    return torch.from_numpy(weights / weights.sum(axis=dim, keepdims=True))


def accuracy(logits, labels):
    if logits.shape[0] == 0:
        return 0.0
    return float(np.mean(logits.numpy().argmax(-1) == labels.numpy()))


def true_class_scores(scores, labels):
    columns = torch.from_numpy(np.arange(scores.shape[1]))
    return torch.masked_select(scores, columns[None, :] == labels[:, None])


def masked_mean(x, mask):
    counts = torch.from_numpy(np.maximum(mask.numpy().sum(axis=1, keepdims=True), 1))
    return (x * mask[:, :, None]).sum(1) / counts


def outer_sum(a, b):
    return torch.from_numpy(np.add(a.numpy()[..., :, None], b.numpy()[..., None, :]))


def one_hot(labels, num_classes):
    array = labels.numpy()
    outside = array[(array < 0) | (array >= num_classes)]
    if outside.size:
        raise ValueError("outside: %d" % outside.flat[0])
    return torch.from_numpy(np.eye(num_classes, dtype=np.float32)[array])
