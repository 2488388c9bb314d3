"""Parameters: what a model consists of, how many numbers that is, and how to count them correctly.

A module registers what is assigned to it: parameters, buffers, other modules. Everything here follows from that.
Ask the module (``parameters()``, ``named_parameters()``, ``buffers()``); do not keep your own lists.

Read:
- PyTorch docs, nn.Module: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
- PyTorch tutorial, building a network: https://docs.pytorch.org/tutorials/beginner/basics/buildmodel_tutorial.html
- PyTorch docs, Reproducibility: https://docs.pytorch.org/docs/stable/notes/randomness.html
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

import torch
from torch import Tensor, nn

T = TypeVar("T")


class NeuralNetwork(nn.Module):
    """A fully connected network with two hidden layers, of 30 and 20 units.

    Example:
        >>> model = NeuralNetwork(50, 3)
        >>> [type(layer).__name__ for layer in model.layers]
        ['Linear', 'ReLU', 'Linear', 'ReLU', 'Linear']
        >>> model(torch.zeros(4, 50)).shape
        torch.Size([4, 3])
        >>> sum(p.numel() for p in model.parameters())
        2213

    Read: Raschka, "Build a Large Language Model (From Scratch)", appendix A.5 "Implementing multilayer neural
    networks"; PyTorch docs, `nn.Module` and `nn.Sequential`.
    """

    def __init__(self, num_inputs: int, num_outputs: int) -> None:
        """Make the layers, with biases, and keep them as ``self.layers``.

        ``self.layers`` is an ``nn.Sequential`` of five modules: Linear to 30, ReLU, Linear to 20, ReLU, Linear to
        ``num_outputs``. The network has no other parameters. They begin with random numbers (those of
        ``nn.Linear`` will do), other ones for every network, and can be trained.

        Args:
            num_inputs: the number of features of one example.
            num_outputs: the number of classes.
        """
        super().__init__()
        # solution: one statement
        self.layers = nn.Sequential(
            nn.Linear(num_inputs, 30), nn.ReLU(), nn.Linear(30, 20), nn.ReLU(), nn.Linear(20, num_outputs)
        )
        # end

    def forward(self, x: Tensor) -> Tensor:
        """Raw scores, one per class.

        Args:
            x: shape ``(n, num_inputs)``.

        Returns:
            Logits of shape ``(n, num_outputs)``: what the last Linear gives, any real numbers, no probabilities.
        """
        # solution: one line is enough
        return self.layers(x)
        # end


def count_parameters(model: nn.Module, trainable_only: bool = True) -> int:
    """How many numbers the model's parameters hold.

    Args:
        model: any module, nested in any way; it may have no parameters at all. It may be on the ``meta`` device,
            where tensors have shapes but no memory, and be far larger than this computer's memory.
        trainable_only: count only what an optimizer could change (``requires_grad``); otherwise frozen parameters too.

    Returns:
        The number of elements, an int. A parameter that is used in two places counts once. Buffers (BatchNorm's
        running statistics, masks) are no parameters. The model is not changed.

    Example:
        >>> count_parameters(nn.Linear(50, 30))
        1530
        >>> count_parameters(nn.Linear(50, 30).requires_grad_(False), trainable_only=True)
        0
        >>> count_parameters(nn.Linear(10**6, 10**6, bias=False, device="meta"))
        1000000000000

    Read: Raschka, appendix A.5 "Implementing multilayer neural networks"; PyTorch docs, `nn.Module.parameters`,
    `torch.Tensor.numel`.
    """
    # solution: one line is enough
    return sum(p.numel() for p in model.parameters() if p.requires_grad or not trainable_only)
    # end


def mlp_parameter_count(sizes: Sequence[int], bias: bool = True) -> int:
    """How many parameters a fully connected network has, by arithmetic alone: no layer is made.

    Args:
        sizes: the width of the input, of each hidden layer, and of the output, e.g. ``[50, 30, 20, 3]``. They may
            be so large that such a network could not be made. The list is not changed.
        bias: whether every layer has a bias.

    Returns:
        The number of parameters, an int.

    Raises:
        ValueError: if there are fewer than two sizes: there is no layer then.

    Example:
        >>> mlp_parameter_count([50, 30, 20, 3])
        2213
        >>> mlp_parameter_count([2, 3], bias=False)
        6

    Read: Raschka, appendix A.5 "Implementing multilayer neural networks" and its exercise on counting parameters.
    """
    # solution: each layer joins two neighbouring sizes
    if len(sizes) < 2:
        raise ValueError(f"a network needs at least two sizes, got {len(sizes)}")
    return sum(inputs * outputs + (outputs if bias else 0) for inputs, outputs in pairwise(sizes))
    # end


def parameter_table(model: nn.Module) -> list[tuple[str, tuple[int, ...], int]]:
    """One row per parameter: its dotted name, its shape, how many numbers it has.

    Args:
        model: any module. Frozen parameters belong in the table, buffers do not.

    Returns:
        A list of ``(name, shape, count)`` in the order in which the parameters were registered.

    Example:
        >>> for row in parameter_table(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2, bias=False))):
        ...     print(row)
        ('0.weight', (3, 4), 12)
        ('0.bias', (3,), 3)
        ('2.weight', (2, 3), 6)

    Read: PyTorch docs, `nn.Module.named_parameters`.
    """
    # solution: one line is enough
    return [(name, tuple(p.shape), p.numel()) for name, p in model.named_parameters()]
    # end


def memory_bytes(model: nn.Module) -> int:
    """How many bytes the model's numbers take.

    Args:
        model: any module. Its tensors may have different dtypes: a float32 takes 4 bytes, a float16 takes 2.

    Returns:
        The bytes of all parameters (frozen ones too) and all buffers (also those that are not saved in the
        ``state_dict``), each at its own dtype; gradients do not count. A tensor that is used in two places counts
        once.

    Example:
        >>> memory_bytes(nn.Linear(10, 5))
        220
        >>> memory_bytes(nn.Linear(10, 5).half())
        110

    Read: PyTorch docs, `torch.Tensor.element_size`, `nn.Module.buffers`, `nn.Module.register_buffer`.
    """
    # solution: parameters and buffers alike
    return sum(t.numel() * t.element_size() for t in [*model.parameters(), *model.buffers()])
    # end


def freeze(model: nn.Module, prefix: str) -> int:
    """Switch off training for one part of a model.

    Args:
        model: any module. What is frozen already stays so.
        prefix: a dotted name as in ``named_parameters()``, not empty: of a module (``"layers.0"``) or of one
            parameter (``"layers.0.weight"``). A parameter is meant if its name is ``prefix``, or begins with
            ``prefix`` and a dot. So ``"layers.1"`` does not mean ``"layers.10.weight"``.

    Returns:
        How many parameter tensors were frozen, an int; 0 if none is meant. All others are left as they are, and
        so are the numbers in all of them.

    Example:
        >>> model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))
        >>> freeze(model, "0")
        2
        >>> [name for name, p in model.named_parameters() if p.requires_grad]
        ['1.weight', '1.bias']

    Read: PyTorch docs, `torch.Tensor.requires_grad_` and "Autograd mechanics" ("Locally disabling gradient
    computation").
    """
    # solution: collect, then switch off
    chosen = [p for name, p in model.named_parameters() if name == prefix or name.startswith(prefix + ".")]
    for p in chosen:
        p.requires_grad_(False)
    return len(chosen)
    # end


def seeded(build: Callable[[], T], seed: int) -> T:
    """Make something random in a reproducible way, without changing the random numbers that other code gets.

    Args:
        build: makes and returns something, drawing from torch's global random numbers (every layer's initial weights
            come from there).
        seed: the seed.

    Returns:
        What ``build()`` returns when it is called right after ``torch.manual_seed(seed)``, made anew by every call.
        But the random numbers drawn after this call, torch's and Python's, are the ones that would have been drawn
        if it had never been made; also if ``build`` raises an error.

    Example:
        >>> a, b = seeded(lambda: nn.Linear(2, 1), 123), seeded(lambda: nn.Linear(2, 1), 123)
        >>> torch.equal(a.weight, b.weight)
        True
        >>> state = torch.get_rng_state()
        >>> _ = seeded(lambda: torch.rand(3), 7)
        >>> torch.equal(state, torch.get_rng_state())
        True

    Read: PyTorch docs, "Reproducibility" and `torch.random.fork_rng`; Raschka, appendix A.5 (`torch.manual_seed`).
    """
    # solution: torch has a context manager that puts the state back
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return build()
    # end
