"""The first sentence of a failure: what Python's and torch's own exceptions become, one by one, and what it never says.

The exceptions are raised by Python and torch themselves, and go the way of a student's: described, sent, made a cause.
"""

from __future__ import annotations

import bdb
import difflib
import io
import math as math_
import os
import re
import string
import sys
import time
import warnings
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.distributed as dist
from msgspec.structs import replace
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler

from grader.border.failures import SubmissionRaised, exception_of, raised_error
from grader.border.service import Service
from grader.intake.notebook import RUNNING, module_of
from grader.judge import cause as causes
from grader.judge import explain
from grader.judge.explain import advice_on
from grader.judge.hints import Hints
from grader.judge.known_errors import close_names, known_errors
from grader.results import Cause, ExerciseResult, Frame
from grader.testkit.compare import Mismatch, assert_close

ONES = torch.ones(2, 3)
BATCH = torch.ones(2, 3, 4)
NOTHING: Any = None
NAME: Any = "a"
NUMBER: Any = 3
NO_PARAMETERS: Any = ()


def wrapped_on_the_cpu() -> None:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        nn.parallel.DistributedDataParallel(nn.Linear(1, 1), device_ids=[torch.device("cpu")])
    finally:
        dist.destroy_process_group()


def batch_turned_round() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that it will be an error some day
        _ = BATCH @ BATCH.T


def windows() -> None:
    raise RuntimeError("expected m1 and m2 to have the same dtype, but got: struct c10::Half != __int64")


def circle() -> None:
    raise ImportError("cannot import name 'fit' from partially initialized module 'training' (most likely due to a")


class AnyCheck:
    """The attributes of a check that causes are made from."""

    exercise = "tensor_ops.gram"
    sentence = "What is asked for."
    hidden = False


def check() -> Any:
    return AnyCheck()


def raised_by(function: Callable[[], object]) -> SubmissionRaised:
    """What the judge gets of the exception that a function raises."""
    found = exception_of(Service(ModuleType("m"), frozenset({__file__})).describe(error_of(function)))
    assert isinstance(found, SubmissionRaised)
    return found


def error_of(function: Callable[[], object]) -> BaseException:
    try:
        function()
    except BaseException as error:
        return error
    raise AssertionError("it raises nothing")


def advice_for(function: Callable[[], object]) -> str:
    cause = explain.result("a", causes.failed(check(), None, raised_by(function), "")).cause
    assert cause is not None
    return cause.advice


def with_signature(x: object) -> object:
    return x


class WithoutSuper(nn.Module):
    def __init__(self) -> None:
        self.layer = nn.Linear(1, 1)


class LateParameters(nn.Module):
    def __init__(self) -> None:
        self.size = 3


class WithoutForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()

        def forward(x: object) -> object:
            return x


class NegativeLength:
    def __len__(self) -> int:
        return -1


def with_grad() -> Any:
    weight = torch.ones(2, requires_grad=True)
    weight.sum().backward()
    return weight


def two_lines() -> None:
    raise ValueError("the first line\nand another")


def unpacked() -> object:
    a, b = [1, 2, 3]
    return a, b


def with_a_generator() -> None:
    with (number for number in range(3)):  # type: ignore[attr-defined]
        pass


def imports_a_class() -> object:
    from torch.utils.data import Dataloader  # type: ignore[attr-defined]

    return Dataloader


def unset() -> object:
    if not ONES.numel():
        value = 1
    return value


def in_place() -> None:
    weight = torch.ones(2, requires_grad=True)
    weight -= 1


def either() -> object:
    return ONES or NOTHING


def truth_of_many() -> int:
    if ONES:
        return 1
    return 0


def writes_into_a_view() -> None:
    ONES.clone().T.view(-1)[0] += 1


def twice() -> None:
    loss = torch.ones(2, requires_grad=True).exp().sum()
    loss.backward()
    loss.backward()


def changed_later() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    z = y.sum()
    y += 1
    z.backward()


def endless(n: int = 0) -> int:
    return endless(n + 1)


def asks() -> str:
    sys.stdin, before = io.StringIO(""), sys.stdin
    try:
        return input()
    finally:
        sys.stdin = before


def no_device() -> None:
    raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!")


def quits() -> None:
    raise bdb.BdbQuit


def changes_what_it_loops_over() -> None:
    state = {"a": 1}
    for name in state:
        state[f"{name}b"] = 1


def divides_nothing() -> None:
    with_grad().grad = nn.utils.clip_grad_value_([with_grad()], 1.0) / 2  # type: ignore[operator]


def backward_of_backward() -> None:
    loss = torch.ones(1, requires_grad=True).sum()
    torch.amp.GradScaler("cpu").scale(loss.backward())


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda: nam, "`nam` is not defined"),  # noqa: F821
        (lambda: rang(3), "did you mean `range`?"),  # noqa: F821
        (unset, "`value` is used before it has a value"),
        (WithoutSuper, "call `super().__init__()` first"),
        (lambda: list(LateParameters().parameters()), "call `super().__init__()` first"),
        (lambda: NOTHING.shape, "`.shape` is asked of None: did a function that gives this value forget `return`?"),
        (
            lambda: NOTHING.pow(2),
            "`.pow` is asked of None: is it the `.grad` of a parameter that has none, or did a function forget",
        ),
        (lambda: NOTHING[0], "there is None where a value is needed"),
        (lambda: torch.exp(None), "there is None where a value is needed"),
        (lambda: torch.softmx(ONES, 0), "torch has no `softmx`: did you mean `softmax`"),
        (lambda: ONES.shap, "`ONES` (a Tensor) has no `shap`: did you mean `shape`"),
        (lambda: nn.Linaer(1, 1), "torch.nn has no `Linaer`: did you mean `Linear`"),
        (lambda: __import__("torhc"), "the module `torhc` is not installed here"),
        (lambda: math_.sqrtt(2), "math has no `sqrtt`: did you mean `sqrt`"),
        (lambda: __import__("random").shufle, "random has no `shufle`: did you mean `shuffle`?"),
        (lambda: __import__("numpy").arrange(3), "numpy has no `arrange`: did you mean `arange`"),
        (lambda: next([1]), "a list is asked for its next item"),  # type: ignore[call-overload]
        (with_a_generator, "`@contextmanager` above a function with `yield` makes one of it"),
        (lambda: [1].apend(2), "list has no `apend`: did you mean `append`?"),
        (imports_a_class, "`torch.utils.data` has no `Dataloader`: did you mean `DataLoader`?"),
        (
            lambda: ONES @ torch.ones(4, 5),
            "shapes (2, 3) and (4, 5) cannot be multiplied: the first has 3 columns, the second 4 rows",
        ),
        (lambda: ONES + torch.ones(2, 4), "sizes 3 and 4 meet at dimension 1"),
        (lambda: ONES.view(4, 5), "6 elements do not fit the shape (4, 5)"),
        (lambda: torch.stack([ONES, torch.ones(2)]), "shapes (2, 3) and (2,) cannot be stacked"),
        (lambda: torch.cat([ONES, torch.ones(3, 4)]), "sizes 3 and 4 cannot be joined along dimension 0"),
        (lambda: nn.functional.cross_entropy(ONES, torch.tensor([1])), "there are 2 predictions for 1 targets"),
        (
            lambda: torch.ones(2, 3, 4) @ torch.ones(2, 5, 6),
            "begins with the shape (2, 5) where the first one needs (2, 4)",
        ),
        (lambda: ONES @ torch.ones(4), "a matrix of shape (2, 3) cannot be multiplied by a vector of shape (4,)"),
        (lambda: torch.dot(torch.ones(3), torch.ones(4)), "vectors of shapes (3,) and (4,) have no dot product"),
        (lambda: torch.ones(2, 3).T.view(6), "`view` needs memory that is in order"),
        (lambda: torch.ones(3).item(), "this one has 3"),
        (lambda: bool(ONES), "need one truth value"),
        (either, "to replace None, ask `is None`"),
        (truth_of_many, "is it `is None`, `.numel()`, `.all()` or `.any()`"),
        (writes_into_a_view, "What is written into a `reshape` may be lost"),
        (lambda: torch.stack(list(NO_PARAMETERS)), "`torch.stack` gets an empty list here"),
        (lambda: torch.cat(list(NO_PARAMETERS)), "`torch.cat` gets an empty list here"),
        (lambda: nn.BatchNorm1d(3)(torch.ones(1, 3)), "BatchNorm is in training mode here"),
        (lambda: NO_PARAMETERS.pop(), "`pop` is for lists, and this is a tuple"),
        (lambda: float([1]), "are the lists nested more deeply than your loops go?"),
        (in_place, "a tensor that requires grad was changed in place: do that under `torch.no_grad()`"),
        (changed_later, "changed in place after it was used"),
        (lambda: torch.ones(2).sum().backward(), "this value has no graph back to a parameter"),
        (lambda: torch.ones(2, requires_grad=True).backward(), "make the loss a scalar first"),
        (twice, "`backward` runs twice through one graph"),
        (lambda: torch.ones(2, requires_grad=True).numpy(), "`.detach()` first"),
        (no_device, "two tensors are on different devices, cuda:0 and cpu"),
        (lambda: ONES @ torch.ones(3, 2, dtype=torch.long), "different dtypes, float32 and int64"),
        (lambda: nn.Linear(3, 2)(torch.ones(4, 3, dtype=torch.long)), "different dtypes, int64 and float32"),
        (lambda: torch.ones(2, dtype=torch.long).mean(), "`mean` needs floating point numbers, and the dtype is Long"),
        (endless, "your code calls itself without an end"),
        (asks, "`input()` has nobody to ask"),
        (quits, "`breakpoint()` cannot stop while you are graded"),
        (lambda: ONES[5], "index 5 is asked of dimension 0, which has size 2"),
        (lambda: int("x"), "your code raised ValueError: invalid literal"),
        (lambda: torch.tensor(1.0)[0], "the tensor that is indexed here has no dimensions"),
        (
            lambda: nn.functional.cross_entropy(torch.tensor([1, 2]), torch.tensor([1, 2])),
            "`cross_entropy` got predictions of the labels' own shape",
        ),
        (lambda: math.cos(0), "`math` is not defined: write `import math` at the top of the file"),  # noqa: F821
        (lambda: float32, "`float32` is not defined: did you mean `torch.float32`?"),  # noqa: F821
        (lambda: cross_entropy, "did you mean `F.cross_entropy`?"),  # noqa: F821
        (lambda: ONES.shape(), "a torch.Size is called with `()` as if it were a function"),
        (lambda: max[0], "`[...]` is asked of a builtin_function_or_method"),
        (lambda: list(NAME.upper), "a builtin_function_or_method has no parts to loop over or to take apart: call it"),
        (lambda: list(NUMBER), "an int has no parts to loop over"),
        (lambda: ONES.sum.item(), "`.item` is asked of a function itself: call it first"),
        (lambda: ONES.to("float32"), "the text 'float32' is taken for the name of a device"),
        (lambda: ONES.flatten(3), "this tensor has no dimension 3: `dim` may be 0 to 1, or -2 to -1 from the end"),
        (lambda: ONES[0].flatten(1), "this tensor has no dimension 1: `dim` may be 0 or -1"),
        (lambda: torch.dot(ONES, ONES), "these have 2 and 2 dimensions: `@` multiplies matrices"),
        (lambda: ONES ^ 2, "`^` is no power in Python: write `**`"),
        (lambda: ONES - ONES.max(dim=1), "`max` and `min` give values and indices: take `.values`"),
        (lambda: (ONES,) ** 2, "take the value out of the tuple first"),
        (lambda: ONES + ONES.sum, "a method needs its brackets `()`"),
        (lambda: ONES.gather(0, torch.zeros(1, 4, dtype=torch.long)), "of shape (1, 4) does not fit a tensor of shape"),
        (lambda: ONES.gather(1, torch.zeros(2, dtype=torch.long)), "`unsqueeze` adds one"),
        (lambda: len(torch.tensor(1)), "a tensor without dimensions has no `len`"),
        (lambda: list(torch.tensor(1)), "a tensor without dimensions has no `len`"),
        (lambda: WithoutForward()(ONES), "`WithoutForward` has no method `forward`"),
        (lambda: float([1]), "`float` makes one number of one value, and this is a list"),
        (lambda: torch.zeros(0).max(), "`max` of no elements at all does not exist"),
        (lambda: len(NegativeLength()), "your `__len__` gives a negative number"),
        (lambda: nn.functional.cross_entropy(ONES, torch.ones(2)), "`cross_entropy` takes the classes as integers"),
        (lambda: nn.functional.cross_entropy(ONES, torch.tensor([0, 3])), "the label 3 has no column among the logits"),
        (lambda: ONES[torch.ones(2)], "an index must be integers or True and False"),
        (lambda: torch.ones(2, dtype=torch.long).add_(0.5), "written into a tensor of Long: make a new tensor"),
        (lambda: nn.Linear(1, 1).load_state_dict({}), "the weights do not fit Linear: Missing key(s) in state_dict"),
        (lambda: torch.optim.SGD(list(NO_PARAMETERS), lr=1), "the optimizer has no parameters"),
        (
            lambda: torch.optim.SGD([], lr=1),
            "needs the parameters that it changes: `model.parameters()` in place of `[]`",
        ),
        (lambda: ONES.half() @ ONES.T, "the tensors have different dtypes, float16 and float32: convert one"),
        (lambda: ONES @ ONES.T.half(), "the tensors have different dtypes, float32 and float16: convert one"),
        (lambda: ONES[0].dot(ONES[0].double()), "the tensors have different dtypes, float32 and float64: convert one"),
        (windows, "the tensors have different dtypes, float16 and int64: convert one"),
        (circle, "two files import each other in a circle, so `training` has no `fit` yet: put this import into"),
        (lambda: torch.optim.SGD([ONES.clone().requires_grad_() * 2], lr=1), "and no tensors computed"),
        (lambda: DataLoader([1], sampler=[0], shuffle=True), "a DataLoader takes a sampler or `shuffle`, not both"),
        (lambda: DataLoader([1], batchsize=2), "`DataLoader` has no argument `batchsize`: did you mean `batch_size`?"),
        (lambda: torch.distributed.barrier(), "there is no process group yet"),
        (lambda: {"optim": 1}["optimizer"], "there is no entry 'optimizer': is it spelled as where it was put in?"),
        (lambda: list("ab")[NAME], "a list takes one int as its index, and this is a str"),
        (lambda: os.environ.setdefault("SOME_PORT", 1), "the environment holds text only, and this is an int"),
        (lambda: torch.Generator().manual_seed("1"), "a seed is an int, and this is a str"),
        (lambda: os.replace("new.pt.tmp", "new.pt"), "there is no `new.pt.tmp` to become `new.pt`"),
        (lambda: torch.transpose(ONES, 0), "`transpose`"),
        (lambda: ONES.reshape("a"), "`reshape`"),
        (lambda: nn.functional.cross_entropy(torch.tensor([1, 0]), ONES[0, :2]), "are its arguments swapped?"),
        (lambda: nn.Sequential([nn.ReLU()]), "`nn.Sequential` takes layers one by one"),
        (unpacked, "the names on the left take 2 values, and there are more"),
        (lambda: torch.Tensor([1], dtype=torch.long), "`torch.tensor(...)` makes a tensor of numbers"),
        (lambda: nn.Parameter(ONES).grad.clone(), "a `.grad` is None here"),
        (divides_nothing, "changes tensors in place and returns None: go on with the tensor itself"),
        (lambda: nn.init.zeros_(nn.Linear(1, 1, bias=False).bias), "a `.bias` is None here"),
        (lambda: nn.Linear(1, 1).load_state_dict(NOTHING), "`load_state_dict` got None: no weights were kept"),
        (lambda: bool(with_grad().grad), "`.grad is not None` asks whether there is one"),
        (lambda: [name for name, p in nn.Linear(2, 3).parameters()], "names and tensors come from `named_parameters"),
        (lambda: ONES[0].shape[1], "the tensor has fewer dimensions than you ask for"),
        (
            lambda: ONES / ONES.sum(1),
            "sizes 3 and 2 do not broadcast: did a sum, a mean or a maximum in this line lose",
        ),
        (lambda: torch.Generator(123), "`torch.Generator(...)` takes a device, no seed"),
        (lambda: bool(torch.ones(0)), "need one truth value"),
        (lambda: nn.Linear(1, 1).save("x"), "Linear has no `save`: did you mean `torch.save`?"),
        (lambda: nn.linear, "torch.nn has no `linear`: did you mean `Linear`?"),
        (lambda: np, "`np` is not defined: write `import numpy as np` at the top of the file"),  # noqa: F821
        (lambda: nn.Linear(1, 1).load_state_dict({}, strict=False).to("cpu"), "go on with the model itself"),
        (lambda: nn.Linear(1, 1).load_state_dict("a.pt"), "takes a dict of tensors, and this is a str"),
        (lambda: torch.save("a.pt", {}), "`torch.save` takes first what to save, then where"),
        (lambda: setattr(with_grad(), "grad", 0), "a `.grad` is a tensor or None, and this is an int"),
        (lambda: torch.from_numpy([1.0]), "and this is a list: `torch.tensor` takes lists"),
        (lambda: len(NUMBER), "`len` is asked of an int, which has none"),
        (lambda: len(WithoutForward()), "a class of your own gets one by its method `__len__`"),
        (lambda: [len(loader) for loader in [WithoutForward()]], "so do without its length"),
        (lambda: range([1]), "one int is needed here, and this is a list"),
        (changes_what_it_loops_over, "a dict was changed while a loop went over it"),
        (lambda: [1, 2][2], "n items have the indices 0 to n - 1"),
        (lambda: super.__init__(), "`super` itself needs its brackets: `super().__init__()`"),
        (lambda: nn.Sequential(nn.Linear(1, 1), nn.ReLU), "`ReLU` is a class and no layer: `nn.ReLU()` makes one"),
        (lambda: DistributedSampler([1], num_replicas=0, rank=1), "there is no rank 1 of 0: are the rank and"),
        (lambda: min([]), "nothing is the least or the largest of no items"),
        (lambda: nn.CrossEntropyLoss(ONES, ONES), "as `nn.CrossEntropyLoss()(logits, labels)`"),
        (lambda: nn.CrossEntropyLoss().backward(), "as `nn.CrossEntropyLoss()(logits, labels)`"),
        (lambda: torch.cos(0.5), "and this is a float: `math.cos` takes numbers"),
        (lambda: torch.prod(2), "and this is an int: `math.prod` takes numbers"),
        (lambda: len(slice(2)), "`len` is asked of a slice, which has none"),
        (lambda: nn.dist, "torch.nn has no `dist`"),
        (lambda: torch.device("cuda0"), "'cuda0' is no device: the number comes after a colon, 'cuda:0'"),
        (lambda: torch.zeros(1, device="cuda12"), "'cuda12' is no device: the number comes after a colon, 'cuda:12'"),
        (
            lambda: DataLoader([1], persistent_workers=True),  # type: ignore[arg-type]
            "`persistent_workers=True` needs workers, and this loader has none: is `num_workers` passed on to it, and "
            "above 0?",
        ),
        (
            lambda: DataLoader([1], prefetch_factor=2),  # type: ignore[arg-type]
            "`prefetch_factor` needs workers, and this loader has none: is `num_workers` passed on to it, and above 0?",
        ),
        (wrapped_on_the_cpu, "`device_ids` is for CUDA devices: for a model on the CPU leave it out, or pass None"),
        (lambda: torch.device("gpu"), "`gpu` is no kind of device: torch says `cpu` and `cuda`"),
        (lambda: list(NUMBER), "take apart: `range(...)` counts up to it"),
        (lambda: torch.autocast(), "`autocast` is called without 'device_type', which it needs"),
        (batch_turned_round, "`.mT`, or `.transpose(-2, -1)`, exchanges the last two alone"),
        (lambda: BATCH @ BATCH.transpose(0, 1), "count from the end, as in `.transpose(-2, -1)`"),
        (lambda: BATCH.t(), "`.t()` is for matrices: `.mT`, or `.transpose(-2, -1)`"),
        (lambda: range(ONES.sum().shape[0]), "`.numel()` counts the elements of a tensor of any shape"),
        (lambda: ONES * ONES.T, "`*` multiplies entry by entry, and sizes 3 and 2 do not fit"),
        (lambda: [n for n, t in nn.Linear(2, 3).state_dict()], "`.items()` gives keys and values"),
        (backward_of_backward, "`backward` returns None, and here its result is used"),
    ],
)
def test_an_exception_has_its_own_sentence(function: Callable[[], object], words: str) -> None:
    assert words in advice_for(function)


def test_every_place_in_a_sentence_is_a_group_of_its_pattern() -> None:
    for pattern, on_line, sentence in known_errors():
        places = {name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None}
        assert places <= {str(number + 1) for number in range(re.compile(pattern).groups)}, pattern
        assert re.compile(on_line).groups == 0, "the sentence could not name them"


def test_no_sentence_is_left_out_of_the_table() -> None:
    table = resources.files("grader.judge").joinpath("templates", "known_errors.txt").read_text(encoding="utf-8")
    assert len(known_errors()) == sum(line.startswith("    ") for line in table.splitlines())


def hostile_texts() -> list[str]:
    """Texts of 2000 characters that begin to match again and again: the words of the patterns, many times over."""
    patterns = {pattern for one in known_errors() for pattern in one[:2]}
    words = {word for pattern in patterns for word in re.findall(r"[A-Za-z_ :',]{2,}", re.sub(r"\\(\w)", "", pattern))}
    whole = {re.sub(r"\\[wdsbS]\+?|[\\*+?^$]|\(\?[:=!]", "a", pattern) for pattern in patterns}
    begun = {one[: len(one) // 2] + middle * 1000 for one in whole for middle in ("a", "a.", "/a'", "\n=")}
    repeated = (one * 1000 for one in (*words, *whole, "NoneType" + "\n=" * 500, *"a= /0'"))
    return sorted(text[:2000] for text in (*repeated, *begun))


def test_no_text_of_a_student_keeps_the_judge_busy() -> None:
    slow = {}
    for text in hostile_texts():
        began = time.process_time()
        frames = (Frame("a.py", 1, "f", text.replace("\n", "=")),)
        advice_on(Cause(kind="exception", exception_type="TypeError", exception_message=text, frames=frames))
        if (seconds := time.process_time() - began) > 0.3:
            slow[text[:80]] = seconds
    assert not slow


def test_the_message_and_the_line_are_not_taken_for_one_another() -> None:
    def told(message: str, line: str) -> str:
        frames = (Frame("a.py", 1, "f", line),)
        return advice_on(Cause(kind="exception", exception_type="ValueError", exception_message=message, frames=frames))

    assert told("NoneType\nx.grad", "x = 1") == "your code raised ValueError: NoneType"
    assert told("no", "print('list index out of range')") == "your code raised ValueError: no"
    assert told("a list where a tensor", "") == "your code raised ValueError: a list where a tensor"


def test_a_frame_without_its_text_is_no_call_that_did_not_begin() -> None:
    cause = Cause(kind="exception", exception_type="TypeError", exception_message="f() takes no arguments")
    assert "keep the signature" in advice_on(cause)
    assert "keep the signature" not in advice_on(replace(cause, frames=(Frame("a.py", 1),)))


def test_a_call_that_does_not_begin_asks_for_the_signature() -> None:
    error = exception_of(Service(ModuleType("m"), frozenset()).describe(error_of(lambda: with_signature(1, 2))))
    advice = advice_on(causes.failed(check(), None, error, ""))
    assert advice.startswith("`with_signature` cannot be called as the check does")


class WithoutSelf:
    def forward(x: object) -> object:
        return x

    def blend(x: object, y: object, z: object, t: object) -> object:
        return x


def test_a_method_without_self_is_asked_for_it() -> None:
    error = exception_of(Service(ModuleType("m"), frozenset()).describe(error_of(lambda: WithoutSelf().forward(1))))
    advice = advice_on(causes.failed(check(), None, error, ""))
    assert (
        advice
        == "`WithoutSelf.forward` takes one argument too few: is `self` its first one, and are the others all there?"
    )
    many = error_of(lambda: WithoutSelf().blend(1, 2, 3, 4))  # type: ignore[call-arg]
    error = exception_of(Service(ModuleType("m"), frozenset()).describe(many))
    assert "`WithoutSelf.blend` takes one argument too few" in advice_on(causes.failed(check(), None, error, ""))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is CUDA here")
def test_cuda_where_there_is_none_has_a_sentence() -> None:
    assert advice_for(lambda: ONES.cuda()).startswith("there is no CUDA here")


def test_the_exception_itself_is_shown_too_and_only_once() -> None:
    translated = explain.message(causes.failed(check(), None, raised_by(lambda: ONES.shap), ""))
    assert translated.count("AttributeError: 'Tensor' object has no attribute 'shap'") == 1
    plain = explain.message(causes.failed(check(), None, raised_by(lambda: int("x")), ""))
    assert plain.count("ValueError") == 1 and "raised    " not in plain


def import_of(source: str | bytes, name: str = "tensor_ops") -> str:
    """The message for a module that cannot be imported."""

    def run() -> None:
        exec(compile(source, f"{name}.py", "exec"), {})

    try:
        run()
    except BaseException as error:
        described = Service(ModuleType(name), frozenset({f"{name}.py"})).describe(error)
        return explain.message(causes.import_failed(f"{name}.py", raised_error(described), ""))
    raise AssertionError("it can be imported")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def f(:\n    pass\n", "tensor_ops.py cannot be imported: SyntaxError in line 1: invalid syntax"),
        ("def f(x):\nreturn 1\n", "tensor_ops.py cannot be imported: IndentationError in line 2: expected an indented"),
        ("import torhc\n", "tensor_ops.py cannot be imported: the module `torhc` is not installed here"),
        ("x = 1\n".encode("utf-16"), "tensor_ops.py cannot be imported: it is not saved as UTF-8; save it as UTF-8"),
        ("x = 'é'\n".encode("latin-1"), "not saved as UTF-8; save it as UTF-8"),
    ],
)
def test_an_import_that_fails_says_what_to_do(source: str | bytes, words: str) -> None:
    message = import_of(source)
    assert message.startswith(words) or words in message.splitlines()[0]


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("type Row = int", (3, 12)),
        ("def first[T](rows): return rows", (3, 12)),
        ("""text = f'{a['b']}'""", (3, 12)),
        ("except ValueError, TypeError:", (3, 14)),
        ("text = t'{a}'", (3, 14)),
        ("except* ValueError:", (3, 11)),
    ],
)
def test_newer_syntax_names_the_python_that_runs_here(line: str, version: tuple[int, int]) -> None:
    cause = Cause(
        kind="exception",
        stage="import",
        file="tensor_ops.py",
        exception_type="SyntaxError",
        exception_message="invalid syntax (tensor_ops.py, line 4)",
        frames=(Frame("tensor_ops.py", 4, "", line),),
    )
    here = f"Python {sys.version_info[0]}.{sys.version_info[1]} runs here"
    assert (here in advice_on(cause)) == (sys.version_info[:2] < version)


@pytest.mark.parametrize("content", [b"", b"half of a fi", b"PK\x03\x04broken", b"{}"])
def test_a_broken_file_is_called_that_and_no_missing_entry(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "weights.pt"
    file.write_bytes(content)
    failure = raised_by(lambda: torch.load(file, weights_only=True))
    assert advice_on(causes.failed(check(), None, failure, "")).startswith("the file is not a complete file of")


def test_none_where_a_value_was_expected_asks_for_return() -> None:
    forgotten = causes.failed(check(), None, Mismatch("None where a tensor was expected", None, ONES), "")
    assert explain.message(forgotten).startswith("your code returned None: did you forget `return`?")
    right = causes.failed(check(), None, Mismatch("1 where None was expected", 1, None), "")
    assert "return`?" not in explain.message(right)
    both = Cause(kind="assertion", returned="None", expected="None", reason="the weights differ")
    assert advice_on(both) == "the weights differ"
    own = Cause(kind="assertion", returned="None", reason="the weights have not changed")
    assert advice_on(own) == "the weights have not changed"  # an update may return None


@pytest.mark.parametrize(
    ("returned", "expected", "words"),
    [
        (torch.tensor(1.0), 1.0, "a tensor of shape () where a float was expected: `.item()` makes a Python number"),
        ((1, 2), [1, 2], "a tuple where a list was expected: `list(...)` makes one"),
        ([1, 2], (1, 2), "a list where a tuple was expected: `tuple(...)` makes one"),
        (2.5, 2, "a float where an int was expected: `//` divides whole numbers"),
        (torch.ones(1, 2).max(dim=1), torch.ones(1), "a tuple where a tensor of shape (1,) was expected: `max` with a"),
        ("1", 1, "a str where an int was expected: `int(...)` or `float(...)` makes a number of it"),
        ([1.0], torch.ones(1), "a list where a tensor of shape (1,) was expected: make a tensor of it"),
        (1.0, torch.tensor(2.0), "a float where a tensor of shape () was expected: leave out `.item()` or `float"),
        (float("nan"), 1.0, "nan where 1.0 was expected: nan comes of 0 / 0"),
    ],
)
def test_another_type_comes_with_its_repair(returned: Any, expected: Any, words: str) -> None:
    with pytest.raises(Mismatch) as caught:
        assert_close(returned, expected)
    assert advice_on(causes.failed(check(), None, caught.value, "")).startswith(words)


def test_a_function_in_place_of_its_result_asks_for_the_call() -> None:
    cause = Cause(kind="assertion", reason="at [0]: a function where an int was expected", is_of_another_type=True)
    assert advice_on(cause) == "at [0]: a function where an int was expected: call it, with `()`"


def test_a_seed_for_a_generator_is_explained_where_torch_takes_it_for_a_gpu() -> None:
    line = Frame("a.py", 3, "f", "g = torch.Generator(123)")
    cause = Cause(kind="exception", exception_type="AcceleratorError", exception_message="CUDA error", frames=(line,))
    assert advice_on(cause).startswith("`torch.Generator(...)` takes a device, no seed")


def test_the_first_sentence_is_one_line() -> None:
    error = raised_by(two_lines)
    assert error.message == "the first line\nand another"
    assert advice_on(causes.failed(check(), None, error, "")) == "your code raised ValueError: the first line"


def result_of(cause: Cause) -> ExerciseResult:
    return ExerciseResult(name="tensor_ops.gram", score=0, max=1, checks=(explain.result("a", cause),))


def test_a_near_name_in_the_file_is_offered_for_a_missing_one() -> None:
    missing = Cause(
        kind="missing", reason="`gram` is not defined in tensor_ops.py", names=("gram",), file="tensor_ops.py"
    )
    (found,) = Hints(b"def grams(x):\n    pass\n", "line {}".format).explain(result_of(missing)).checks
    assert found.message == "`gram` is not defined in tensor_ops.py: you wrote `grams`"
    (other,) = (
        Hints(b"def grams(x):\n    pass\n", "line {}".format, ["gram", "grams"]).explain(result_of(missing)).checks
    )
    assert other.message == "`gram` is not defined in tensor_ops.py"  # `grams` is an exercise of its own


def test_a_name_of_the_file_is_offered_for_one_that_is_not_defined_but_none_of_a_comment() -> None:
    cause = causes.failed(check(), None, raised_by(lambda: scroe), "")  # noqa: F821
    source = b'"""scroes"""\nscore = 1  # scroel\nx.scroe_\nreturn scroe\n'
    (found,) = Hints(source, "line {}".format).explain(result_of(cause)).checks
    assert found.message.startswith("`scroe` is not defined: did you mean `score`?")


def test_a_file_of_very_many_names_costs_the_judge_no_more_than_some() -> None:
    cause = causes.failed(check(), None, raised_by(lambda: name_1234x + name_9999x), "")  # noqa: F821
    source = b"".join(b"name_%d = 1\n" % n for n in range(10_000))
    (found,) = Hints(source, "line {}".format).explain(result_of(cause)).checks
    assert "did you mean `name_1234`" in found.message
    other = causes.failed(check(), None, raised_by(lambda: name_9999x), "")  # noqa: F821
    (found,) = Hints(source, "line {}".format).explain(result_of(other)).checks
    assert "name_9999`" not in found.message


def test_frames_of_a_recursion_are_folded() -> None:
    again = Frame("tensor_ops.py", 7, "f", "return f(x)")
    cause = Cause(
        kind="exception", exception_type="RecursionError", frames=(Frame("tensor_ops.py", 3, "gram"), *[again] * 11)
    )
    lines = explain.message(cause).splitlines()
    assert lines[-2:] == ["  tensor_ops.py:3 in gram", "  tensor_ops.py:7 in f: return f(x)  (again and again)"]


def test_a_name_is_compared_with_a_bounded_number_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each comparison takes the judge some time, and a submission chooses how many names it has."""
    compared = []
    real = difflib.get_close_matches

    def counting(name: str, others: list[str], n: int, cutoff: float) -> list[str]:
        compared.append(len(others))
        return real(name, others, n, cutoff)

    monkeypatch.setattr(difflib, "get_close_matches", counting)
    known = {f"some_name_{number}" for number in range(100_000)} | {"wieght_decay"}
    for _ in range(3):
        assert close_names("weight_decay", known) == ["wieght_decay"]
    assert len(compared) == 1 and compared[0] <= 200
    assert close_names("x" * 2000, known) == []


def test_words_about_a_line_of_a_notebook_name_its_cell() -> None:
    module = module_of(b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": "x = 1\\ny = 2"}]}', RUNNING)[0]
    assert module is not None
    line = module.split(b"\n").index(b"y = 2") + 1
    cause = Cause(kind="timeout", reason=f"rank 1 waits in line {line} of ddp.py, in train; not line 2 of other.py")
    said = explain.CellPlaces({"ddp.py": module, "other.py": b"x = 1\n"}).cause(cause).reason
    assert said == "rank 1 waits in In [1], line 2, in train; not line 2 of other.py"


def test_no_function_of_torch_is_offered_for_an_attribute_of_a_students_own_class() -> None:
    assert advice_for(lambda: WithoutForward().device) == "WithoutForward has no `device`"


def test_a_value_without_an_attribute_is_named_as_in_its_line() -> None:
    number, parts = 1, [1]
    assert advice_for(lambda: number.data) == "`number` (an int) has no `data`"
    assert advice_for(lambda: parts[0].data) == "int has no `data`"
    assert advice_for(lambda: ONES.data * number.data) == "int has no `data`"


def test_inf_is_explained_as_nan_is() -> None:
    cause = Cause(kind="assertion", reason="2 of 2 values differ, the first at [0]: inf where 0.0 was expected")
    assert advice_on(cause).endswith("an exp of a large number, or a mask that puts it there")
