"""Datasets, loaders and training of students that raise, never end, lie or change: a clear verdict each.

Each submission is the solution with one exercise written anew below it, graded by a real worker in its sandbox.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.grading.protocol import Fault, WorkerOptions
from grader.grading.worker_process import Worker
from grader.intake.submission import Submission
from grader.results import ExerciseResult
from grader.sandbox.limits import Limits

SOLUTIONS = Path(__file__).resolve().parent.parent.parent / "solutions"
PATIENCE = 240.0
EXERCISES = (
    "datasets.ToyDataset",
    "datasets.make_loaders",
    "datasets.split",
    "datasets.pad_collate",
    "datasets.WindowDataset",
    "training.fit",
    "training.evaluate",
)

Grade = Callable[[str, str], ExerciseResult]


def grading(check_seconds: float) -> Iterator[Grade]:
    worker = Worker()
    limits = Limits(check_seconds=check_seconds)
    worker.configure(WorkerOptions(exercises=EXERCISES, limits=limits, misconceptions=False))

    def grade(exercise: str, code: str) -> ExerciseResult:
        topic = exercise.partition(".")[0]
        text = (SOLUTIONS / f"{topic}.py").read_text(encoding="utf-8") + "\n\n" + code
        result = worker.grade(Submission("student", {f"{topic}.py": text.encode()}), PATIENCE)
        assert not isinstance(result, Fault), result
        (found,) = (one for one in result.exercises if one.name == exercise)
        return found

    yield grade
    worker.end()


@pytest.fixture(scope="module")
def grade() -> Iterator[Grade]:
    """Grades with little time for each check."""
    yield from grading(check_seconds=2.0)


@pytest.fixture(scope="module")
def grade_patiently() -> Iterator[Grade]:
    """Grades with enough time for loaders that have worker processes, on a busy machine."""
    yield from grading(check_seconds=40.0)


def verdicts(result: ExerciseResult) -> set[str]:
    return {check.verdict for check in result.checks}


def told(result: ExerciseResult) -> str:
    return "\n".join(check.message for check in result.checks if check.verdict != "passed")


# --- datasets and loaders that cannot be right ----------------------------------------------------------------

BAD = {
    "items that raise": (
        "datasets.ToyDataset",
        """
class ToyDataset(ToyDataset):
    def __getitem__(self, index):
        raise RuntimeError("no such file: train.csv")
""",
        "failed",
        "no such file: train.csv",
    ),
    "items that are others each time": (
        "datasets.ToyDataset",
        """
class ToyDataset(ToyDataset):
    def __getitem__(self, index):
        x, y = self.features[index], self.labels[index]
        self.labels = self.labels + 1
        return x, y
""",
        "failed",
        "",
    ),
    "an iteration that never ends": (
        "datasets.ToyDataset",
        """
class ToyDataset(ToyDataset):
    def __iter__(self):
        while True:
            yield from (self[i] for i in range(len(self)))
""",
        "failed",
        "how many pairs a for loop gives",
    ),
    "an item that never comes": (
        "datasets.WindowDataset",
        """
class WindowDataset(WindowDataset):
    def __getitem__(self, index):
        while True:
            pass
""",
        "timeout",
        "__getitem__",
    ),
    "a length that is astronomical": (
        "datasets.WindowDataset",
        """
class WindowDataset(WindowDataset):
    def __len__(self):
        return 10**15
""",
        "failed",
        "len",
    ),
    "a length that is no number": (
        "datasets.WindowDataset",
        """
class WindowDataset(WindowDataset):
    def __len__(self):
        return "3"
""",
        "failed",
        "'str' object cannot be interpreted as an integer",
    ),
    "parts that never end": (
        "datasets.split",
        """
class Endless(Dataset):
    def __len__(self):
        return 10**12
    def __getitem__(self, index):
        return 0

def split(dataset, val_fraction, seed):
    return Endless(), Endless()
""",
        "failed",
        "rows for validation",
    ),
    "a split of one part": (
        "datasets.split",
        """
def split(dataset, val_fraction, seed):
    return dataset
""",
        "failed",
        "not a pair of two datasets",
    ),
    "another split each time": (
        "datasets.split",
        """
def split(dataset, val_fraction, seed, calls=[]):
    calls.append(1)
    size = round(len(dataset) * val_fraction)
    order = [(i + len(calls)) % len(dataset) for i in range(len(dataset))]
    return Subset(dataset, order[size:]), Subset(dataset, order[:size])
""",
        "failed",
        "the rows of both parts",
    ),
    "a loader that never ends": (
        "datasets.make_loaders",
        """
class Endless(DataLoader):
    def __iter__(self):
        while True:
            yield from super().__iter__()

def make_loaders(train_ds, test_ds, batch_size, seed):
    return tuple(Endless(one, batch_size) for one in (train_ds, test_ds))
""",
        "failed",
        "sizes of train batches",
    ),
    "loaders that are no loaders": (
        "datasets.make_loaders",
        """
def make_loaders(train_ds, test_ds, batch_size, seed):
    return 3, 4
""",
        "failed",
        "'int' object is not iterable",
    ),
    "a batch too large to look at": (
        "datasets.pad_collate",
        """
def pad_collate(batch):
    return torch.zeros(1 << 23), torch.ones(1, dtype=torch.bool), torch.zeros(1)
""",
        "crashed",
        "too big to look at",
    ),
    "losses without end": (
        "training.fit",
        """
def fit(model, loader, epochs, lr):
    while True:
        yield 0.75
""",
        "failed",
        "generator",
    ),
    "training without end": (
        "training.fit",
        """
def fit(model, loader, epochs, lr):
    losses = []
    while len(losses) < 6 or losses[-1] > -1:
        losses.append(0.75)
        losses = losses[-100:]
    return losses
""",
        "timeout",
        "fit",
    ),
    "numbers that say that they are equal": (
        "training.evaluate",
        """
class Right(float):
    def __eq__(self, other):
        return True
    def __sub__(self, other):
        return 0.0
    __rsub__ = __sub__
    __hash__ = float.__hash__

def evaluate(model, loader):
    return Right(0), Right(0)
""",
        "failed",
        "Right",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_data_gets_a_clear_verdict(grade: Grade, case: str) -> None:
    exercise, code, verdict, words = BAD[case]
    result = grade(exercise, code)
    assert verdict in verdicts(result)
    assert "error" not in verdicts(result)
    assert words in told(result)
    assert result.score == 0.0


def test_batch_of_gigabytes_is_told(grade_patiently: Grade) -> None:
    code = """
def pad_collate(batch):
    return torch.ones(3 << 28), torch.ones(1, dtype=torch.bool), torch.zeros(1)
"""
    result = grade_patiently("datasets.pad_collate", code)
    assert verdicts(result) <= {"crashed", "failed"} and result.score == 0.0
    assert "memory" in told(result) or "too big to look at" in told(result)


# --- loaders with worker processes ----------------------------------------------------------------------------


def test_train_and_test_loaders_may_have_worker_processes(grade_patiently: Grade) -> None:
    code = """
def make_loaders(train_ds, test_ds, batch_size, seed):
    generator = torch.Generator().manual_seed(seed)
    train = DataLoader(train_ds, batch_size, shuffle=True, drop_last=True, generator=generator, num_workers=2)
    return train, DataLoader(test_ds, batch_size, num_workers=2)
"""
    result = grade_patiently("datasets.make_loaders", code)
    assert verdicts(result) == {"passed"}, told(result)


def test_training_may_load_with_worker_processes(grade_patiently: Grade) -> None:
    code = """
plain_fit = fit

def fit(model, loader, epochs, lr):
    workers = DataLoader(
        loader.dataset, loader.batch_size, sampler=loader.sampler, drop_last=loader.drop_last, num_workers=2
    )
    return plain_fit(model, workers, epochs, lr)
"""
    result = grade_patiently("training.fit", code)
    assert verdicts(result) == {"passed"}, told(result)


def test_worker_process_that_dies_is_told(grade_patiently: Grade) -> None:
    code = """
import os

def collate(rows):
    os._exit(3)

def make_loaders(train_ds, test_ds, batch_size, seed):
    return tuple(DataLoader(one, batch_size, num_workers=2, collate_fn=collate) for one in (train_ds, test_ds))
"""
    result = grade_patiently("datasets.make_loaders", code)
    assert "error" not in verdicts(result)
    assert "exited unexpectedly" in told(result)
    assert result.score == 0.0


def test_worker_process_that_hangs_is_a_timeout(grade: Grade) -> None:
    code = """
import time

def collate(rows):
    while True:
        time.sleep(1)

def make_loaders(train_ds, test_ds, batch_size, seed):
    return tuple(DataLoader(one, batch_size, num_workers=2, collate_fn=collate) for one in (train_ds, test_ds))
"""
    result = grade("datasets.make_loaders", code)
    assert verdicts(result) == {"timeout"}
    assert result.score == 0.0
