"""Puts weights of a check's choice into a module that a student wrote. Runs in the judge.

Never takes the module's word: names and shapes are read by torch's own means, and compared here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from torch import Tensor

from grader.errors import did_you_mean
from grader.testkit import probes
from grader.testkit.compare import assert_that
from grader.text import counted

if TYPE_CHECKING:
    from grader.border.proxies import Remote, SubmissionProxy


def load_weights(submission: SubmissionProxy, module: Remote, weights: Mapping[str, Tensor] | Sequence[Tensor]) -> None:
    """Writes these numbers into the parameters of a module over there, so that its outcome can be worked out here.

    Args:
        module: a handle to a ``torch.nn.Module``.
        weights: by name, as in ``state_dict()``, where a shared parameter has any of its names; or a list, in order of
            registration.

    Raises:
        AssertionError: the module has other parameters, said in words for the student: one is missing, one is too
            many, or one has another shape.
    """
    found = submission.there(probes.parameter_shapes, module)
    if isinstance(weights, Mapping):
        names = [name for group in found for name in group]
        missing = next((wanted for wanted in weights if wanted not in names), None)
        if missing is not None:  # looking for similar names takes longer than to load the weights
            raise AssertionError(f"the module has no parameter `{missing}`{did_you_mean(missing, names)}")
        numbers = []
        for group in found:
            known = [weights[name] for name in group if name in weights]
            assert_that(bool(known), f"the module has a parameter `{next(iter(group))}`, which is one too many")
            numbers.append(known[0])
    else:
        numbers = list(weights)
        are = (
            f"{counted(len(found), 'parameter')} where {len(numbers)} {'was' if len(numbers) == 1 else 'were'} expected"
        )
        assert_that(len(found) == len(numbers), f"the module has {are}")
    for group, new in zip(found, numbers, strict=True):
        name, shape = next(iter(group.items()))
        wanted_shape = tuple(new.shape)
        assert_that(shape == wanted_shape, f"`{name}` has the shape {shape}, where {wanted_shape} was expected")
    submission.there(probes.put_weights, module, numbers)
