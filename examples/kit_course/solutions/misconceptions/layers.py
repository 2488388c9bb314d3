"""Wrong answers to layers."""

from torch import nn

from grader.testkit import misconception


@misconception("freeze_body", tell="You froze the head as well: nothing is left that could train.")
def freezes_everything(model: nn.Module) -> None:
    model.requires_grad_(False)


@misconception("freeze_body", tell="A head that was frozen before stays frozen: set requires_grad to True there.")
def leaves_the_head_alone(model: nn.Module) -> None:
    for name, parameter in model.named_parameters():
        if not name.startswith("head."):
            parameter.requires_grad = False
