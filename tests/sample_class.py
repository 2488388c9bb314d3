"""What `examples/class` gets: whose mistakes are named, what is right in the later topics, and every verdict.

The verdicts are in ``grading/sample_class_verdicts.json``. Where the course or the class changes on purpose,
``python tests/sample_class.py OUT/results.jsonl`` writes it anew from the results of a run; review what is different.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

from grader.results import SubmissionResult, from_json

MISCONCEPTIONS = {
    "elif": {
        "tensor_ops.make_tensor": "keeps_int64",
        "tensor_ops.describe": "shape_as_list",
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
        "datasets.ToyDataset": "no_length_check",
        "datasets.make_loaders": "seeds_the_global_rng",
        "datasets.pad_collate": "mask_inverted",
        "datasets.WindowDataset": "endless_iteration",
        "training.train_step": "no_zero_grad",
        "training.train_epoch": "mean_of_batch_means",
        "training.fit_best": "live_reference",
    },
    "farah_tensor_ops": {
        "tensor_ops.flatten_rows": "view_on_non_contiguous",
        "tensor_ops.pairwise_sq_dists": "loops_over_rows",
    },
    "ines": {
        "checkpoints.save_weights": "pickles_the_model",
        "checkpoints.load_weights": "runs_code_from_the_file",
        "checkpoints.strip_prefix": "strips_characters",
    },
    "lena": {"tensor_ops.softmax": "calls_torch_softmax", "devices.add_across": "they_never_meet"},
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
        "checkpoints.save_weights": "writes_in_place",
        "checkpoints.load_weights": "not_strict",
        "checkpoints.save_checkpoint": "optimizer_state_lost",
        "checkpoints.strip_prefix": "replaces_anywhere",
        "checkpoints.snapshot": "live_references",
        "efficiency.amp_step": "backward_inside_autocast",
        "efficiency.accumulate_step": "mean_of_means",
        "efficiency.align_up": "divides_in_floats",
        "efficiency.configure_cudnn": "only_turns_on",
        "efficiency.clear_grads": "fills_with_zeros",
        "efficiency.inference": "leaves_it_in_eval",
    },
    "quentin": {
        "ddp.sharded_loader": "drops_at_the_loader",
        "ddp.global_accuracy": "asks_on_rank_0_only",
        "ddp.save_on_rank0": "the_barrier_on_rank_0_only",
    },
    "rosa": {
        "devices.try_gpu": "one_gpu_too_many",
        "devices.pick_device": "always_cuda",
        "devices.to_device": "always_to_cuda",
        "devices.add_across": "always_meets_on_cuda",
        "devices.ScaledAttentionMask": "a_plain_attribute",
        "devices.train_on": "item_every_step",
        "devices.DeviceTrainer": "always_trains_on_cuda",
        "devices.loader_for": "pins_for_all",
        "devices.time_matmul": "never_synchronizes",
        "checkpoints.load_weights": "no_map_location",
        "efficiency.amp_step": "autocast_for_cuda_only",
        "efficiency.wrap_data_parallel": "always_wraps",
    },
    "samir": {
        "datasets.ToyDataset": "asserts_the_lengths",
        "datasets.make_loaders": "drops_test_rows",
        "datasets.suggest_num_workers": "all_cores_without_a_gpu",
        "efficiency.amp_step": "never_updates",
        "efficiency.fast_loader": "persistent_without_workers",
    },
}

EARNED = {
    "dimitri": {
        "datasets": "ToyDataset num_batches check_labels",
        "training": "train_step fit",
        "debugging": "loss_goes_down honest_split no_nan",
    },
    "elif": {
        "datasets": "num_batches split check_labels suggest_num_workers",
        "training": "fit evaluate predict_proba predict_labels clip_and_step",
    },
    "ines": {"checkpoints": "save_checkpoint snapshot"},
    "kwame": {"datasets": "make_loaders num_batches split check_labels pad_collate suggest_num_workers"},
    "lena": {"devices": "cpu gpu num_gpus loader_for"},
    "mateo": {"ddp": "read_env choose_backend ddp_cleanup wrap"},
    "nadia": {"checkpoints": "strip_prefix snapshot"},
    "priya": {"efficiency": "fast_loader wrap_data_parallel"},
    "quentin": {"ddp": "read_env choose_backend ddp_setup ddp_cleanup average_gradients wrap"},
    "rosa": {
        "devices": "cpu gpu num_gpus try_all_gpus prepare",
        "checkpoints": "save_weights save_checkpoint strip_prefix snapshot",
        "efficiency": "accumulate_step fast_loader align_up configure_cudnn clear_grads inference",
    },
    "samir": {
        "datasets": "num_batches split check_labels pad_collate WindowDataset",
        "efficiency": "accumulate_step align_up configure_cudnn wrap_data_parallel clear_grads inference",
    },
}
"""What those who are not right in everything earn in the later topics, each in full."""

RECORD = Path(__file__).parent / "grading" / "sample_class_verdicts.json"
ON_A_REAL_GPU = "on_a_real_gpu"
"""The check whose verdict depends on the machine."""


def recorded(results: dict[str, SubmissionResult]) -> str:
    """One line of JSON for each exercise of each submission.

    That is the verdict of all its checks, or the names of the checks by verdict, with the number of those that passed;
    and the misconception, where one is named.
    """
    lines = {}
    for name, result in results.items():
        for exercise in result.exercises:
            checks: dict[str, list[str]] = defaultdict(list)
            for check in exercise.checks:
                if check.name != ON_A_REAL_GPU:
                    checks[check.verdict].append(check.name)
            by_verdict = {kind: len(names) if kind == "passed" else names for kind, names in sorted(checks.items())}
            named = {"misconception": exercise.misconception} if exercise.misconception else {}
            lines[f"{name} {exercise.name}"] = (
                next(iter(checks)) if len(checks) == 1 and not named else by_verdict | named
            )
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {json.dumps(lines[key])}" for key in sorted(lines)) + "\n}\n"


if __name__ == "__main__":
    graded = [from_json(line) for line in Path(sys.argv[1]).read_bytes().splitlines()]
    RECORD.write_text(recorded({result.submission: result for result in graded}), encoding="utf-8")
