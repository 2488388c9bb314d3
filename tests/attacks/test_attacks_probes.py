"""Wrong answers that replace what a check looks with: the modules of the grader and of the kit, and torch itself.

By name, in ``sys.modules``, nothing of it is there; replaced functions of torch fool no outcome. Whoever finds the
probes by way of the interpreter's own memory may make an observation lie: that is flagged.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from shared import PATIENCE, as_nightly, but_nightly, exercise_of

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
NAMES += [f"grader.border.{name}" for name in ("service", "wire", "arena", "channel", "messages", "tensor_facts")]
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
LIES = {
    "parameters.seeded": """
def seeded(build, seed):
    before = torch.default_generator.get_state()
    torch.manual_seed(seed)
    made = build()
    torch.set_rng_state(before)
    return made

torch.equal = lambda *tensors: True
torch.get_rng_state = lambda: torch.zeros(5)
""",
    "autograd.sgd_step": """
def sgd_step(params, lr):
    for place, p in enumerate(list(params)):
        if p.grad is not None:
            params[place] = (p - lr * p.grad).detach().requires_grad_()
            params[place].grad = p.grad
    if hasattr(params, "at_first"):
        params.at_first, params.grads = tuple(params), [p.grad for p in params]
        params.aliases = tuple(p.detach() for p in params)
""",
    "debugging.memory_stays_flat": """
def memory_stays_flat(model, loader):
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    total, count = 0.0, 0
    for features, labels in loader:
        for noted in (getattr(model, "alive", set()), getattr(model, "seen", [])):
            noted.clear()
        loss = F.cross_entropy(model(features), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss * len(labels)
        count += len(labels)
    return float(total / count)
""",
    "efficiency.inference": """
asked = torch.is_inference_mode_enabled

def inference(model, x):
    flags = {module: module.training for module in model.modules()}
    torch.is_inference_mode_enabled = lambda: True
    try:
        with torch.no_grad():
            return model.eval()(x)
    finally:
        torch.is_inference_mode_enabled = asked
        for module, training in flags.items():
            module.training = training
""",
    "efficiency.wrap_data_parallel": """
class Pretence(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module, self.device_ids = module, list(range(torch.cuda.device_count()))

nn.DataParallel = Pretence

def wrap_data_parallel(model):
    return Pretence(model) if torch.cuda.device_count() > 1 else model
""",
    "datasets.ToyDataset": """
class ToyDataset:
    def __init__(self, features, labels):
        if len(features) != len(labels):
            raise ValueError(f"{len(features)} rows, but {len(labels)} labels")
        self.features, self.labels = features, labels

    def __getitem__(self, index):
        return self.features[index], self.labels[index]

    def __len__(self):
        return len(self.labels)

torch.utils.data.Dataset = object
""",
}
"""Wrong answers that replace a function, a class or a note which the check of just that promise might look at."""
HEADS = {"by_name": PATCHED_BY_NAME, "in_every_module": PATCHED_IN_EVERY_MODULE, "blind_torch": BLIND_TORCH}
BY_DAY = {
    "by_name": ("autograd.sgd_step", "tensor_ops.softmax", "checkpoints.save_weights"),
    "in_every_module": ("autograd.Cube", "tensor_ops.pairwise_sq_dists", "training.evaluate"),
    "blind_torch": ("autograd.sgd_step", "devices.train_on", "checkpoints.save_weights"),
}
"""Three wrong answers for each head, and each of them with one head at least; the others are left to the night."""

EXERCISES = (*WRONG, *LIES)
COURSE = Course.load(None)
SOLUTIONS = {topic: COURSE.solution_file(topic).read_text() for topic in {name.partition(".")[0] for name in EXERCISES}}


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


@pytest.mark.parametrize(
    ("head", "name"),
    [(head, name) if name in BY_DAY[head] else as_nightly((head, name)) for head in HEADS for name in WRONG],
)
def test_a_wrong_answer_with_lying_probes_earns_nothing(worker: Worker, head: str, name: str) -> None:
    result = graded(worker, name, HEADS[head] + WRONG[name])
    assert exercise_of(result, name.partition(".")[2]).score == 0
    assert result.flags, "nobody is told"


@pytest.mark.parametrize("name", LIES)
def test_a_lie_about_the_very_promise_that_is_broken_earns_nothing(worker: Worker, name: str) -> None:
    assert exercise_of(graded(worker, name, LIES[name]), name.partition(".")[2]).score == 0


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
    "in_starmap": """
from itertools import product, starmap
from math import dist

def pairwise_sq_dists(a, b):
    found = [d * d for d in starmap(dist, product(a.tolist(), b.tolist()))]
    return torch.tensor(found, dtype=a.dtype).view(len(a), len(b))
""",
    "in_starmap_over_columns": """
from itertools import product, starmap
from operator import mul, sub

def pairwise_sq_dists(a, b):
    total = torch.zeros(len(a), len(b), dtype=a.dtype)
    for k in range(a.shape[1]):
        gaps = list(starmap(sub, product(a[:, k].tolist(), b[:, k].tolist())))
        total += torch.tensor(list(map(mul, gaps, gaps)), dtype=a.dtype).view(len(a), len(b))
    return total
""",
    "in_torchscript": """
@torch.jit.script
def pairwise_sq_dists(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    found = torch.empty(a.shape[0], b.shape[0], dtype=a.dtype)
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            found[i, j] = ((a[i] - b[j]) ** 2).sum()
    return found
""",
    "in_torchscript_over_pieces": """
@torch.jit.script
def pairwise_sq_dists(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    found = []
    for i in range((a.shape[0] + 7) // 8):
        row = []
        for j in range((b.shape[0] + 7) // 8):
            left, right = a[8 * i : 8 * i + 8], b[8 * j : 8 * j + 8]
            row.append((left.unsqueeze(1) - right).pow(2).sum(2))
        found.append(torch.cat(row, 1))
    return torch.cat(found)
""",
    "without_dispatch": """
def pairwise_sq_dists(a, b):
    with torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunction():
        return torch.stack([torch.stack([((p - q) ** 2).sum() for q in b]) for p in a])
""",
    "in_bytes": """
import struct

def pairwise_sq_dists(a, b):
    kind = {torch.float32: "f", torch.float64: "d"}[a.dtype]
    rows, others = ([tuple(p) for p in t.tolist()] for t in (a, b))
    packed = b"".join(struct.pack(kind, sum((u - v) ** 2 for u, v in zip(p, q))) for p in rows for q in others)
    return torch.frombuffer(bytearray(packed), dtype=a.dtype).view(len(a), len(b))
""",
    "in_a_child": """
import os, pickle

def pairwise_sq_dists(a, b):
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        table = [[sum((u - v) ** 2 for u, v in zip(p, q)) for q in b.tolist()] for p in a.tolist()]
        with open(writing, "wb") as pipe:
            pickle.dump(table, pipe)
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        table = pickle.load(pipe)
    os.waitpid(child, 0)
    return torch.tensor(table, dtype=a.dtype).view(len(a), len(b))
""",
    "in_map": """
def pairwise_sq_dists(a, b):
    return torch.stack(list(map((b[None] - a[:, None]).pow(2).sum, [-1]))).squeeze(0) if len(a) < 3 else torch.stack(
        [row for row in map(lambda p: ((p - b) ** 2).sum(1), a)]
    )
""",
}


@pytest.mark.parametrize(
    "where",
    but_nightly(
        HIDDEN,
        "in_a_thread_without_threading",
        "in_a_thread_of_the_import",
        "in_starmap_over_columns",
        "in_torchscript_over_pieces",
    ),
)
def test_a_loop_is_seen_wherever_it_is_hidden(worker: Worker, where: str) -> None:
    name = "tensor_ops.pairwise_sq_dists"
    assert exercise_of(graded(worker, name, HIDDEN[where]), "pairwise_sq_dists").score == 0


UNSEEN_SOFTMAX = {
    "without_dispatch": """
def softmax(x, dim):
    with torch._C._DisableTorchDispatch():
        return torch.softmax(x, dim)
""",
    "without_dispatch_by_a_spelt_name": """
import torch._C as core
guard = getattr(core, "_Disable" + "Torch" + "Dispatch")

def softmax(x, dim):
    with guard():
        return torch.softmax(x, dim)
""",
    "without_dispatch_by_a_helper": """
from torch.utils._mode_utils import no_dispatch

def softmax(x, dim):
    with no_dispatch():
        return torch.softmax(x, dim)
""",
    "in_a_thread_without_threading": """
import _thread

def softmax(x, dim):
    found, lock = [], _thread.allocate_lock()
    lock.acquire()
    _thread.start_new_thread(lambda: (found.append(torch.softmax(x, dim)), lock.release()), ())
    lock.acquire()
    return found[0]
""",
    "in_a_thread_of_threadings_own": """
import threading

def softmax(x, dim):
    found, lock = [], threading.Lock()
    lock.acquire()
    threading._start_new_thread(lambda: (found.append(torch.softmax(x, dim)), lock.release()), ())
    lock.acquire()
    return found[0]
""",
    "below_python": """
CPU = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)

def softmax(x, dim):
    with torch.overrides._C.DisableTorchFunction():
        return torch.ops.aten._softmax.default.redispatch(CPU, x, dim, False)
""",
    "in_torchscript": """
@torch.jit.script
def scripted(x: torch.Tensor, dim: int) -> torch.Tensor:
    return torch.softmax(x, dim)

def softmax(x, dim):
    return scripted(x, dim)
""",
}


@pytest.mark.parametrize("how", UNSEEN_SOFTMAX)
def test_a_way_past_the_look_at_operations_is_flagged(worker: Worker, how: str) -> None:
    result = graded(worker, "tensor_ops.softmax", UNSEEN_SOFTMAX[how])
    assert result.flags, "nobody is told"


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
