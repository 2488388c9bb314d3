"""Matchers of mistakes in code: each sees its misconception, none sees one in a right answer."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from answer_files import answers, course_at
from msgspec.structs import replace

from grader import kit
from grader.course import misconceptions_of
from grader.course.answer_code import AnswerCode
from grader.course.slips import MATCHERS, found_in, line_in, matchers_of

TOPICS = [topic.name for topic in course_at(None).topics]
kit.let_checks_import(course_at(None).checks_dir)
OWN = matchers_of(course_at(None))


def seen(matcher: str, source: str, name: str = "fit") -> int:
    return line_in(AnswerCode(ast.parse(source), name), matcher, OWN)


@pytest.mark.parametrize("topic", TOPICS)
def test_no_matcher_speaks_of_a_right_answer(topic: str) -> None:
    known = [one for one in misconceptions_of(course_at(None), topic) if one.seen]
    right = {str(one): one.module(one.text) for one in answers("right", None, topic)}
    right["the solution"] = course_at(None).solution_file(topic).read_bytes()
    for name, source in right.items():
        assert [(line, one.name) for line, one in found_in(ast.parse(source), known, OWN)] == [], name


@pytest.mark.parametrize("topic", TOPICS)
def test_each_matcher_sees_the_misconceptions_that_name_it(topic: str) -> None:
    tree = ast.parse(course_at(None).misconceptions_file(topic).read_bytes())
    for one in misconceptions_of(course_at(None), topic):
        if one.seen:
            assert line_in(AnswerCode(tree, one.function), one.seen, OWN), one.name


def test_each_matcher_is_named_by_a_misconception() -> None:
    used = {one.seen.partition("(")[0] for topic in TOPICS for one in misconceptions_of(course_at(None), topic)}
    own = {name for name, one in OWN.items() if getattr(one, "__module__", "") == "checks.slips"}
    assert ({*MATCHERS} | {name for name in own if not name.startswith("_")}) - used == set()


STEP = """
def fit(model, x, y, optimizer):
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
"""


def test_what_is_missing_is_seen_at_the_call_that_needs_it() -> None:
    assert seen("no_zero_grad", STEP) == 4


@pytest.mark.parametrize(
    "more",
    [
        "def clear(optimizer):\n    optimizer.zero_grad()\n",
        "clear = lambda optimizer: optimizer.zero_grad(set_to_none=True)\n",
        "class Clear:\n    def __init__(self, o):\n        for p in o.p:\n            p.grad = None\nclear = Clear\n",
        "def clear(optimizer):\n    really(optimizer)\ndef really(optimizer):\n    optimizer.zero_grad()\n",
        "from helpers import clear\n",
        "from .helpers import clear\n",
    ],
    ids=["helper", "lambda", "class", "helper of a helper", "another file", "a file beside it"],
)
def test_what_a_helper_does_or_may_do_is_not_missed(more: str) -> None:
    assert seen("no_zero_grad", more + STEP.replace("    loss =", "    clear(optimizer)\n    loss =")) == 0


def test_what_a_helper_does_wrong_is_seen_in_its_line() -> None:
    source = "def loss_of(logits, y):\n    return F.cross_entropy(logits.softmax(1), y)\n"
    assert seen("softmax_before_loss", source + STEP.replace("F.cross_entropy", "loss_of")) == 2
    unused = STEP + source
    assert seen("softmax_before_loss", unused) == 0


@pytest.mark.parametrize(
    ("line", "is_wrong"),
    [
        ("p = model(x).softmax(1)\n    loss = F.cross_entropy(p, y)", True),
        ("loss = nn.CrossEntropyLoss()(torch.sigmoid(model(x)), y)", True),
        ("criterion = nn.CrossEntropyLoss()\n    loss = criterion(nn.Softmax(1)(model(x)), y)", True),
        ("p = model(x)\n    loss = F.cross_entropy(p, y)\n    p = p.softmax(1)", False),
        ("loss = F.cross_entropy(model(x).softmax(1).log(), y)", False),
        ("loss = F.nll_loss(model(x).log_softmax(1), y)", False),
        ("loss = F.cross_entropy(model(x), y)\n    p = model(x).softmax(1)", False),
    ],
)
def test_a_softmax_in_front_of_the_loss(line: str, is_wrong: bool) -> None:
    assert bool(seen("softmax_before_loss", f"def fit(model, x, y):\n    {line}\n    return loss\n")) is is_wrong


@pytest.mark.parametrize(
    ("total", "result", "is_wrong"),
    [
        ("total += loss.item()", "total / len(loader)", True),
        ("total += loss.item(); count += 1", "total / count", True),
        ("losses.append(loss.item())", "sum(losses) / max(1, len(losses))", True),
        ("losses.append(loss.item())", "statistics.mean(losses)", True),
        ("losses.append(loss)", "torch.stack(losses).mean().item()", True),
        ("total += loss.item() * len(y)", "total / len(loader)", False),
        ("total += loss.item() * len(y); count += len(y)", "total / count", False),
        ("losses.append(loss.item())", "sum(l * n for l, n in zip(losses, sizes)) / sum(sizes)", False),
        ("losses += [loss.item()] * len(y)", "sum(losses) / len(losses)", False),
    ],
)
def test_a_mean_of_batch_means(total: str, result: str, is_wrong: bool) -> None:
    head = "def fit(model, loader):\n    total = count = 0\n    losses, sizes = [], []\n    for x, y in loader:\n"
    body = f"        loss = F.cross_entropy(model(x), y)\n        {total}\n    return {result}\n"
    assert bool(seen("mean_of_batch_means", head + body)) is is_wrong


@pytest.mark.parametrize(
    ("body", "is_wrong"),
    [
        ("if rank == 0:\n        save()\n        dist.barrier()", True),
        ("if dist.get_rank() != 0:\n        return\n    dist.barrier()", True),
        ("if rank == 0:\n        save()\n    dist.barrier()", False),
        ("if rank == 0:\n        dist.broadcast(x, 0)\n    else:\n        dist.broadcast(y, 0)", False),
        ("if rank != 0:\n        dist.barrier()\n        return\n    save()\n    dist.barrier()", False),
        ("if dist.is_initialized():\n        dist.barrier()", False),
    ],
)
def test_a_collective_on_one_rank(body: str, is_wrong: bool) -> None:
    assert bool(seen("collective_on_one_rank", f"def fit(rank, x, y):\n    {body}\n")) is is_wrong


@pytest.mark.parametrize(
    ("matcher", "body", "is_wrong"),
    [
        ("first_group_only", "o.param_groups[0]['lr'] = 1", True),
        ("first_group_only", "o.param_groups[0]['lr'] = o.param_groups[1]['lr'] = 1", False),
        ("first_group_only", "rate = o.param_groups[0]['lr']", False),
        ("divides_by('n', just=True)", "return x / n", True),
        ("divides_by('n', just=True)", "return x / (n - 1)", False),
        ("backward_of_a_whole_sum", "for x in o:\n        loss(x).backward()", True),
        ("backward_of_a_whole_sum", "for x in o:\n        (loss(x) / n).backward()", False),
        ("backward_of_a_whole_sum", "for x in o:\n        v = loss(x)\n        v *= n\n        v.backward()", False),
        ("backward_of_a_whole_sum", "for x in o:\n        loss(x).backward(weight)", False),
    ],
)
def test_what_is_set_and_divided(matcher: str, body: str, is_wrong: bool) -> None:
    assert bool(seen(matcher, f"def fit(o, x, n):\n    {body}\n")) is is_wrong


@pytest.mark.parametrize(
    ("matcher", "body", "is_wrong"),
    [
        ("fills_where('mask')", "return x.masked_fill(mask, -1e9)", True),
        ("fills_where('mask')", "return torch.where(mask[:, None], float('-inf'), x)", True),
        ("fills_where('mask')", "return x.masked_fill(~mask, -1e9)", False),
        ("fills_where('mask')", "mask = ~mask\n    return x.masked_fill(mask, -1e9)", False),
        ("fills_where('mask')", "return x.masked_fill(mask, 0)", False),
        ("fills_where('mask', 0)", "return x.masked_fill(mask.unsqueeze(-1), 0.0)", True),
        ("fills_where('mask', 0)", "m = (~mask).float()\n    return (x * m).sum(1)", True),
        ("fills_where('mask', 0)", "return x * mask.unsqueeze(-1)", False),
        ("fills_where('mask', 0)", "return x.masked_fill(~mask, 0) * 2", False),
        ("under_a_root('eps')", "v = x + eps\n    return torch.sqrt(v)", True),
        ("under_a_root('eps')", "return (x + self.eps) ** 0.5", True),
        ("under_a_root('eps')", "return x.sqrt() + eps", False),
        ("added_to_a_root('eps')", "s = x.std(-1)\n    return s + eps", True),
        ("added_to_a_root('eps')", "return torch.sqrt(x + eps)", False),
        ("logs_a_sum", "return (x + 1e-8).log()", True),
        ("logs_a_sum", "return x.log() + 1", False),
        ("never_loads('o')", "m.load_state_dict(s)", True),
        ("never_loads('o')", "m.load_state_dict(s)\n    o.load_state_dict(s)", False),
        ("never_loads('o')", "for part in (m, o):\n        part.load_state_dict(s)", False),
        ("never_loads('o')", "m.load_state_dict(s)\n    o.param_groups[0]['lr'] = s", False),
        ("never_loads('optimizer')", "m.load_state_dict(s)", False),
        ("keeps_live('weights')", "return {'weights': m.state_dict()}", True),
        ("keeps_live('weights')", "m.load_state_dict(best)\n    r['weights'] = m.state_dict()", False),
        ("never_divides", "return o(x) * mask", True),
        ("never_divides", "return o(x) / 2", False),
        ("never_divides", "return o(x) * m ** -0.5", False),
        ("climbs('eps')", "x.data += eps * x.grad", True),
        ("climbs('eps')", "x.data = x.data + m.grad * eps", True),
        ("climbs('eps')", "x.data += -eps * x.grad", False),
        ("climbs('eps')", "eps = -eps\n    x.data += eps * x.grad", False),
        ("divides_by_one_less", "return x.var(-1, keepdim=True)", True),
        ("divides_by_one_less", "return torch.std(x, -1, False) + x.var(correction=0)", False),
        ("divides_by_one_less", "return x.var(-1) * (m - 1) / m", False),
        ("yields_unprotected", "m.eval()\n    yield\n    m.train()", True),
        ("yields_unprotected", "try:\n        yield\n    finally:\n        m.train()", False),
        ("yields_unprotected", "with ExitStack() as s:\n        s.callback(m.train)\n        yield", False),
        ("dim('argmax', None)", "return x.argmax()", True),
        ("dim('softmax', 0)", "return x.softmax(0)", True),
        ("shuffles('test')", "return DataLoader(test, 4, shuffle=True)", True),
        ("shuffles('test')", "return DataLoader(dataset=test, batch_size=4, shuffle=True)", True),
        ("shuffles('test')", "return DataLoader(test, 4, True)", True),
        ("shuffles('test')", "return DataLoader(train, 4, shuffle=True), DataLoader(test, 4)", False),
        ("shuffles('test')", "return DataLoader(test, 4, shuffle=False)", False),
        ("dim('softmax', 0)", "return x.T.softmax(0).T", False),
        ("dim('softmax', 0)", "return torch.softmax(x.flatten(), 0)", False),
        ("dim('argmax', None)", "return [row.argmax() for row in x]", False),
    ],
)
def test_what_the_matchers_of_the_course_see(matcher: str, body: str, is_wrong: bool) -> None:
    assert bool(seen(matcher, f"def fit(self, m, o, x, mask, eps):\n    {body}\n")) is is_wrong


@pytest.mark.parametrize(
    ("code", "is_wrong"),
    [
        ("N = torch.cuda.device_count()\ndef fit():\n    return N\n", True),
        ("N = max(1, torch.cuda.device_count())\ndef count():\n    return N\ndef fit():\n    return count()\n", True),
        ("N = torch.cuda.device_count()\ndef fit():\n    return 0\n", False),
        ("def count():\n    return torch.cuda.device_count()\ndef fit():\n    return count()\n", False),
        ("count = lambda: torch.cuda.device_count()\ndef fit():\n    return count()\n", False),
        ("def fit():\n    n = torch.cuda.device_count()\n    return n\n", False),
    ],
)
def test_what_is_asked_when_the_file_is_loaded(code: str, is_wrong: bool) -> None:
    assert bool(seen("asked_at_import('device_count')", code)) is is_wrong


def test_code_that_is_very_long_is_not_looked_at() -> None:
    assert seen("no_eval", "def fit(model):\n" + "    model(0)\n" * 1_000) == 0
    assert seen("no_eval", "def fit(model):\n    model(0)\n") == 2


def test_a_matcher_that_raises_says_nothing() -> None:
    known = [
        replace(misconceptions_of(course_at(None), "training")[0], seen=name) for name in ("broken", "no_zero_grad")
    ]

    def broken(answer: AnswerCode) -> int:
        raise KeyError(answer)

    tree = ast.parse(STEP.replace("fit", "train_step"))
    assert [line for line, _ in found_in(tree, known, {"broken": broken})] == [4]


def test_a_decorator_counts() -> None:
    assert seen("no_no_grad", "@torch.no_grad()\ndef fit(model, x):\n    return model(x)\n") == 0


@pytest.mark.parametrize("matcher", ["no_evil", "calls(names)", "1 + 1", "no_eval if True else 0", "calls('x'"])
def test_a_matcher_that_does_not_exist_is_refused(matcher: str) -> None:
    with pytest.raises(ValueError, match="matcher"):
        seen(matcher, STEP)


def test_seen_is_read_and_not_run(tmp_path: Path) -> None:
    assert not [one for one in MATCHERS if not one.isidentifier()]
    with pytest.raises(ValueError, match="with literals"):
        seen(f"calls(open({str(tmp_path / 'x')!r}, 'w'))", STEP)
    assert not list(tmp_path.iterdir())
