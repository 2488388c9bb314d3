"""Layers that train and layers that do not."""

from torch import nn


def freeze_body(model: nn.Module) -> None:
    """Freezes every parameter of a model except those of ``model.head``, which train afterwards.

    Args:
        model: a module with a submodule called ``head``; it is changed in place.

    Read: PyTorch docs, 'Autograd mechanics', on requires_grad.
    """
    # solution: two lines are enough
    model.requires_grad_(False)
    model.head.requires_grad_(True)
    # end
