"""The first sentence of a wrong answer says which situation breaks, if nothing else names the mistake."""

from __future__ import annotations

import pytest
from judge_here import HostHere

from grader.course import Course, misconceptions_of
from grader.intake.submission import Submission
from grader.judge.judge import open_judge

SENTENCES = [
    ("tensor_ops.accuracy/nan_for_no_examples", "wrong only without examples: nan"),
    ("tensor_ops.accuracy/best_score_from_zero", "wrong only if no score of a row is above 0"),
    ("tensor_ops.accuracy/percent_for_fraction", "wrong only if some answers are right: 100.0"),
    ("tensor_ops.accuracy/more_than_half_of_the_probability", "wrong if scores of a row are close together"),
    ("tensor_ops.softmax/unstable_softmax", "wrong for scores of ±10,000: "),
    ("tensor_ops.softmax/clamps_the_scores", "wrong only for scores of ±10,000: "),
    ("tensor_ops.softmax/sums_over_everything", "wrong for a tensor with more than one dim: "),
    ("tensor_ops.true_class_scores/squeezes_all", "wrong only with a single row: "),
    ("tensor_ops.true_class_scores/largest_of_each_row", "wrong for a label that is not the class with"),
    ("tensor_ops.masked_mean/mean_over_padding_too", "with positions that do not count: "),
    ("tensor_ops.masked_mean/mask_inverted", "wrong in every example: "),
    ("tensor_ops.outer_sum/counts_from_the_front", "wrong for batches: "),
    ("autograd.logistic_loss/sum_for_mean", "wrong for several examples: "),
    ("autograd.logistic_loss/the_formula_as_it_stands", "wrong only for logits of up to ±1,000: "),
    ("autograd.logistic_loss/only_class_one", "with an example of class 0"),
    ("autograd.gradients/none_for_unused", "for a parameter that the loss does not depend on"),
    ("autograd.sgd_step/keeps_a_velocity", "wrong only from the second step on: "),
    ("autograd.sgd_step/ends_at_the_first_without", "wrong only with a parameter whose .grad is None: "),
    ("autograd.accumulate_gradients/mean_of_batch_means", "with batches of unequal size"),
    ("autograd.Cube/ignores_grad_output", "right for apply(x), x afterwards and grad_output afterwards, wrong for the"),
    ("parameters.count_parameters/tied_weights_twice", "with layers that share a weight"),
    ("parameters.count_parameters/counts_the_state_dict", "with a model with BatchNorm"),
    ("parameters.mlp_parameter_count/biases_always", "wrong only without biases: "),
    ("parameters.mlp_parameter_count/overflows", "wrong only for layers larger than any memory: "),
    ("training.evaluate/evaluate_mean_of_batch_means", "with a last batch that is shorter: "),
    ("parameters.count_parameters/none_unless_trainable_only", "the count with trainable_only=False: 0 where"),
    ("training.parameter_groups/by_name", "the weight_decay of each parameter: at ['1.weight'][0]: 0.01 where 0.0"),
    ("training.warmup_cosine/rises_again", "wrong for step 8: "),
    ("training.warmup_cosine/first_step_is_lost", "wrong"),
    ("layers.conv2d/ignores_the_padding", "wrong with padding: "),
    ("layers.conv2d/ignores_the_stride", "wrong with a stride above 1: "),
    ("graph.Value/changes_its_operand", "data of the operands afterwards: at ["),
    ("graph.Neuron/new_values_each_time", "parameters() gives new values at each call"),
    ("ddp.read_env/world_of_none", "wrong only without torchrun's variables: right for the rank and the local rank"),
    ("ddp.read_env/rank_as_local_rank", "with RANK=0, LOCAL_RANK=1 and WORLD_SIZE=1 the result: right for the rank"),
    ("ddp.choose_backend/nccl_on_windows", "choose_backend('cuda', 'Windows'): 'nccl' where 'gloo' was expected"),
    ("ddp.sharded_loader/one_generator_for_all_epochs", "wrong only from the second epoch on: "),
    ("ddp.average_gradients/zeros_for_none", "wrong only for a parameter without a gradient: "),
    ("ddp.global_accuracy/averages_the_ranks", "wrong only on ranks with unequal loaders: "),
    ("spirals.make_spirals/radius_below_one", "the radius of each point, 2 of each class: 3 of 6 values differ"),
    ("spirals.make_spirals/angles_in_degrees", "with noise 0.1: right for class 0, wrong for class 1 and class 2: "),
    ("spirals.make_spirals/labels_take_turns", "make_spirals: right for features, wrong for labels: "),
    ("spirals.SpiralNet/AnotherSeed", "wrong only in the first weights: "),
    ("spirals.SpiralNet/WeightsOfTorch", "two new nets have different weights: init_weights needs a generator"),
    ("spirals.decision_grid/upside_down", "wrong in which row is at the top: "),
    ("spirals.decision_grid/row_by_row", "wrong only in how often the model is called: calls of the model for 2 x 2"),
    ("spirals.decision_grid/result_on_the_cpu", "wrong only for a model on a GPU: "),
]
"""Full name of the exercise and name of a misconception, and a part of the first sentence without its name."""
TOPICS = sorted({name.partition(".")[0] for name, _ in SENTENCES})


@pytest.mark.slow
@pytest.mark.parametrize("topic", TOPICS)
def test_the_situation_that_breaks_comes_first(topic: str) -> None:
    course = Course.load(None)
    wanted = {name: part for name, part in SENTENCES if name.startswith(f"{topic}.")}
    known = {f"{one.exercise}/{one.name}": one for one in misconceptions_of(course, topic)}
    solution = course.solution_file(topic).read_text(encoding="utf-8")
    needed = {need.partition(".")[0] for one in course.topic(topic).exercises for need in one.needs} - {topic}
    others = {f"{name}.py": course.solution_file(name).read_bytes() for name in needed}
    wrong = (
        course.misconceptions_file(topic)
        .read_text(encoding="utf-8")
        .replace("from __future__ import annotations\n", "")
    )
    exercises = sorted({name.partition("/")[0] for name in wanted})
    found = {}
    with open_judge(course, HostHere(course), exercises=exercises, names_misconceptions=False) as judge:
        for name in wanted:
            mistake = known[name]
            text = f"{solution}\n\n{wrong}\n\n{mistake.part} = {mistake.function}\n"
            result = judge.grade(Submission(name, others | {f"{topic}.py": text.encode()}), [mistake.exercise])
            (exercise,) = [one for one in result.exercises if one.name == mistake.exercise]
            found[name] = next(one.message.splitlines()[0] for one in exercise.checks if one.message)
    assert not {name: text for name, text in found.items() if wanted[name] not in text}
