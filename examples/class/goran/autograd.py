"""Gradients: how torch computes them, where it stores them, and which mistakes to avoid.

Torch records how tensors are computed from a tensor that requires grad: that is the graph. Going through it backwards
gives gradients. They are *added* to ``.grad`` of the leaves, the tensors that were not computed from others, and they
stay there until you clear them.

Read:
- PyTorch docs, Autograd mechanics: https://docs.pytorch.org/docs/stable/notes/autograd.html
- PyTorch tutorial, torch.autograd: https://docs.pytorch.org/tutorials/beginner/basics/autogradqs_tutorial.html
- PyTorch docs, Extending PyTorch: https://docs.pytorch.org/docs/stable/notes/extending.html
- Dive into Deep Learning, Automatic Differentiation: https://d2l.ai/chapter_preliminaries/autograd.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def logistic_loss(x: Tensor, y: Tensor, w: Tensor, b: Tensor) -> Tensor:
    """The loss of logistic regression with one feature.

    The prediction is ``p = sigmoid(x * w + b)``, the probability of class 1. The loss of one example is its
    binary cross-entropy, ``-(y * log(p) + (1 - y) * log(1 - p))``; the result is the mean over all examples.

    Loss and gradients are right and finite for any logit ``x * w + b`` from -1,000 to 1,000, where the formula above
    as it stands takes the logarithm of 0.

    Args:
        x: shape ``(n,)``, floats.
        y: shape ``(n,)``, the true classes as floats, each 0.0 or 1.0.
        w: shape ``(1,)``, requires grad.
        b: shape ``(1,)``, requires grad.

    Returns:
        A scalar (no dimensions) with a graph: ``backward()`` on it reaches ``w`` and ``b``. That call is the
        caller's: ``w.grad`` and ``b.grad`` are not touched here.

    Example:
        >>> w, b = torch.tensor([2.2], requires_grad=True), torch.tensor([0.0], requires_grad=True)
        >>> loss = logistic_loss(torch.tensor([1.1]), torch.tensor([1.0]), w, b)
        >>> round(loss.item(), 4)
        0.0852
        >>> loss.backward()
        >>> w.grad, b.grad
        (tensor([-0.0898]), tensor([-0.0817]))

    Read: Raschka, "Build a Large Language Model (From Scratch)", appendix A.3 "Seeing models as computation
    graphs" and A.4 "Automatic differentiation made easy"; PyTorch docs, `F.binary_cross_entropy_with_logits`.
    """
    # torch has exactly this loss
    raise NotImplementedError("write `logistic_loss` here")


def gradients(loss: Tensor, params: Sequence[Tensor]) -> list[Tensor]:
    """The gradient of a loss with respect to each parameter, as a result and not as a side effect.

    ``loss.backward()`` writes into ``.grad`` of every leaf of the graph. This function must not: whatever any
    tensor's ``.grad`` was before (None, or a gradient left over), it is afterwards, also for leaves that are
    not in ``params``. The graph must be kept, so that the same call can be made a second time.

    Args:
        loss: a scalar with a graph.
        params: leaf tensors that require grad. The loss may not depend on some of them.

    Returns:
        A list with one tensor per parameter, of its shape and dtype: ``d loss / d p``, zeros where the loss does
        not depend on ``p``.

    Example:
        >>> a, b = torch.tensor(3.0, requires_grad=True), torch.tensor([1.0, 2.0], requires_grad=True)
        >>> gradients(a * a, [a, b])
        [tensor(6.), tensor([0., 0.])]
        >>> a.grad is None
        True

    Read: PyTorch docs, `torch.autograd.grad` (mind ``retain_graph`` and ``allow_unused``); Raschka, appendix A.4
    "Automatic differentiation made easy".
    """
    # torch has a function that returns gradients; mind what it gives for unused parameters
    raise NotImplementedError("write `gradients` here")


def numerical_gradient(f: Callable[[Tensor], Tensor], x: Tensor, eps: float = 1e-4) -> Tensor:
    """The gradient of a function, approximated by central differences, without autograd.

    For each element ``i`` on its own: ``(f(x with x_i + eps) - f(x with x_i - eps)) / (2 * eps)``. The error
    shrinks with ``eps ** 2``; a one-sided difference is far worse.

    Args:
        f: takes a tensor of the shape of ``x`` and returns a scalar tensor. It does not change its input.
        x: float64, of any shape (also no dimensions, or no elements), in any memory layout. Afterwards it
            has exactly the numbers it had before.
        eps: the step, a positive number.

    Returns:
        A float64 tensor of the shape of ``x``.

    Example:
        >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)
        >>> numerical_gradient(lambda x: (x ** 2).sum(), x)
        tensor([[2.0000, 4.0000],
                [6.0000, 8.0000]], dtype=torch.float64)

    Read: Dive into Deep Learning, "Calculus"; PyTorch docs, `torch.autograd.gradcheck`, which does the same to
    test a backward.
    """
    # a loop over the elements; work on copies
    raise NotImplementedError("write `numerical_gradient` here")


def sgd_step(params: Sequence[Tensor], lr: float) -> None:
    """One step of gradient descent: ``p = p - lr * p.grad`` for every parameter, in its own memory.

    Args:
        params: leaf tensors that require grad. One whose ``.grad`` is None is skipped. Afterwards they are the
            same tensors with other numbers: still leaves, still requiring grad, with no history; and their
            ``.grad`` is as it was.
        lr: the learning rate.

    A step depends on its own parameters, gradients and learning rate alone: nothing is remembered for the next one
    (no momentum). Code that runs afterwards has its gradients recorded as before, or not recorded if they were not.

    Example:
        >>> p, unused = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([5.0], requires_grad=True)
        >>> p.grad = torch.tensor([10.0, -10.0])
        >>> sgd_step([p, unused], lr=0.1)
        >>> p, unused, p.grad
        (tensor([0., 3.], requires_grad=True), tensor([5.], requires_grad=True), tensor([ 10., -10.]))

    Read: PyTorch docs, `torch.no_grad` and "Autograd mechanics"; Raschka, appendix A.7 "A typical training loop"
    for what an optimizer does for you.
    """
    # the step itself is no part of any graph
    raise NotImplementedError("write `sgd_step` here")


def clear_gradients(params: Sequence[Tensor]) -> None:
    """Clear all gradients, so that the next ``backward()`` starts from nothing.

    Args:
        params: leaf tensors, with a gradient or without one. Afterwards every ``.grad`` is None: no zeros,
            which would still take memory and still make an optimizer step. Nothing else about them changes.

    Example:
        >>> p = torch.tensor([1.0], requires_grad=True)
        >>> p.grad = torch.tensor([10.0])
        >>> clear_gradients([p])
        >>> p.grad is None
        True

    Read: PyTorch docs, `torch.optim.Optimizer.zero_grad` (what does ``set_to_none`` do?).
    """
    # two lines are enough
    raise NotImplementedError("write `clear_gradients` here")


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """A block in which a model is used, not trained: ``with evaluating(model): ...``.

    Dropout and BatchNorm behave differently in training; use needs their eval mode. And it needs no graph, which would
    keep every intermediate value in memory. Written once, here, it is of use wherever you look at a model later:
    ``from autograd import evaluating``.

    Args:
        model: a module, in any mode: some of its submodules, at any depth, may be in training mode and others not.

    Returns:
        A context manager. Inside its block the model and every submodule are in eval mode, and no gradients are
        recorded. Afterwards the ``training`` flag of each is what it was before, and gradients are recorded if they
        were before; so it is if the block raises an error, which the caller of the block gets. Nothing else about the
        model changes. It may be used inside another one of the same model.

    Example:
        >>> model = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.9))
        >>> with evaluating(model):
        ...     logits = model(torch.ones(4, 2))
        ...     print(model.training, model[1].training, logits.requires_grad)
        False False False
        >>> model.training, model[1].training, torch.is_grad_enabled()
        (True, True, True)

    Read: PyTorch docs, `nn.Module.eval` and `torch.no_grad` ("Locally disabling gradient computation": they are two
    different things); Python docs, `contextlib.contextmanager`.
    """
    # save every flag, switch, yield inside no_grad, and restore every flag whatever happens
    raise NotImplementedError("write `evaluating` here")


def predict_logits(model: nn.Module, x: Tensor) -> Tensor:
    """The model's output for a batch, in a block of `evaluating`: new is only that a result leaves the block.

    Args:
        model: a module, in any mode: some of its submodules may be in training mode and others not. After the
            call the ``training`` flag of the model and of every submodule is what it was before, and so is all
            else about it: parameters, buffers, ``requires_grad``, ``.grad``. Training goes on as if there had been
            no call: code that runs afterwards has its gradients recorded as before, or not recorded if they were
            not. (What is left behind if the model raises an error is up to you.)
        x: a batch, the model's input.

    Returns:
        What calling the model on ``x`` gives when the whole model is in eval mode; it does not require grad.

    Example:
        >>> model = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.9))
        >>> logits = predict_logits(model, torch.ones(4, 2))
        >>> logits.shape, logits.requires_grad, model.training
        (torch.Size([4, 3]), False, True)

    Read: PyTorch docs, `nn.Module.eval` and `torch.no_grad`; Raschka, appendix A.5 "Implementing multilayer neural
    networks".
    """
    # one call, in such a block
    raise NotImplementedError("write `predict_logits` here")


class Cube(torch.autograd.Function):
    """The function ``x ** 3`` with a backward written by hand.

    ``Cube.apply(x)`` is differentiable like any torch operation: torch calls ``forward`` to compute the result, and
    later ``backward`` with the gradient that comes from the rest of the graph.

    Example:
        >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        >>> y = Cube.apply(x)
        >>> y.detach()
        tensor([1., 8.], dtype=torch.float64)
        >>> (10 * y).sum().backward()
        >>> x.grad
        tensor([ 30., 120.], dtype=torch.float64)

    Read: PyTorch docs, "Extending torch.autograd" and `torch.autograd.Function`.
    """

    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        """The cube of every element.

        Args:
            ctx: keeps what ``backward`` will need; see ``ctx.save_for_backward``.
            x: any shape, not to be changed.

        Returns:
            The shape of ``x``.
        """
        # two lines
        raise NotImplementedError("write `Cube.forward` here")

    @staticmethod
    def backward(ctx, grad_output: Tensor) -> Tensor:
        """The chain rule through ``x ** 3``.

        Args:
            ctx: what ``forward`` was given; see ``ctx.saved_tensors``.
            grad_output: the gradient of the final loss with respect to this function's *output*, in its shape;
                not to be changed, as torch may give it to others, too.

        Returns:
            The gradient of the final loss with respect to this function's *input*, in its shape.
        """
        # two lines
        raise NotImplementedError("write `Cube.backward` here")


def accumulate_gradients(
    model: nn.Module, loss_fn: Callable[[Tensor, Tensor], Tensor], batches: Sequence[tuple[Tensor, Tensor]]
) -> None:
    """The gradient of a big batch that does not fit in memory, computed from small batches.

    There is room for the graph of one small batch at a time: it must be freed before the next one is made.

    Args:
        model: gets features, gives outputs. Afterwards ``.grad`` of its trainable parameters is the gradient of
            the **mean loss over all examples** of all batches together. Gradients left over from before the call
            must not be part of it. Parameters keep their values; ``training`` and ``requires_grad`` stay as they are.
        loss_fn: ``loss_fn(outputs, targets)`` is the mean loss over the examples of one batch, a scalar.
        batches: a list of ``(features, targets)``; the first dimension of both counts the examples, and need not
            be the same in every batch.

    Example:
        >>> model = nn.Linear(1, 1, bias=False)
        >>> ones = lambda n: torch.ones(n, 1)
        >>> mean_output = lambda outputs, targets: outputs.mean()
        >>> accumulate_gradients(model, mean_output, [(ones(3), ones(3)), (5 * ones(1), ones(1))])
        >>> model.weight.grad
        tensor([[2.]])

    (Three examples with gradient 1 and one with gradient 5: their mean is 2.)

    Read: *Deep Learning with GPU*, training checklist (gradient accumulation); PyTorch docs, "Autograd mechanics".
    """
    # backward adds; so give it each batch's share of the mean
    raise NotImplementedError("write `accumulate_gradients` here")
