"""Classic wrong answers of tensor_ops, each with the message for the student who gave it.

Never make one of them right: every one here must be caught by a check.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from grader.testkit import misconception

# ---------------------------------------------------------------- make_tensor


@misconception(
    "make_tensor",
    tell="Your tensor has the dtype that torch guessed: int64 when all numbers are integers. Models compute in "
    "float32, so pass the dtype when you make the tensor.",
)
def keeps_int64(values: Any) -> Tensor:
    return torch.tensor(values)


@misconception(
    "make_tensor",
    tell="Your tensor is float64, which is Python's and NumPy's default. PyTorch models use float32: half the memory, "
    "and the dtype of their weights.",
)
def makes_float64(values: Any) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


@misconception(
    "make_tensor",
    tell="torch.Tensor and torch.FloatTensor take a bare number as a size, not as a value. torch.tensor, in lower "
    "case, always takes values.",
)
def number_taken_for_a_size(values: Any) -> Tensor:
    return torch.Tensor(values)


@misconception(
    "make_tensor",
    tell="The digits after the point are gone: the numbers passed through an integer dtype on their way to float32. "
    "Convert once, straight to the dtype you want.",
)
def cut_to_whole_numbers(values: Any) -> Tensor:
    return torch.tensor(values, dtype=torch.int64).float()


# ------------------------------------------------------------------- describe


@misconception("describe", tell="You return the shape as a list. Return a tuple.")
def shape_as_list(x: Tensor) -> tuple[Any, ...]:
    return x.dim(), list(x.shape), x.dtype


@misconception(
    "describe",
    tell="Your rank is the number of elements. The rank of a tensor is its number of dimensions: a (2, 3) matrix "
    "has 6 elements and rank 2.",
)
def elements_for_rank(x: Tensor) -> tuple[Any, ...]:
    return x.numel(), tuple(x.shape), x.dtype


@misconception(
    "describe",
    tell="len(x) is the size of the first dimension, not the number of dimensions (and a 0-d tensor has no len).",
)
def length_for_rank(x: Tensor) -> tuple[Any, ...]:
    return len(x), tuple(x.shape), x.dtype


@misconception(
    "describe", tell="You return the dtype's name as a string. torch.float32 is an object: return x.dtype as it is."
)
def dtype_as_text(x: Tensor) -> tuple[Any, ...]:
    return x.dim(), tuple(x.shape), str(x.dtype)


# ----------------------------------------------------------------- as_float32


@misconception(
    "as_float32",
    tell="You always make a copy. A tensor that is float32 already must be returned itself; x.to(...) and x.float() "
    "copy only when something has to change.",
)
def always_copies(x: Tensor) -> Tensor:
    return x.to(torch.float32, copy=True)


@misconception(
    "as_float32",
    tell="You converted x but did not use the result: x.float() does not change x, it returns a new tensor.",
)
def result_dropped(x: Tensor) -> Tensor:
    x.float()
    return x


@misconception(
    "as_float32",
    tell="x.view(dtype) keeps the bits and reads them as another type, so the numbers change. Convert the values with "
    "x.to(...) or x.float().",
)
def reads_the_bits_anew(x: Tensor) -> Tensor:
    return x.view(torch.float32)


@misconception(
    "as_float32",
    tell="You return float64: .double() and Python's float are 64 bits wide. In torch, .float() is float32.",
)
def converts_to_float64(x: Tensor) -> Tensor:
    return x.double()


# --------------------------------------------------------------- flatten_rows


@misconception(
    "flatten_rows",
    tell="view never copies, so it fails where the memory is not in the order you ask for (a transposed tensor). "
    "reshape copies when it must. And -1 cannot be worked out when there are no rows.",
)
def view_on_non_contiguous(x: Tensor) -> Tensor:
    return x.view(x.shape[0], -1)


@misconception(
    "flatten_rows",
    tell="view never copies, so it fails where the memory is not in the order you ask for (a transposed tensor). "
    "reshape copies when it must.",
)
def view_with_full_sizes(x: Tensor) -> Tensor:
    return x.view(x.shape[0], math.prod(x.shape[1:]))


@misconception(
    "flatten_rows",
    tell="With 0 rows there are 0 elements, and -1 could stand for any number. Work out the width from x.shape.",
)
def minus_one_without_rows(x: Tensor) -> Tensor:
    return x.reshape(x.shape[0], -1)


@misconception(
    "flatten_rows", tell="A vector has no dimension 1 where flattening could start; it should become a column (n, 1)."
)
def no_second_dimension(x: Tensor) -> Tensor:
    return x.flatten(start_dim=1)


@misconception(
    "flatten_rows",
    tell="The shape is right, but the elements are shuffled between the rows: you put the wrong dimension first and "
    "then transposed. A reshape straight to (n, width) keeps each row together.",
)
def rows_scrambled(x: Tensor) -> Tensor:
    return x.reshape(math.prod(x.shape[1:]), x.shape[0]).T


@misconception(
    "flatten_rows",
    tell="You flattened the batch dimension as well. The first dimension counts the examples: leave it as it is.",
)
def flattens_the_batch_too(x: Tensor) -> Tensor:
    return x.flatten()


@misconception(
    "flatten_rows",
    tell="unsqueeze_ (with the underscore) gives the caller's own vector a second dimension. Return a new view and "
    "leave x alone.",
)
def reshapes_the_input(x: Tensor) -> Tensor:
    if x.dim() == 1:
        return x.unsqueeze_(1)
    return x.reshape(x.shape[0], math.prod(x.shape[1:]))


# ------------------------------------------------------------- swap_last_axes


@misconception(
    "swap_last_axes",
    tell="reshape gives the right shape but keeps the elements in the old order: [i, j] did not become [j, i]. To "
    "exchange dimensions, transpose.",
)
def reshape_for_transpose(x: Tensor) -> Tensor:
    return x.reshape(*x.shape[:-2], x.shape[-1], x.shape[-2])


@misconception(
    "swap_last_axes",
    tell="You reversed all dimensions (that is what .T means). Only the last two change places; the batch dimensions "
    "before them stay.",
)
def reverses_all_axes(x: Tensor) -> Tensor:
    return x.permute(*reversed(range(x.dim())))


@misconception(
    "swap_last_axes",
    tell="You exchanged the first two dimensions. That is the same for a matrix, but not for a batch of them: "
    "count from the end, with negative numbers.",
)
def swaps_first_axes(x: Tensor) -> Tensor:
    return x.transpose(0, 1)


@misconception(
    "swap_last_axes",
    tell="The values are right, but you copied them. A transpose only changes how memory is read: return the view, "
    "without .contiguous() or .clone().",
)
def copies_the_data(x: Tensor) -> Tensor:
    return x.transpose(-2, -1).contiguous()


@misconception(
    "swap_last_axes",
    tell="transpose_ (with the underscore) transposes the caller's own tensor. Return a new view and leave x alone.",
)
def turns_the_input_round(x: Tensor) -> Tensor:
    return x.transpose_(-2, -1)


# ----------------------------------------------------------------------- gram


@misconception(
    "gram",
    tell="x.T @ x multiplies columns by columns and has shape (d, d). For dot products of rows, the rows must be the "
    "rows of the left matrix and the columns of the right one.",
)
def columns_with_columns(x: Tensor) -> Tensor:
    return x.T @ x


@misconception(
    "gram", tell="* multiplies element by element. A dot product multiplies and sums: that is @ (torch.matmul)."
)
def elementwise_product(x: Tensor) -> Tensor:
    return x * x


@misconception(
    "gram",
    tell="x @ x multiplies rows by columns, and works for square matrices only. For dot products of rows, transpose "
    "the right one.",
)
def forgets_the_transpose(x: Tensor) -> Tensor:
    return x @ x


@misconception(
    "gram",
    tell="You have the dot product of each row with itself, n numbers. The result should have all pairs: an (n, n) "
    "matrix.",
)
def diagonal_only(x: Tensor) -> Tensor:
    return (x * x).sum(dim=1)


@misconception(
    "gram",
    tell="You changed the caller's tensor: *= and functions ending in _ write into it. Build a new tensor instead.",
)
def squares_in_place(x: Tensor) -> Tensor:
    products = x @ x.T
    products.diagonal().copy_(x.pow_(2).sum(dim=1))
    return products


@misconception(
    "gram",
    tell="You divide each row by its length first, which gives the cosine of the angle between rows. The dot product "
    "takes the rows as they are.",
)
def cosines(x: Tensor) -> Tensor:
    x = x / x.norm(dim=1, keepdim=True)
    return x @ x.T


# ---------------------------------------------------------------- standardize


@misconception(
    "standardize",
    tell="You changed the caller's tensor: -=, /= and functions ending in _ write into it. Build a new tensor instead.",
)
def mutates_its_input(x: Tensor, eps: float = 1e-5) -> Tensor:
    mean, std = x.mean(dim=0), x.std(dim=0)
    x -= mean
    x /= std + eps
    return x


@misconception(
    "standardize",
    tell="Your standard deviation divides by n. The unbiased one, torch's default, divides by n - 1.",
    seen="passes(0, 'correction')",
)
def biased_std(x: Tensor, eps: float = 1e-5) -> Tensor:
    return (x - x.mean(dim=0)) / (x.std(dim=0, correction=0) + eps)


@misconception(
    "standardize",
    tell="You took one mean and one standard deviation for the whole table. Each column is a separate feature: reduce "
    "over the rows only.",
)
def one_global_mean(x: Tensor, eps: float = 1e-5) -> Tensor:
    return (x - x.mean()) / (x.std() + eps)


@misconception(
    "standardize",
    tell="You standardized each row. dim names the dimension that disappears: to get one mean per column, "
    "the rows must go.",
    seen="dim('mean', 1)",
)
def rows_for_columns(x: Tensor, eps: float = 1e-5) -> Tensor:
    return (x - x.mean(dim=1, keepdim=True)) / (x.std(dim=1, keepdim=True) + eps)


@misconception(
    "standardize",
    tell="You reduced along the wrong dimension and without keepdim, so the result has one number per row and does "
    "not broadcast over the columns.",
)
def wrong_dim_without_keepdim(x: Tensor, eps: float = 1e-5) -> Tensor:
    return (x - x.mean(dim=1)) / (x.std(dim=1) + eps)


@misconception(
    "standardize",
    tell="You left eps out: a constant column has standard deviation 0, and 0 / 0 is nan.",
    seen="lacks('eps')",
)
def no_eps(x: Tensor, eps: float = 1e-5) -> Tensor:
    return (x - x.mean(dim=0)) / x.std(dim=0)


@misconception(
    "standardize",
    tell="You added eps to the variance, under the square root, as BatchNorm and LayerNorm do. Here it is added to the "
    "standard deviation.",
)
def eps_under_the_root(x: Tensor, eps: float = 1e-5) -> Tensor:
    return (x - x.mean(dim=0)) / (x.var(dim=0) + eps).sqrt()


@misconception(
    "standardize",
    tell="You divided by the variance. The standard deviation is its square root.",
    seen="lacks('std', 'sqrt', 'std_mean', 'rsqrt', at='var')",
)
def divides_by_variance(x: Tensor, eps: float = 1e-5) -> Tensor:
    return (x - x.mean(dim=0)) / (x.var(dim=0) + eps)


@misconception("standardize", tell="You always add 1e-5, whatever eps says. Use the argument.")
def ignores_eps(x: Tensor, eps: float = 1e-5) -> Tensor:
    return (x - x.mean(dim=0)) / (x.std(dim=0) + 1e-5)


@misconception(
    "standardize", tell="You take eps as a lower bound of the standard deviation. It is added to it, whatever that is."
)
def eps_as_a_lower_bound(x: Tensor, eps: float = 1e-5) -> Tensor:
    return (x - x.mean(dim=0)) / x.std(dim=0).clamp_min(eps)


@misconception(
    "standardize",
    tell="Python divides before it subtracts, so only the mean is divided in your formula. Put x - mean in brackets.",
)
def divides_only_the_mean(x: Tensor, eps: float = 1e-5) -> Tensor:
    return x - x.mean(dim=0) / (x.std(dim=0) + eps)


# ---------------------------------------------------------- pairwise_sq_dists


@misconception(
    "pairwise_sq_dists",
    tell="You took the square root. The result should be the squared distances: leave the root out.",
)
def square_root_taken(a: Tensor, b: Tensor) -> Tensor:
    return (a[:, None] - b[None]).pow(2).sum(dim=-1).sqrt()


@misconception(
    "pairwise_sq_dists",
    tell="You compared row i of a with row i of b only, which needs n = m and gives n numbers. Every row of a must be "
    "compared with every row of b: an (n, m) matrix.",
)
def zips_rows(a: Tensor, b: Tensor) -> Tensor:
    return (a - b).pow(2).sum(dim=-1)


@misconception(
    "pairwise_sq_dists",
    tell="The numbers are right, but a Python loop over the rows makes more torch calls the more rows there are. "
    "Give a and b an extra dimension each and let broadcasting make the pairs.",
)
def loops_over_rows(a: Tensor, b: Tensor) -> Tensor:
    return torch.stack([(row - b).pow(2).sum(dim=-1) for row in a])


@misconception(
    "pairwise_sq_dists",
    tell="|a|^2 + |b|^2 - 2ab subtracts large numbers that are nearly equal, and where two rows are close the rounded "
    "result can be below zero. Clamp the result at 0, or square differences.",
)
def expanded_without_clamp(a: Tensor, b: Tensor) -> Tensor:
    return a.pow(2).sum(dim=1, keepdim=True) + b.pow(2).sum(dim=1) - 2 * a @ b.T


@misconception(
    "pairwise_sq_dists",
    tell="Your matrix is (m, n): rows belong to b and columns to a. Entry (i, j) is for row i of a and row j of b.",
)
def b_before_a(a: Tensor, b: Tensor) -> Tensor:
    return (b[:, None] - a[None]).pow(2).sum(dim=-1)


@misconception(
    "pairwise_sq_dists", tell="You summed absolute differences (Manhattan distance). Euclidean distance squares them."
)
def sums_absolute_differences(a: Tensor, b: Tensor) -> Tensor:
    return (a[:, None] - b[None]).abs().sum(dim=-1)


@misconception(
    "pairwise_sq_dists",
    tell="Python loops over the rows, here over the numbers that tolist() gives, take ever more time the more rows "
    "there are. Give a and b an extra dimension each and let broadcasting make the pairs.",
)
def loops_over_lists(a: Tensor, b: Tensor) -> Tensor:
    rows = [[sum((p - q) ** 2 for p, q in zip(row, other)) for other in b.tolist()] for row in a.tolist()]
    return torch.tensor(rows, dtype=a.dtype)


@misconception(
    "pairwise_sq_dists",
    tell="pow_ (with the underscore) squares the caller's own tables. Build new tensors and leave a and b alone.",
)
def squares_the_inputs(a: Tensor, b: Tensor) -> Tensor:
    products = a @ b.T
    return (a.pow_(2).sum(dim=1, keepdim=True) + b.pow_(2).sum(dim=1) - 2 * products).clamp_min(0)


@misconception(
    "pairwise_sq_dists",
    tell="The differences have the shape (n, m, d), and you add up over one of the tables. Add up over the last "
    "dimension, that of the features.",
)
def sums_over_a_table(a: Tensor, b: Tensor) -> Tensor:
    return ((a[:, None] - b[None]) ** 2).sum(dim=1)


# -------------------------------------------------------------------- softmax


@misconception(
    "softmax",
    tell="exp of a large score is inf, and inf / inf is nan; with very low scores it is 0 / 0. Subtract the maximum "
    "along dim first: the probabilities stay the same.",
)
def unstable_softmax(x: Tensor, dim: int) -> Tensor:
    weights = x.exp()
    return weights / weights.sum(dim=dim, keepdim=True)


@misconception(
    "softmax",
    tell="You subtracted one maximum for the whole tensor. A slice whose scores are far below it becomes 0 / 0: each "
    "slice along dim needs its own.",
)
def one_shift_for_all(x: Tensor, dim: int) -> Tensor:
    weights = (x - x.max()).exp()
    return weights / weights.sum(dim=dim, keepdim=True)


@misconception(
    "softmax",
    tell="You divided by the sum of the whole tensor, so only the grand total is 1. Each slice along dim sums to 1.",
)
def sums_over_everything(x: Tensor, dim: int) -> Tensor:
    weights = (x - x.amax(dim=dim, keepdim=True)).exp()
    return weights / weights.sum()


@misconception("softmax", tell="You always normalize the last dimension, whatever dim says.")
def ignores_dim(x: Tensor, dim: int) -> Tensor:
    weights = (x - x.amax(dim=-1, keepdim=True)).exp()
    return weights / weights.sum(dim=-1, keepdim=True)


@misconception(
    "softmax",
    tell="Without keepdim=True the reduced dimension is gone, and the maximum and the sum broadcast over the wrong "
    "dimension, or fail to broadcast.",
)
def forgets_keepdim(x: Tensor, dim: int) -> Tensor:
    weights = (x - x.amax(dim=dim)).exp()
    return weights / weights.sum(dim=dim)


@misconception(
    "softmax",
    tell="You called torch's softmax. The exercise is to write it yourself: subtract the maximum, exp, divide by the "
    "sum.",
    seen="calls('torch.softmax', 'F.softmax')",
)
def calls_torch_softmax(x: Tensor, dim: int) -> Tensor:
    return torch.softmax(x, dim=dim)


@misconception(
    "softmax",
    tell="You cut the scores off at some number, so that exp does not overflow. All scores beyond it then look equal. "
    "Subtract the maximum along dim instead: the probabilities stay the same.",
)
def clamps_the_scores(x: Tensor, dim: int) -> Tensor:
    weights = x.clamp(-80, 80).exp()
    return weights / weights.sum(dim=dim, keepdim=True)


@misconception(
    "softmax", tell="-= and functions ending in _ write into the caller's scores. Build a new tensor: x = x - maximum."
)
def shifts_the_input(x: Tensor, dim: int) -> Tensor:
    x -= x.amax(dim=dim, keepdim=True)
    weights = x.exp()
    return weights / weights.sum(dim=dim, keepdim=True)


@misconception(
    "softmax",
    tell="Without keepdim the sums lose their dimension, and broadcasting divides by the wrong ones. Keep it, with "
    "size 1: keepdim=True.",
)
def sums_without_keepdim(x: Tensor, dim: int) -> Tensor:
    weights = (x - x.amax(dim=dim, keepdim=True)).exp()
    return weights / weights.sum(dim=dim)


# ---------------------------------------------------------- true_class_scores


@misconception(
    "true_class_scores",
    tell="scores[:, labels] picks whole columns: an (n, n) table, with every row at every label. Give an index for the "
    "rows, too: both are then used pair by pair.",
)
def whole_columns(scores: Tensor, labels: Tensor) -> Tensor:
    return scores[:, labels]


@misconception(
    "true_class_scores",
    tell="scores[labels] picks whole rows: the first index is the row. Give both, the row and its label.",
)
def whole_rows(scores: Tensor, labels: Tensor) -> Tensor:
    return scores[labels]


@misconception(
    "true_class_scores",
    tell="Your result has a second dimension of size 1: gather keeps the number of dimensions. Remove the last one.",
)
def keeps_a_column(scores: Tensor, labels: Tensor) -> Tensor:
    return scores.gather(1, labels.unsqueeze(1))


@misconception(
    "true_class_scores",
    tell="squeeze() without a dim removes every dimension of size 1: with a single row nothing is left of the first, "
    "either. Say which one: squeeze(1).",
)
def squeezes_all(scores: Tensor, labels: Tensor) -> Tensor:
    return scores.gather(1, labels.unsqueeze(1)).squeeze()


@misconception(
    "true_class_scores",
    tell="The numbers are right, but a Python loop over the rows makes more torch calls the more rows there are. "
    "Index with two tensors at once: the rows and the labels.",
)
def loops_over_the_rows(scores: Tensor, labels: Tensor) -> Tensor:
    if len(labels) == 0:
        return scores.new_zeros(0)
    return torch.stack([row[label] for row, label in zip(scores, labels)])


@misconception(
    "true_class_scores",
    tell="tolist(), item(), numpy() and detach() leave the graph: no gradient reaches the scores. Index the tensor "
    "itself.",
    seen="cuts_the_graph",
)
def out_of_the_graph(scores: Tensor, labels: Tensor) -> Tensor:
    return scores.detach()[torch.arange(len(labels)), labels]


@misconception(
    "true_class_scores",
    tell="You return the largest score of each row. The label says which one is wanted; it need not be the largest.",
)
def largest_of_each_row(scores: Tensor, labels: Tensor) -> Tensor:
    return scores.amax(dim=1)


# ---------------------------------------------------------------- masked_mean


@misconception(
    "masked_mean", tell="You take the mean over all positions, padding too. Leave out those where the mask is False."
)
def mean_over_padding_too(x: Tensor, mask: Tensor) -> Tensor:
    return x.mean(dim=1)


@misconception("masked_mean", tell="You divide by the length t. Divide by how many positions of this sequence count.")
def divides_by_the_length(x: Tensor, mask: Tensor) -> Tensor:
    return (x * mask.unsqueeze(-1)).mean(dim=1)


@misconception(
    "masked_mean",
    tell="A sequence in which nothing counts is 0 / 0, which is nan. It should be zeros: divide by at least 1.",
)
def nan_where_nothing_is_seen(x: Tensor, mask: Tensor) -> Tensor:
    return (x * mask.unsqueeze(-1)).sum(dim=1) / mask.sum(dim=1, keepdim=True)


@misconception(
    "masked_mean",
    tell="You replace the nan of an empty sequence afterwards. The result is right, but the gradient still goes "
    "through 0 / 0 and is nan. Divide by at least 1, so that there is none to replace.",
)
def nan_replaced_afterwards(x: Tensor, mask: Tensor) -> Tensor:
    return ((x * mask.unsqueeze(-1)).sum(dim=1) / mask.sum(dim=1, keepdim=True)).nan_to_num(0.0)


@misconception(
    "masked_mean",
    tell="You take one mean over all sequences together: x[mask] puts their positions in one long list. Each sequence "
    "has a mean of its own.",
)
def one_mean_for_all(x: Tensor, mask: Tensor) -> Tensor:
    return x[mask].mean(dim=0).expand(len(x), -1)


@misconception(
    "masked_mean",
    tell="Your mask is turned round: you take the mean of the positions that do not count. True is what counts.",
    seen="fills_where('mask', 0)",
)
def mask_inverted(x: Tensor, mask: Tensor) -> Tensor:
    padding = x.masked_fill(mask.unsqueeze(-1), 0.0)
    return padding.sum(dim=1) / (~mask).sum(dim=1, keepdim=True).clamp(min=1)


@misconception(
    "masked_mean",
    tell="You divide all sequences by how many positions count in the whole batch. Count for each sequence.",
)
def divides_by_the_count_of_all(x: Tensor, mask: Tensor) -> Tensor:
    return (x * mask.unsqueeze(-1)).sum(dim=1) / mask.sum().clamp(min=1)


@misconception(
    "masked_mean",
    tell="You add a small number to the count, so that every mean comes out a little too small. Divide by the count "
    "itself, and by 1 where it is 0.",
)
def adds_to_the_count(x: Tensor, mask: Tensor) -> Tensor:
    return (x * mask.unsqueeze(-1)).sum(dim=1) / (mask.sum(dim=1, keepdim=True) + 1e-2)


@misconception(
    "masked_mean",
    tell="x[~mask] = 0 and functions ending in _ write into the caller's tensor. Build a new one, with masked_fill or "
    "a product.",
)
def clears_the_input(x: Tensor, mask: Tensor) -> Tensor:
    with torch.no_grad():
        x[~mask] = 0
    return x.sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp(min=1)


@misconception(
    "masked_mean",
    tell="x[mask] puts the positions of all sequences into one table, so there is one mean for all of them. Each "
    "sequence has a mean of its own.",
)
def one_mean_for_all_sequences(x: Tensor, mask: Tensor) -> Tensor:
    return x[mask].mean(dim=0)


# ------------------------------------------------------------------ outer_sum


@misconception(
    "outer_sum",
    tell="You made a column of b and a row of a: entry (i, j) is then a[j] + b[i]. Rows belong to a, columns to b.",
)
def unsqueezes_the_wrong_one(a: Tensor, b: Tensor) -> Tensor:
    return a.unsqueeze(-2) + b.unsqueeze(-1)


@misconception(
    "outer_sum",
    tell="a + b adds number by number. For every number of a with every number of b, give a a new last dimension, and "
    "b one before its last.",
)
def adds_pair_by_pair(a: Tensor, b: Tensor) -> Tensor:
    return a + b


@misconception(
    "outer_sum",
    tell="You count dimensions from the front: a[:, None] is right for vectors only. Count from the end, so that the "
    "dimensions before the last stay where they are.",
)
def counts_from_the_front(a: Tensor, b: Tensor) -> Tensor:
    return a.unsqueeze(1) + b.unsqueeze(0)


@misconception(
    "outer_sum",
    tell="The sums are right, but repeat copies its input before adding. Broadcasting needs no copy: a dimension of "
    "size 1 is enough (and expand makes a view).",
    seen="calls('repeat')",
)
def repeats_first(a: Tensor, b: Tensor) -> Tensor:
    n, m = a.shape[-1], b.shape[-1]
    wide = a.unsqueeze(-1).repeat(*[1] * a.dim(), m)
    return wide + b.unsqueeze(-2).repeat(*[1] * (b.dim() - 1), n, 1)


@misconception("outer_sum", tell="You multiply: that is the outer product. Here the numbers are added.")
def multiplies(a: Tensor, b: Tensor) -> Tensor:
    return a.unsqueeze(-1) * b.unsqueeze(-2)


# -------------------------------------------------------------------- one_hot


@misconception(
    "one_hot", tell="Your result has whole numbers or booleans. A model computes in float32: convert it in the end."
)
def rows_of_integers(labels: Tensor, num_classes: int) -> Tensor:
    _outside(labels, num_classes)
    return (labels.unsqueeze(-1) == torch.arange(num_classes)).long()


@misconception(
    "one_hot",
    tell="You called F.one_hot. The exercise is to write it yourself: compare each label with all classes.",
    seen="calls('one_hot')",
)
def calls_torch_one_hot(labels: Tensor, num_classes: int) -> Tensor:
    _outside(labels, num_classes)
    return torch.nn.functional.one_hot(labels, num_classes).to(torch.float32)


@misconception(
    "one_hot",
    tell="A label outside gives a row of zeros in your version, and no error. Such a mistake in the data is found "
    "much later, if at all: raise a ValueError.",
)
def zeros_for_labels_outside(labels: Tensor, num_classes: int) -> Tensor:
    return (labels.unsqueeze(-1) == torch.arange(num_classes)).to(torch.float32)


@misconception(
    "one_hot",
    tell="A negative label counts from the end, as in every index of Python, so it gets a 1 at another class. Check "
    "for labels below 0, too.",
)
def negative_counts_from_the_end(labels: Tensor, num_classes: int) -> Tensor:
    above = labels[labels >= num_classes]
    if len(above) > 0:
        raise ValueError(f"label {above[0].item()} is too large")
    return torch.eye(num_classes)[labels]


@misconception(
    "one_hot",
    tell="Your message does not name the first label that is outside. Whoever reads it has to know where to look: put "
    "the label in it.",
)
def error_without_the_label(labels: Tensor, num_classes: int) -> Tensor:
    if ((labels < 0) | (labels >= num_classes)).any():
        raise ValueError("there is a label outside")
    return (labels.unsqueeze(-1) == torch.arange(num_classes)).to(torch.float32)


@misconception(
    "one_hot", tell="The largest label of this batch says nothing about how many classes there are. Use num_classes."
)
def as_wide_as_the_largest_label(labels: Tensor, num_classes: int) -> Tensor:
    _outside(labels, num_classes)
    classes = int(labels.max()) + 1 if labels.numel() else num_classes
    return (labels.unsqueeze(-1) == torch.arange(classes)).to(torch.float32)


@misconception(
    "one_hot",
    tell="Your result has one row per label in a single table: the shape of the labels is gone. Keep it, and put "
    "num_classes after it.",
)
def labels_in_a_row(labels: Tensor, num_classes: int) -> Tensor:
    _outside(labels, num_classes)
    return torch.eye(num_classes)[labels.flatten()]


@misconception(
    "one_hot",
    tell="An index outside raises torch's IndexError or RuntimeError in your version. Look at the labels first, and "
    "raise a ValueError.",
)
def error_of_torch(labels: Tensor, num_classes: int) -> Tensor:
    return torch.zeros(*labels.shape, num_classes).scatter_(-1, labels.unsqueeze(-1), 1.0)


def _outside(labels: Tensor, num_classes: int) -> None:
    found = labels[(labels < 0) | (labels >= num_classes)]
    if len(found) > 0:
        raise ValueError(f"label {found[0].item()} is not in [0, {num_classes})")


# ------------------------------------------------------------------- accuracy


@misconception(
    "accuracy",
    tell="You return a 0-d tensor. It prints like a number, but the result should be a Python float: use .item().",
)
def returns_a_tensor(logits: Tensor, labels: Tensor) -> Any:
    if len(labels) == 0:
        return torch.tensor(0.0)
    return (logits.argmax(dim=1) == labels).float().mean()


@misconception("accuracy", tell="You return a percentage. Return a fraction in [0, 1].", seen="multiplies_by(100)")
def percent_for_fraction(logits: Tensor, labels: Tensor) -> float:
    if len(labels) == 0:
        return 0.0
    return 100.0 * (logits.argmax(dim=1) == labels).sum().item() / len(labels)


@misconception(
    "accuracy",
    tell="You took the argmax over the batch: the best example of each class. The predicted class is the best class of "
    "each example.",
    seen="dim('argmax', 0)",
)
def argmax_over_batch(logits: Tensor, labels: Tensor) -> float:
    if len(labels) == 0:
        return 0.0
    return (logits.argmax(dim=0) == labels).float().mean().item()


@misconception(
    "accuracy", tell="The mean of no examples is nan (and 0 / 0 is an error). Handle n == 0 before you divide."
)
def nan_for_no_examples(logits: Tensor, labels: Tensor) -> float:
    return (logits.argmax(dim=1) == labels).float().mean().item()


@misconception("accuracy", tell="You return how many are right. The fraction is that number divided by n.")
def counts_without_dividing(logits: Tensor, labels: Tensor) -> float:
    return float((logits.argmax(dim=1) == labels).sum())


@misconception(
    "accuracy",
    tell="You divided the number of right examples by the number of scores, n times C. There is one prediction per "
    "example: divide by n.",
)
def divides_by_all_scores(logits: Tensor, labels: Tensor) -> float:
    if len(labels) == 0:
        return 0.0
    return (logits.argmax(dim=1) == labels).sum().item() / logits.numel()


@misconception(
    "accuracy",
    tell="Your search for the largest score starts at 0, so it finds none in a row of negative scores. Scores are any "
    "numbers: start at the first one, or use argmax.",
)
def best_score_from_zero(logits: Tensor, labels: Tensor) -> float:
    if len(labels) == 0:
        return 0.0
    right = 0
    for row, label in zip(logits.tolist(), labels.tolist()):
        best, found = 0.0, -1
        for place, score in enumerate(row):
            if score > best:
                best, found = score, place
        right += found == label
    return right / len(labels)


@misconception(
    "accuracy",
    tell="You count an example as right when its class has more than half of the probability. The largest of many may "
    "have less: only compare it with the others.",
)
def more_than_half_of_the_probability(logits: Tensor, labels: Tensor) -> float:
    if len(labels) == 0:
        return 0.0
    probabilities = torch.softmax(logits, dim=1)[torch.arange(len(labels)), labels]
    return (probabilities > 0.5).float().mean().item()


@misconception("accuracy", tell="-= writes into the caller's labels, wrong ever after. == makes a new tensor.")
def subtracts_from_the_labels(logits: Tensor, labels: Tensor) -> float:
    if len(labels) == 0:
        return 0.0
    labels -= logits.argmax(dim=1)
    return (labels == 0).float().mean().item()


@misconception(
    "accuracy",
    tell="Without a dim, argmax gives one number: the place of the largest score of the whole table. Take the largest "
    "of each row, with dim=1.",
    seen="dim('argmax', None)",
)
def argmax_of_the_whole_table(logits: Tensor, labels: Tensor) -> float:
    return (logits.argmax() == labels).float().mean().item()


@misconception(
    "accuracy",
    tell="You compare the largest scores themselves with the labels. The class is the place of the largest score: that "
    "is what argmax gives.",
)
def scores_for_places(logits: Tensor, labels: Tensor) -> float:
    if not len(labels):
        return 0.0
    return (logits.max(dim=1).values == labels).float().mean().item()
