"""Slips of the pen: each is named with its line, if it can explain the failure, and none in right code."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from msgspec.structs import replace
from shared import REPO

from grader.judge.hints import Hints
from grader.results import Cause, CheckResult, ExerciseResult, Frame

WRONG = Cause(kind="assertion", sentence="It trains.", reason="another value")
TUPLE = Cause(kind="assertion", reason="a tuple where a tensor of shape (2, 2) was expected")
UNWRITTEN = Cause(kind="unwritten", reason="`fit` is not written yet")
ENDED = Cause(kind="crash", reason="ended the process")
ATTRIBUTE = Cause(
    kind="exception", exception_type="AttributeError", exception_message="'fit' object has no attribute 'layers'"
)
RIGHT = sorted([*(REPO / "solutions").glob("*.py"), *(REPO / "tests" / "answers" / "right").glob("*/*.py")])


def hints(source: str | bytes) -> Hints:
    return Hints(source.encode() if isinstance(source, str) else source, "line {}".format)


def first_sentence(source: str | Hints, cause: Cause, name: str = "fit") -> str:
    of_file = hints(source) if isinstance(source, str) else source
    check = CheckResult(name="it_trains", verdict="crashed" if cause.kind == "crash" else "failed", cause=cause)
    result = ExerciseResult(name=f"training.{name}", score=0.0, max=1.0, checks=(check,))
    (found,) = of_file.explain(result).checks
    assert found.cause is not None
    return found.cause.advice


@pytest.mark.parametrize(
    ("body", "cause", "said"),
    [
        ("    loss = model(x).sum()\n    loss.backward", WRONG, "line 3 only names `loss.backward`"),
        ("    with torch.no_grad:\n        return 1", ATTRIBUTE, "`with torch.no_grad():`"),
        (
            "    if x < 0:\n        return ValueError('x')",
            WRONG,
            "line 3 returns a ValueError: write `raise` for `return`",
        ),
        ("    return F.cross_entropy(labels, logits)", WRONG, "logits first, then the labels: line 2 has them swapped"),
        ("    exit()", ENDED, "`exit()` in line 2 ends Python itself"),
        (
            "    for x in model:\n        labels += x\n        return labels",
            WRONG,
            "the `return` in line 4 is in the loop, which ends there in its first round",
        ),
        (
            "    for x in model:\n        if x is not None:\n            x = x - 0.1 * x.grad",
            WRONG,
            "line 4 gives the name `x` a new value, which the next round forgets",
        ),
        ("    if torch.cuda.is_available:\n        return 1", WRONG, "always true: write `torch.cuda.is_available()`"),
        (
            "    if x and not dist.is_initialized:\n        return 1",
            WRONG,
            "always true: write `dist.is_initialized()`",
        ),
        (
            "    x = torch.tensor(1)\n    x.float()\n    return x",
            WRONG,
            "`x` stays as it was. Write `x = x.float(...)`",
        ),
        ("    labels.div(2)\n    return labels", WRONG, "`labels` stays as it was. Write `labels = labels.div(...)`"),
        ("    torch.clamp(x, 0)\n    return x", WRONG, "`x` stays as it was. Write `x = torch.clamp(...)`"),
        ("    for x, y in labels:\n        x.to(0), y.to(0)", WRONG, "Write `x = x.to(...)`"),
        (
            "    for _ in x:\n        made = []\n        for y in x:\n            made.append(y)\n    return made",
            WRONG,
            "`made` is made anew in line 3, in each round of the loop in line 2",
        ),
        (
            "    if x:\n        y = 1\n    if model:\n        y = 2\n    else:\n        y = 3\n    return y",
            WRONG,
            "the one in line 7 also after the `if` in line 2: write `elif`",
        ),
        ("    cudnn.benchmark == x", WRONG, "line 2 only compares, `cudnn.benchmark == x`: to give a value, write"),
        ("    return x @ x.T,", TUPLE, "line 2 returns a tuple of one value: the comma at its end"),
        ("    up, down = x, x", WRONG, "line 2 gives several names to one object"),
        ("    x.require_grad = False", WRONG, "which torch does not know: did you mean `requires_grad`?"),
        ("    return {'model': model.state_dict}", WRONG, "does not call it: write `model.state_dict()`"),
        ("    torch = x.T\n    return torch.matmul(x, x)", ATTRIBUTE, "line 2 gives the name `torch` to a value"),
        ("    sum = 0\n    return sum(x)", ATTRIBUTE, "line 2 gives the name `sum` to a value, and hides"),
        (
            "    ps = model.parameters()\n    return [p for p in ps], [p for p in ps]",
            WRONG,
            "`ps` in line 2 can be looped over only once",
        ),
    ],
)
def test_a_slip_is_named_with_its_line(body: str, cause: Cause, said: str) -> None:
    assert said in first_sentence(f"def fit(model, x, labels, logits):\n{body}\nimport torch\n", cause)


@pytest.mark.parametrize(
    ("body", "cause", "said"),
    [
        ("    def __int__(self): ...", WRONG, "line 2 defines `__int__`: did you mean `__init__`"),
        ("    def len(self): ...", WRONG, "line 2 defines `len`: did you mean `__len__`"),
        ("    def __init__(self):\n        layers = [1]", WRONG, "a local variable of `__init__` that nothing reads"),
        ("    def __getitem__(self, index):\n        return 1", WRONG, "never uses its argument `index`"),
        ("    def __init__(self, x):\n        pass", ATTRIBUTE, "nothing in `fit` gives a value to `self.layers`"),
    ],
)
def test_a_slip_in_a_class_is_named(body: str, cause: Cause, said: str) -> None:
    assert said in first_sentence(f"class fit:\n{body}\n", cause)


def test_an_object_of_plain_python_is_not_told_to_change_in_place() -> None:
    body = "def fit(model):\n    for p in model:\n        p = p - p.grad\n"
    assert "Change what it holds, as in `p.data = ...`" in first_sentence(body, WRONG)
    assert "Change it in place, as in `p -= ...`" in first_sentence(f"import torch\n{body}", WRONG)


def test_an_argument_that_may_be_left_out_is_called_that() -> None:
    source = "def fit(x, bias=None, mask=None):\n    return x + bias.view(1)\n"
    cause = replace(ATTRIBUTE, exception_message="'NoneType' object has no attribute 'view'")
    at = replace(cause, frames=(Frame("training.py", 2, "fit", "return x + bias.view(1)"),))
    said = "`bias` may be left out, and is None then: line 2 needs it, so ask `bias is None` first"
    assert first_sentence(source, at) == said
    for text in ("return x + mask[bias]", "return helper(x).view(bias)", "return x.bias.view(1)"):
        frame = Frame("training.py", 2, "fit", text)
        assert "may be left out" not in first_sentence(source, replace(cause, frames=(frame,)))
    operands = replace(cause, exception_message="unsupported operand type(s) for +: 'Tensor' and 'NoneType'")
    for text, is_said in (("return x + bias", True), ("return helper(x) + bias", False)):
        frame = Frame("training.py", 2, "fit", text)
        assert ("`bias` may be left out" in first_sentence(source, replace(operands, frames=(frame,)))) is is_said


def test_a_tuple_of_one_value_is_no_slip_where_it_is_right() -> None:
    source = "class fit:\n    def backward(ctx, grad):\n        return 2 * grad,\n"
    assert "tuple" not in first_sentence(source, WRONG) and "tuple" in first_sentence(source, TUPLE)


def test_a_method_that_is_called_without_self() -> None:
    cause = Cause(kind="exception", exception_type="NameError", exception_message="name 'rows' is not defined")
    source = "class fit:\n    def rows(self):\n        return 1\n    def get(self):\n        return rows()\n"
    assert first_sentence(source, cause) == "`rows` is a method of the class: call it as `self.rows(...)`"


def test_an_argument_that_nothing_reads_is_no_news_beside_a_known_mistake() -> None:
    check = CheckResult(name="it_trains", verdict="failed", cause=WRONG)
    source = b"def fit(seed):\n    return 1\n"
    for known in (None, "never_seeds"):
        result = ExerciseResult(name="training.fit", score=0.0, max=1.0, checks=(check,), misconception=known)
        (found,) = hints(source).explain(result).checks
        assert (found is check) == (known is not None)


def test_the_last_of_two_definitions_counts() -> None:
    source = "def fit():\n    return 1\n\n\ndef fit():\n    raise NotImplementedError\n"
    assert first_sentence(source, UNWRITTEN) == "`fit` is defined twice, in line 1 and in line 5: the last one counts"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            'def fit(x):\n    """Doc."""\n    raise NotImplementedError("write `fit` here")\n    return x\n',
            "the stub's `raise` in line 3 comes before your code, which is never reached: delete it",
        ),
        (
            'def fit(x):\n    if x:\n        return x\n    raise NotImplementedError("write `fit` here")\n',
            "the stub's `raise` in line 4 comes when none of your `return`s was reached: delete it",
        ),
        (
            "def fit(x):\n    y = x\n    raise NotImplementedError\n",
            "the stub's `raise` in line 3 comes after your code: write `return` and your result instead",
        ),
        (
            "def fit(x):\n    raise NotImplementedError\nx = x + 1\n",
            "line 3 is not indented, so it is no part of `fit`: move it to the right",
        ),
        (
            "class fit:\n    def forward(x):\n        pass\n    def backward(x):\n        raise NotImplementedError\n",
            "`backward` of `fit` is not written yet: line 5",
        ),
        ('def fit(x):\n    """Doc."""\n    # one line\n    raise NotImplementedError("write `fit` here")\n', ""),
        ("class fit:\n    def forward(x):\n        raise NotImplementedError\n", ""),
        ("def fit(x):\n    raise NotImplementedError\n\n\nLIMIT = 3\n", ""),
    ],
)
def test_an_answer_that_the_stub_or_the_indentation_keeps_from_running(source: str, said: str) -> None:
    assert first_sentence(source, UNWRITTEN) == said


NONE = Cause(
    kind="assertion", reason="None where a float was expected", returned="None", expected="1.0",
    advice="your code returned None: did you forget `return`?",
)  # fmt: skip


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("    y = x", "your code returned None: did you forget `return`?"),
        (
            "    if x:\n        return 1.0",
            "your code returned None here: this call came to the end of `fit` without a `return`",
        ),
        ("    if x:\n        return None\n    return 1.0", "your code returned None, by the `return` in line 3"),
        ("    return x.sort()", "your code returned None: that is the value behind `return` in line 2"),
        (
            "    def inner():\n        return 1\n    inner()",
            "your code returned None: line 4 makes a value: write `return` before it",
        ),
        ('    """Doc."""\nx = 2 * x', "line 3 is not indented, so it is no part of `fit`: move it to the right"),
    ],
)
def test_none_is_called_a_forgotten_return_only_if_nothing_is_returned(body: str, said: str) -> None:
    assert first_sentence(f"def fit(x):\n{body}\n", NONE) == said


def raised(kind: str, message: str, *frames: Frame, call: str = "") -> Cause:
    return Cause(kind="exception", exception_type=kind, exception_message=message, frames=frames, call=call)


def test_arguments_in_another_order_are_named_with_the_order() -> None:
    source = (
        "def train_step(model, x, optimizer):\n    optimizer.zero_grad()\ndef fit(m, x, o):\n    train_step(m, o, x)\n"
    )
    frames = (Frame("a.py", 4, "fit", "train_step(m, o, x)"), Frame("a.py", 2, "train_step", "optimizer.zero_grad()"))
    cause = raised("AttributeError", "'Tensor' object has no attribute 'zero_grad'", *frames)
    order = "the order is `train_step(model, x, optimizer)`, see the call in line 4"
    assert first_sentence(source, cause) == f"`optimizer` is of class Tensor here: {order}"


def test_a_recursion_says_which_call_begins_it_again() -> None:
    frame = Frame("a.py", 2, "fit", "return [fit(part) for part in x]")
    cause = raised("RecursionError", "maximum recursion depth exceeded", frame, frame, call="fit(['ab'])")
    source = "def fit(x):\n    return [fit(part) for part in x]\n"
    assert (
        first_sentence(source, cause)
        == "`fit` calls itself in line 2 without an end: a str consists of strs, and so on"
    )
    said = "`fit` calls itself in line 2 without an end, or more often than Python allows"
    assert first_sentence(source, replace(cause, call="fit([1])")) == said


def test_who_calls_backward_on_what_is_returned_is_not_told_to_keep_the_graph() -> None:
    cause = raised("RuntimeError", "Trying to backward through the graph a second time (or ...")
    said = "line 2 calls `backward`, and whoever calls `fit` does so with the result: leave it out"
    assert first_sentence("def fit(loss):\n    loss.backward()\n    return loss\n", cause) == said


@pytest.mark.parametrize("kind", ["timeout", "exception"])
def test_processes_that_are_started_by_hand_are_named(kind: Literal["timeout", "exception"]) -> None:
    source = "def fit():\n    torch.multiprocessing.spawn(work, nprocs=2)\n"
    cause = Cause(kind=kind, reason="no end within 4 s: rank 0 was in line 2 of ddp.py, in fit; rank 1 was in line 2")
    said = "line 2 starts processes by `torch.multiprocessing.spawn`, and `torchrun` has started one for each rank"
    assert first_sentence(source, cause).startswith(said)
    assert "torchrun" not in first_sentence(source, replace(cause, reason="no answer"))


def test_a_return_outside_of_a_function_and_the_line_as_it_is_indented() -> None:
    source = b"def fit(x):\n    y = x\nreturn y\n"
    frame = Frame("training.py", 3, "", "return y")
    cause = Cause(
        kind="exception", stage="import", file="training.py", exception_type="SyntaxError",
        exception_message="'return' outside function", frames=(frame,),
    )  # fmt: skip
    said = "`return` in line 3 is not inside of a function: indent it like `fit`'s body"
    assert hints(source).explain_import(cause).advice == f"training.py cannot be imported: {said}"
    odd = replace(cause, exception_type="IndentationError", exception_message="unexpected indent")
    assert hints(b"x = 1\n\n      y = 2\n").explain_import(odd).frames[-1].text == "      y = 2"


def test_a_local_variable_that_was_meant_for_self() -> None:
    source = "class fit:\n    def __init__(self):\n        layers = []\n"
    assert (
        first_sentence(source, ATTRIBUTE) == "`layers` in line 3 is a local variable of `__init__`: write `self.layers`"
    )
    again = first_sentence(source + "    def __init__(self):\n        pass\n", ATTRIBUTE)
    assert again == "`layers` in line 3 is a local variable of `__init__`: write `self.layers`"


def test_a_name_that_self_keeps() -> None:
    cause = Cause(kind="exception", exception_type="NameError", exception_message="name 'rows' is not defined")
    source = (
        "class fit:\n    def __init__(self, rows):\n        self.rows = rows\n    def get(self):\n        return rows\n"
    )
    assert first_sentence(source, cause) == "`rows` is not defined: `__init__` keeps it as `self.rows`"
    inner = "".join(f"    {line}" for line in source.replace("fit", "Inner").splitlines(keepends=True))
    within = first_sentence(f"def fit():\n{inner}    return Inner(1).get()\n", cause)
    assert within == "`rows` is not defined: `__init__` keeps it as `self.rows`"
    unknown = first_sentence("class fit:\n    def __len__(self):\n        return len(rows)\n", cause)
    assert unknown == "`rows` is not defined"


def test_a_package_that_is_imported_and_never_used() -> None:
    cause = Cause(
        kind="exception",
        stage="import",
        file="training.py",
        exception_type="ModuleNotFoundError",
        exception_message="No module named 'seaborn.objects'",
        frames=(Frame("training.py", 1, "", "import seaborn.objects as so"),),
    )
    unused = hints(b"import seaborn.objects as so\nx = 1\n").explain_import(cause)
    assert unused.advice == (
        "training.py cannot be imported: `seaborn` is not installed here, and is never used: delete line 1"
    )
    assert hints(b"import seaborn.objects as so\nso.Plot()\n").explain_import(cause) is cause
    assert hints(b"from seaborn.objects import *\n").explain_import(cause) is cause


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        ("    for x in model:\n        if x:\n            return x\n    return 1", WRONG),
        ("    for x in model:\n        return x", WRONG),
        ("    model.eval()\n    return F.cross_entropy(logits, labels)", WRONG),
        ("    return helper(ValueError('kept'))", WRONG),
        ("    for x in model:\n        x = x + 1\n        labels.append(x)", WRONG),
        ("    exit()", WRONG),
        ("    'a docstring'\n    x", WRONG),
    ],
)
def test_nothing_is_named_that_explains_nothing(body: str, cause: Cause) -> None:
    advice = first_sentence(f"def other():\n    loss.backward\n\n\ndef fit(model, logits, labels):\n{body}\n", cause)
    assert advice in ("", cause.advice)


@pytest.mark.parametrize("file", RIGHT, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_right_code_has_none(file: Path) -> None:
    source = file.read_text(encoding="utf-8")
    of_file = hints(source)
    for line in source.splitlines():
        if line.startswith(("def ", "class ")):
            name = line.split("(")[0].split(":")[0].split()[1]
            for cause in (WRONG, UNWRITTEN, Cause(kind="timeout", reason="no end within 4 s: rank 0 was in line 2")):
                assert name.startswith("_") or first_sentence(of_file, cause, name) == "", name


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import torch\n<<<<<<< HEAD\nx = 1\n", "line 2 is a mark of a Git merge"),
        ("x = 1\nprint(“hello”)\n", "line 2 has the quote “ of a book or a PDF"),
    ],
)
def test_text_that_is_no_python_is_named(source: str, said: str) -> None:
    frames = (Frame("training.py", 2, "", "…"),)
    cause = Cause(kind="exception", stage="import", file="training.py", exception_type="SyntaxError", frames=frames)
    assert said in hints(source).explain_import(cause).advice
    plain = hints(b"x = 1\ndef f(:\n").explain_import(cause)
    assert plain is cause


def test_a_check_that_is_hidden_stays_hidden_and_keeps_its_points() -> None:
    unknown = Cause(kind="exception", exception_type="NameError", exception_message="name 'modle' is not defined")
    hidden = CheckResult(name="it_trains", verdict="failed", cause=unknown, score=0.0, max=2.0, hidden_until="always")
    result = ExerciseResult(name="training.fit", score=0.0, max=2.0, checks=(hidden,))
    for source in ("def fit(model):\n    model.train\n    return modle\n", "def fit(model):\n    return modle\n"):
        found = hints(source).explain(result)
        (check,) = found.checks
        assert check.cause is not None and check.cause.advice and check.message.startswith(check.cause.advice)
        assert (check.hidden_until, check.max) == ("always", 2.0)


@pytest.mark.parametrize(
    "line",
    [
        f"x{'.item' * 900}",
        f"x{'()' * 900}.item",
        f"x == {'-' * 900}1",
        f"x == 0x{'f' * 5000}",
        f"x{'.a' * 900}.cross_entropy(labels, logits)",
        f"y = x{'.a' * 900}.zip(x)",
        f"with x{'.a' * 900}.no_grad: pass",
    ],
)
def test_an_expression_that_nests_too_deeply_ends_no_judge(line: str) -> None:
    """Python's own writer of expressions raises on them: the judge ended, and the points left the total."""
    assert len(first_sentence(f"def fit(x):\n    {line}\n    return x\n", WRONG)) < 300
