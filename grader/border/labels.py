"""The device that a tensor is said to be on: a label on its storage, so that every view of the same memory shares it.

A simulated GPU tensor is an ordinary CPU tensor with such a label. So is, in the judge, a tensor that came from a
student's real GPU, except in a test of a suite, which is written for the GPU itself. Must never move a tensor, except
there and in a student process that uses real devices.
"""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Final

import torch

from grader.border import tensor_facts

LABEL_ATTRIBUTE: Final = "_simulated_device"
"""Attribute of a storage: the `torch.device` that it is said to be on."""

_NAME: Final = re.compile(r"cpu|(cuda|mps):(0|[1-9][0-9]?)")


class Surroundings:
    """How calls of submitted code run in this process; set by `grader.testkit.devices`.

    Attributes:
        enter: gives the context manager for one call.
        real: whether a device name that arrives means the real device.
        translate: gives the exception to report for one that a call raised.
        close: is called when plain calls begin again.
    """

    def __init__(self) -> None:
        self.close: Callable[[], None] = lambda: None
        self.clear()

    def clear(self) -> None:
        """Plain calls from now on."""
        self.close()
        self.close = lambda: None
        self.enter: Callable[[], AbstractContextManager[object]] = nullcontext
        self.real = False
        self.translate: Callable[[BaseException], BaseException] = lambda error: error


surroundings: Final = Surroundings()


def label_of(tensor: torch.Tensor) -> torch.device | None:
    """The label of a tensor's storage; None for a tensor that is where its ``device`` says."""
    try:
        label: torch.device | None = tensor_facts.storage(tensor).__dict__.get(LABEL_ATTRIBUTE)
    except (NotImplementedError, RuntimeError):  # sparse tensors and functorch's wrappers have no storage
        return None
    return None if label is None or label.type == "cpu" else label


def put_label(tensor: torch.Tensor, device: torch.device) -> None:
    """Says that the memory of this tensor, and of every view of it, is on that device."""
    setattr(tensor_facts.storage(tensor), LABEL_ATTRIBUTE, device)


def name_of(tensor: torch.Tensor) -> str:
    """``"cpu"``, ``"cuda:0"``: the label, or the tensor's own device if there is no label."""
    return str(label_of(tensor) or tensor.device)


def place(tensor: torch.Tensor, name: str) -> torch.Tensor:
    """A tensor that arrived with a device name: labelled, or on the real device if real ones are used.

    Raises:
        ValueError: if it is not the name of a device, or names a real device that this machine does not have.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(name)
    if surroundings.real:
        try:
            return tensor.to(name)
        except (RuntimeError, AssertionError) as error:
            raise ValueError(name) from error
    if name != "cpu":
        put_label(tensor, torch.device(name))
    return tensor
