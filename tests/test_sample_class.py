"""The sample class, graded by the command: everybody earns what the table says, twice to the same byte."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from grader.results import SubmissionResult, from_json

REPO = Path(__file__).resolve().parent.parent
CLASS = REPO / "examples" / "class"

TOPICS = ("tensor_ops", "autograd", "parameters")
"""What the class has been taught so far."""

MISCONCEPTIONS = {
    "elif": {
        "tensor_ops.make_tensor": "keeps_int64",
        "tensor_ops.describe": "shape_stays_torch_size",
        "tensor_ops.swap_last_axes": "reshape_for_transpose",
        "tensor_ops.gram": "columns_with_columns",
        "tensor_ops.standardize": "one_global_mean",
        "tensor_ops.softmax": "unstable_softmax",
        "tensor_ops.accuracy": "returns_a_tensor",
        "autograd.logistic_loss": "cuts_the_graph",
        "autograd.gradients": "leaves_grad_populated",
        "autograd.sgd_step": "rebinds_the_name",
        "autograd.clear_gradients": "fills_with_zeros",
        "autograd.predict_logits": "leaves_in_eval",
        "parameters.count_parameters": "ignores_requires_grad",
        "parameters.mlp_parameter_count": "forgets_biases",
        "parameters.freeze": "prefix_without_a_dot",
        "parameters.seeded": "leaks_the_seed",
    },
    "farah_tensor_ops": {
        "tensor_ops.flatten_rows": "view_on_non_contiguous",
        "tensor_ops.pairwise_sq_dists": "loops_over_rows",
    },
    "lena": {"tensor_ops.softmax": "calls_torch_softmax"},
    "priya": {
        "tensor_ops.as_float32": "always_copies",
        "tensor_ops.flatten_rows": "minus_one_without_rows",
        "tensor_ops.standardize": "mutates_its_input",
        "tensor_ops.pairwise_sq_dists": "square_root_taken",
        "tensor_ops.softmax": "one_shift_for_all",
        "tensor_ops.accuracy": "percent_for_fraction",
        "autograd.logistic_loss": "sigmoid_twice",
        "autograd.numerical_gradient": "forward_differences",
        "autograd.sgd_step": "expects_every_grad",
        "autograd.Cube": "ignores_grad_output",
        "autograd.accumulate_gradients": "mean_of_batch_means",
        "parameters.NeuralNetwork": "softmax_in_forward",
        "parameters.count_parameters": "counts_tensors",
        "parameters.memory_bytes": "four_bytes_each",
        "parameters.seeded": "seeds_another_generator",
    },
}


def graded(out: Path, *paths: Path) -> bytes:
    """``results.jsonl`` of one run of ``grader grade``."""
    options = ["--check-seconds", "4", "--memory", "512MiB"]
    options += [argument for topic in TOPICS for argument in ("--only", topic)]
    command = [sys.executable, "-m", "grader", "grade", *map(str, paths), "--jobs", "2", "--out", str(out), *options]
    environment = {**os.environ, "PYTHONPATH": str(REPO)}
    done = subprocess.run(command, cwd=REPO, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 1, done.stderr
    return (out / "results.jsonl").read_bytes()


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return graded(tmp_path_factory.mktemp("first"), CLASS)


@pytest.fixture(scope="module")
def results(first: bytes) -> dict[str, SubmissionResult]:
    found = [from_json(line) for line in first.splitlines()]
    return {result.submission: result for result in found}


def test_everybody_earns_what_the_table_says(results: dict[str, SubmissionResult]) -> None:
    rows = re.findall(r"^\| (\w+) \|.*\| +(\d+) \|$", (CLASS / "README.md").read_text(), re.MULTILINE)
    told = {name: float(points) for name, points in rows}
    assert len(told) >= 14
    assert {name.partition("_")[0]: result.score for name, result in results.items()} == told
    assert {result.max for result in results.values()} == {46.0}


def test_misconceptions_are_named_and_only_these(results: dict[str, SubmissionResult]) -> None:
    named = {
        name: {exercise.name: exercise.misconception for exercise in result.exercises if exercise.misconception}
        for name, result in results.items()
    }
    assert {name: found for name, found in named.items() if found} == MISCONCEPTIONS


def test_the_grader_is_at_fault_for_nothing(results: dict[str, SubmissionResult]) -> None:
    assert not {kind for result in results.values() for kind in result.verdicts} & {"error", "skipped"}


@pytest.mark.parametrize(
    ("who", "exercise", "verdict", "words"),
    [
        ("hana", "autograd.gradients", "failed", "autograd.py cannot be imported: SyntaxError"),
        ("ines", "parameters.freeze", "failed", "parameters.py is not in the submission"),
        ("jonas", "tensor_ops.accuracy", "timeout", "in accuracy: while i < len(labels):"),
        ("kwame", "tensor_ops.gram", "crashed", "importing tensor_ops.py ended the process"),
        ("mateo", "tensor_ops.gram", "failed", "returned  'PASSED'"),
        ("oskar", "parameters.memory_bytes", "crashed", "used more memory than it may"),
        ("goran", "tensor_ops.gram", "failed", "`gram` is not written yet"),
    ],
)
def test_each_trouble_is_told_in_words(
    results: dict[str, SubmissionResult], who: str, exercise: str, verdict: str, words: str
) -> None:
    (found,) = (result for result in results[who].exercises if result.name == exercise)
    check = next(check for check in found.checks if check.verdict != "passed")
    assert check.verdict == verdict
    assert words in check.message


def test_grading_again_in_other_company_gives_the_same_bytes(first: bytes, tmp_path: Path) -> None:
    names = ["farah_tensor_ops.py", "jonas", "mateo", "oskar"]
    again = graded(tmp_path, *(CLASS / name for name in names)).splitlines()
    lines = {from_json(line).submission: line for line in first.splitlines()}
    assert again == [lines[name.removesuffix(".py")] for name in names]
