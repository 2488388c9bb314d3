"""Submissions that answer for ranks without ranks that communicate, or that turn on the other ranks and the launcher.

Each replaces some exercises of the solution: these earn nothing, and the others all that they are worth. One worker
grades all of them; after the last, a right submission still earns everything.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from answer_files import replaced
from shared import PATIENCE, but_nightly

from grader.course import Course
from grader.grading.protocol import WorkerOptions
from grader.grading.worker_process import Worker
from grader.intake.submission import Submission
from grader.results import SubmissionResult, to_json

pytestmark = pytest.mark.slow

COURSE = Course.load(None)
HONEST = "read_env"
RANKS = (HONEST, "average_gradients", "global_accuracy")
MAIN = "main"
SOLUTION = COURSE.solution_file("ddp").read_text()


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """It names no misconceptions, which would take as long as all the attacks."""
    worker = Worker()
    exercises = tuple(COURSE.select([f"ddp.{name}" for name in (*RANKS, MAIN)]))
    worker.configure(WorkerOptions(exercises=exercises, misconceptions=False))
    yield worker
    worker.end()


def graded(worker: Worker, text: str, exercises: tuple[str, ...]) -> SubmissionResult:
    """The result of the solution with what ``text`` defines."""
    names = [f"ddp.{name}" for name in exercises]
    submission = Submission("somebody", {"ddp.py": replaced(SOLUTION, text).encode()})
    result = worker.grade(submission, PATIENCE, exercises=names)
    assert isinstance(result, SubmissionResult), result
    assert {check.verdict for exercise in result.exercises for check in exercise.checks} & {"error", "skipped"} == set()
    assert result.max == sum(COURSE.exercise(name).points for name in COURSE.with_needs(names))
    return result


def earned(result: SubmissionResult) -> set[str]:
    return {one.name.partition(".")[2] for one in result.exercises if one.score}


def messages(result: SubmissionResult) -> str:
    return "\n".join(check.message for exercise in result.exercises for check in exercise.checks)


ALONE = """
def average_gradients(model):
    pass

def global_accuracy(model, loader):
    counts = [((model(x).argmax(1) == y).sum().item(), len(y)) for x, y in loader]
    return sum(right for right, _ in counts) / max(1, sum(rows for _, rows in counts))
"""
NO_RANKS = {
    "fork_raises_at_import": "os.fork = None" + ALONE,
    "fork_gives_no_child": "os.fork = lambda: 4711\nos.waitpid = lambda *args: (4711, 0)" + ALONE,
    "distributed_is_made_up": """
def nothing(*args, **kwargs):
    return None

for name in ("all_reduce", "init_process_group", "destroy_process_group", "barrier", "broadcast", "all_gather"):
    setattr(dist, name, nothing)
dist.is_initialized = lambda: True
dist.get_rank = lambda group=None: int(os.environ.get("RANK", 0))
dist.get_world_size = lambda group=None: int(os.environ.get("WORLD_SIZE", 1))
""",
    "launcher_by_name": """
import sys
for name in ("grader.testkit.ranks", "grader.testkit._ranks.rank", "grader.testkit._ranks.world", "kit.distributed"):
    try:
        module = __import__(name, fromlist=["x"])
    except ImportError:
        continue
    for key in list(vars(module)):
        if callable(getattr(module, key)) and not key.startswith("__"):
            setattr(module, key, lambda *args, **kwargs: None)
"""
    + ALONE,
    "launcher_in_a_call": """
import sys

def replace():
    for name, module in list(sys.modules.items()):
        if name.startswith(("grader", "kit")):
            for key, value in list(vars(module).items()):
                if callable(value) and not key.startswith("__"):
                    setattr(module, key, lambda *args, **kwargs: 1.0)

def average_gradients(model):
    replace()

def global_accuracy(model, loader):
    replace()
    return 1.0
""",
}


@pytest.mark.parametrize("attack", but_nightly(NO_RANKS, "fork_raises_at_import", "launcher_by_name"))
def test_without_ranks_that_communicate_nothing_is_earned(worker: Worker, attack: str) -> None:
    assert earned(graded(worker, NO_RANKS[attack], RANKS)) == {HONEST}


KNOWN_SEEDS = {
    "the_first_seeds": """
def average_gradients(model):
    grads = []
    for seed in range(dist.get_world_size()):
        generator = torch.Generator().manual_seed(seed)
        grads.append([torch.randn(p.shape, generator=generator) for p in model.parameters()])
    for p, *found in zip(model.parameters(), *grads):
        if p.grad is not None:
            p.grad = sum(found) / len(found)
""",
    "its_own_for_everybody": """
def average_gradients(model):
    for p in model.parameters():
        if p.grad is not None:
            p.grad = p.grad / dist.get_world_size() * dist.get_world_size()
""",
    "by_a_recipe_found_in_memory": """
import gc

def recipe():
    for thing in gc.get_objects():
        if type(thing) is dict and thing.get("__name__") == "kit.distributed" and "with_grads" in thing:
            return thing["with_grads"]

def average_gradients(model):
    others = [recipe()("mlp", seed) for seed in range(1, 1 + dist.get_world_size())]
    for p, *found in zip(model.parameters(), *(other.parameters() for other in others)):
        if p.grad is not None:
            p.grad = sum(q.grad for q in found) / len(found)
""",
}


@pytest.mark.parametrize("attack", KNOWN_SEEDS)
def test_what_other_ranks_hold_cannot_be_made_without_them(worker: Worker, attack: str) -> None:
    assert earned(graded(worker, KNOWN_SEEDS[attack], RANKS)) == {HONEST, "global_accuracy"}


HARM = {
    "kills_each_process": """
import signal

def average_gradients(model):
    for process in range(2, 2000):
        if process != os.getpid():
            try:
                os.kill(process, signal.SIGKILL)
            except OSError:
                pass
""",
    "kills_all_at_once": """
def average_gradients(model):
    os.kill(-1, 9)
""",
    "kills_the_first_process": """
def average_gradients(model):
    for process in (1, os.getppid()):
        try:
            os.kill(process, 9)
        except OSError:
            pass
""",
    "stops_the_others": """
import signal

def average_gradients(model):
    if dist.get_rank():
        os.kill(-1, signal.SIGSTOP)
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)
""",
    "closes_descriptors": """
def average_gradients(model):
    os.closerange(0, 256)
""",
    "garbage_on_every_descriptor": """
def average_gradients(model):
    for descriptor in range(256):
        try:
            os.write(descriptor, os.urandom(999))
        except OSError:
            pass
""",
    "a_frame_that_is_too_long": """
def average_gradients(model):
    for descriptor in range(3, 256):
        try:
            os.write(descriptor, b"\\xff\\xff\\xff\\xff")
        except OSError:
            pass
    if dist.get_rank():
        os._exit(0)
""",
    "a_made_up_reply": """
def average_gradients(model):
    reply = b"\\x92\\xa8returned\\x92\\xa1v\\xc0"
    for descriptor in range(3, 256):
        try:
            os.write(descriptor, len(reply).to_bytes(4, "little") + reply)
        except OSError:
            pass
    os._exit(0)
""",
    "a_made_up_stack": """
import threading, time

def lie():
    while True:
        time.sleep(0.01)
        for descriptor in range(1, 256):
            try:
                os.write(descriptor, b'  File "ddp.py", line 12 in \\x1b[2J' + b"9" * 3000 + b"\\n  in serve\\n")
            except OSError:
                pass

def average_gradients(model):
    if dist.get_rank():
        threading.Thread(target=lie, daemon=True).start()
    while True:
        time.sleep(0.01)
""",
}


@pytest.mark.parametrize(
    "attack",
    but_nightly(
        HARM,
        "kills_each_process",
        "kills_the_first_process",
        "stops_the_others",
        "garbage_on_every_descriptor",
        "a_frame_that_is_too_long",
    ),
)
def test_a_rank_that_turns_on_the_others_costs_its_exercise(worker: Worker, attack: str) -> None:
    result = graded(worker, HARM[attack], RANKS)
    assert earned(result) == {HONEST, "global_accuracy"}, messages(result)
    assert "\x1b" not in messages(result)
    assert max(map(len, messages(result).splitlines())) < 1000


SCRIPTS = {
    "one_number_for_all": """
def main():
    if int(os.environ.get("RANK", 0)) == 0:
        print("2 ranks, loss 0.4321")
""",
    "kills_the_launcher": """
def main():
    if int(os.environ.get("RANK", 0)):
        return
    print("2 ranks, loss 0.4321")
    for process in (os.getppid(), 1, 0):
        try:
            os.kill(process, 15)
        except OSError:
            pass
""",
    "says_all_went_well": """
def main():
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, b"0")
        except OSError:
            pass
    os._exit(0)
""",
    "writes_the_others_log": """
def main():
    for folder, _, names in os.walk(os.environ.get("TMPDIR", "/tmp")):
        for name in names:
            if name.endswith(".log"):
                with open(os.path.join(folder, name), "w") as log:
                    log.write("2 ranks, loss 0.4321")
""",
    "trains_alone_on_rank_0": """
def main():
    if int(os.environ.get("RANK", 0)):
        return
    size, seed = os.environ.get("WORLD_SIZE", 1), int(os.environ.get("SEED", 0))
    (x, y), model = toy_data(seed).tensors, toy_model(seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE)
    for _ in range(EPOCHS):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    print(f"{size} ranks, loss {F.cross_entropy(model(x), y).item():.4f}")
""",
    "trains_alone_on_every_rank_of_a_group": """
def main():
    rank, _, size = read_env(os.environ)
    ddp_setup(rank, size)
    seed = int(os.environ.get("SEED", 0))
    (x, y), model = toy_data(seed).tensors, toy_model(seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE)
    for _ in range(EPOCHS):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        dist.all_reduce(torch.zeros(6))
        optimizer.step()
    dist.barrier()
    if rank == 0:
        print(f"{size} ranks, loss {F.cross_entropy(model(x), y).item():.4f}")
    ddp_cleanup()
""",
    "plays_all_ranks_on_rank_0": """
def main():
    rank, _, size = read_env(os.environ)
    ddp_setup(rank, size)
    seed = int(os.environ.get("SEED", 0))
    (x, y), model = toy_data(seed).tensors, toy_model(seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE)
    for _ in range(EPOCHS):
        optimizer.zero_grad()
        for other in range(size):
            (F.cross_entropy(model(x[other::size]), y[other::size]) / size).backward()
        optimizer.step()
    dist.barrier()
    if rank == 0:
        print(f"{size} ranks, loss {F.cross_entropy(model(x), y).item():.4f}")
    ddp_cleanup()
""",
    "prints_the_loss_on_another_rank": """
own_main = main

def main():
    import contextlib, io
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        own_main()
    if int(os.environ.get("RANK", 0)) == int(os.environ.get("WORLD_SIZE", 1)) - 1:
        print("2 ranks, loss 0.4321")
""",
}


@pytest.mark.parametrize(
    "attack",
    but_nightly(
        SCRIPTS,
        "says_all_went_well",
        "writes_the_others_log",
        "trains_alone_on_rank_0",
        "plays_all_ranks_on_rank_0",
        "prints_the_loss_on_another_rank",
    ),
)
def test_a_script_that_does_not_train_earns_nothing(worker: Worker, attack: str) -> None:
    result = graded(worker, SCRIPTS[attack], (HONEST, MAIN))
    assert earned(result) == {one.name.partition(".")[2] for one in result.exercises} - {MAIN}, messages(result)


def test_a_right_submission_after_all_of_them_earns_everything(worker: Worker) -> None:
    result = graded(worker, "", (*RANKS, MAIN))
    assert result.score == result.max, to_json(result)
