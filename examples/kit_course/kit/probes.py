"""Probes: small looks at objects in the student process, which give plain values back."""

from torch import nn


def frozen(model: nn.Module) -> list[str]:
    """The names of the parameters that do not train."""
    return [name for name, parameter in model.named_parameters() if not parameter.requires_grad]
