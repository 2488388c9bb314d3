"""Wrong answers that replace what a check looks with: the modules of the grader and of the kit, and torch itself.

By name, in ``sys.modules``, nothing of it is there; replaced functions of torch fool no outcome. Whoever finds the
probes by way of the interpreter's own memory may make an observation lie: that is flagged.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from shared import PATIENCE, exercise_of

from grader.course import Course
from grader.grading.protocol import WorkerOptions
from grader.grading.worker_process import Worker
from grader.intake.submission import Submission
from grader.results import SubmissionResult
from grader.sandbox.limits import Limits

pytestmark = pytest.mark.slow

PATCHED_BY_NAME = """
import importlib, sys

NAMES = ["grader.testkit", "kit"]
NAMES += [f"grader.testkit.{name}" for name in ("probes", "recipes", "models", "devices", "observation", "watching")]
NAMES += [f"grader.border.{name}" for name in ("service", "wire", "arena", "arguments", "messages", "tensors")]
NAMES += [f"kit.{name}" for name in ("autograd", "checklist", "clock", "distributed", "files", "moving")]
NAMES += [f"kit.{name}" for name in ("parameters", "resuming", "steps", "tensor_ops", "training")]

def replace_all():
    for name in NAMES:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        for key, value in list(vars(module).items()):
            if callable(value) and not key.startswith("__"):
                setattr(module, key, lambda *args, **kwargs: LIE)

LIE = True
replace_all()
"""
PATCHED_IN_EVERY_MODULE = """
import sys

for name, module in list(sys.modules.items()):
    if name.split(".")[0] in ("grader", "kit"):
        for key, value in list(vars(module).items()):
            if callable(value) and not key.startswith("__"):
                vars(module)[key] = lambda *args, **kwargs: []
"""
BLIND_TORCH = """
import torch

def same(self, *args, **kwargs):
    return self

torch.Tensor.clone = torch.Tensor.detach = same
torch.equal = torch.allclose = lambda *args, **kwargs: True
torch.Tensor.equal = torch.Tensor.allclose = lambda *args, **kwargs: True
torch.nn.Module.state_dict = lambda self, *args, **kwargs: dict(self.named_parameters())
torch.is_grad_enabled = lambda: True
"""
WRONG = {
    "autograd.sgd_step": "def sgd_step(params, lr):\n    pass\n",
    "autograd.Cube": """
class Cube:
    @staticmethod
    def apply(x):
        return x.detach() ** 3 + 0 * x
""",
    "tensor_ops.softmax": "def softmax(x, dim):\n    return torch.softmax(x, dim)\n",
    "tensor_ops.pairwise_sq_dists": """
def pairwise_sq_dists(a, b):
    return torch.stack([((p - b) ** 2).sum(1) for p in a])
""",
    "devices.train_on": "def train_on(model, loader, device, epochs, lr):\n    return [0.0] * epochs\n",
    "checkpoints.save_weights": "def save_weights(model, path):\n    torch.save(model.state_dict(), path)\n",
    "training.evaluate": "def evaluate(model, loader):\n    model.train()\n    return 0.0, 1.0\n",
}
HEADS = {"by_name": PATCHED_BY_NAME, "in_every_module": PATCHED_IN_EVERY_MODULE, "blind_torch": BLIND_TORCH}


EXERCISES = tuple(WRONG)
COURSE = Course.load(None)
SOLUTIONS = {topic: COURSE.solution_file(topic).read_text() for topic in {name.partition(".")[0] for name in WRONG}}


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """It names no misconceptions: to compare such answers with them takes longer than to grade them."""
    worker = Worker()
    exercises = COURSE.with_needs(EXERCISES)
    worker.configure(WorkerOptions(exercises=exercises, limits=Limits(check_seconds=20.0), misconceptions=False))
    yield worker
    worker.end()


def graded(worker: Worker, name: str, text: str) -> SubmissionResult:
    """The result of one exercise, of the solution with what ``text`` defines."""
    topic = name.partition(".")[0]
    submission = Submission("somebody", {f"{topic}.py": f"{SOLUTIONS[topic]}\n{text}".encode()})
    result = worker.grade(submission, PATIENCE, exercises=[name])
    assert isinstance(result, SubmissionResult), result
    assert {check.verdict for exercise in result.exercises for check in exercise.checks} & {"error", "skipped"} == set()
    return result


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("head", HEADS)
def test_a_wrong_answer_with_lying_probes_earns_nothing(worker: Worker, name: str, head: str) -> None:
    result = graded(worker, name, HEADS[head] + WRONG[name])
    assert exercise_of(result, name.partition(".")[2]).score == 0
    assert result.flags, "nobody is told"


HIDDEN = {
    "in_a_thread": """
from concurrent.futures import ThreadPoolExecutor

def pairwise_sq_dists(a, b):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: torch.stack([((p - b) ** 2).sum(1) for p in a])).result()
""",
    "in_a_thread_without_threading": """
import _thread

def pairwise_sq_dists(a, b):
    found, lock = [], _thread.allocate_lock()
    lock.acquire()

    def work():
        found.append(torch.stack([((p - b) ** 2).sum(1) for p in a]))
        lock.release()

    _thread.start_new_thread(work, ())
    lock.acquire()
    return found[0]
""",
    "in_a_thread_of_the_import": """
import queue
import threading

asked, answered = queue.Queue(), queue.Queue()

def work():
    while True:
        a, b = asked.get()
        answered.put(torch.stack([((p - b) ** 2).sum(1) for p in a]))

threading.Thread(target=work, daemon=True).start()

def pairwise_sq_dists(a, b):
    asked.put((a, b))
    return answered.get()
""",
    "in_lists_of_numbers": """
def pairwise_sq_dists(a, b):
    rows, others = a.tolist(), b.tolist()
    table = [[sum((u - v) ** 2 for u, v in zip(p, q)) for q in others] for p in rows]
    return torch.tensor(table, dtype=a.dtype).reshape(len(a), len(b))
""",
    "in_numpy": """
import numpy as np

def pairwise_sq_dists(a, b):
    rows, others = a.numpy(), b.numpy()
    table = np.array([[((p - q) ** 2).sum() for q in others] for p in rows])
    return torch.from_numpy(table.reshape(len(a), len(b)).astype(rows.dtype))
""",
    "in_map": """
def pairwise_sq_dists(a, b):
    return torch.stack(list(map((b[None] - a[:, None]).pow(2).sum, [-1]))).squeeze(0) if len(a) < 3 else torch.stack(
        [row for row in map(lambda p: ((p - b) ** 2).sum(1), a)]
    )
""",
}


@pytest.mark.parametrize("where", HIDDEN)
def test_a_loop_is_seen_wherever_it_is_hidden(worker: Worker, where: str) -> None:
    name = "tensor_ops.pairwise_sq_dists"
    assert exercise_of(graded(worker, name, HIDDEN[where]), "pairwise_sq_dists").score == 0


FROM_MEMORY = """
import gc

def change(module, name, value):
    for thing in gc.get_objects():
        if type(thing) is dict and thing.get("__name__") == module and name in thing:
            thing[name] = value
"""
LIES_FROM_MEMORY = {
    "tensor_ops.pairwise_sq_dists": """
def lie(function, few, many):
    return function(*few), function(*many), [False, False]

change("kit.tensor_ops", "cost_grows", lie)
""",
    "tensor_ops.softmax": """
change("kit.tensor_ops", "ready_made", lambda function, x, dim: (function(x, dim=dim), []))
""",
    "training.evaluate": 'change("grader.testkit.probes", "training_flags", lambda model: {})\n',
}


@pytest.mark.parametrize("name", LIES_FROM_MEMORY)
def test_who_finds_the_probes_in_memory_is_flagged(worker: Worker, name: str) -> None:
    result = graded(worker, name, FROM_MEMORY + LIES_FROM_MEMORY[name] + WRONG[name])
    assert any("objects" in str(flag) for flag in result.flags), result.flags
