"""Checks of checkpoints: what is in the files, what is left after a crash, and how training continues.

Never decide what the contract leaves open: how the file of a checkpoint is laid out, whether a temporary file is left
over, whether a crash leaves the old file or none, which exception reports weights that do not fit, whether values are
copies, what the functions that save return.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from grader.testkit import (
    Remote,
    Submission,
    SubmissionRaised,
    assert_close,
    assert_equal,
    assert_that,
    devices,
    exercise,
    observe,
    probes,
    recipes,
)
from kit import files

CPU = torch.device("cpu")
ROOMS = [0, 1, 600, 1500]
"""Bytes that fit before the crash: no file that is saved here is as small as the largest of them."""


def weights_of(kind: str, seed: int) -> dict[str, Tensor]:
    """The ``state_dict`` of the model that the recipe makes."""
    return probes.state(recipes.model(kind, seed))


def assert_file_holds(found: tuple[str, Any], expected: dict[str, Tensor], what: str) -> None:
    """Fails unless a file is there, and is the state dict."""
    kind, content = found
    assert_that(kind != "nothing", f"{what}: no file at `path`")
    assert_that(kind != "broken", f"{what}: it is not a file that torch.save wrote")
    assert_that(
        kind != "objects", f"{what}: more than weights are in it: torch.load(path, weights_only=True) refuses it"
    )
    assert_close(content, expected, what=what)


def assert_refused(call: Any, *args: object, sentence: str) -> None:
    """Fails unless the call raises, whatever it raises."""
    try:
        call(*args)
    except SubmissionRaised as error:
        if error.kind in ("missing", "NotImplementedError"):
            raise
        return
    raise AssertionError(sentence)


can_crash = pytest.mark.skipif(
    not files.CAN_CRASH, reason="needs a system that can stop a process in the middle of writing"
)


def crash(submission: Submission, room: int, path: Remote, save: Any, *args: object) -> None:
    """Calls ``save(*args, path)`` over there in a process that is killed when a file has more than `room` bytes."""
    assert_that(submission.there(files.crash, room, path, save, *args) is not None, "saving could not be stopped")


def assert_old_file_untouched(submission: Submission, path: Remote) -> None:
    """Fails if what was saved last was written into the file that `files.link` gave a second name."""
    assert_that(
        submission.there(files.link_untouched, path),
        "the new weights were written into the old file: a crash half-way would destroy the old ones. "
        "Write another file, and replace the old one with it in one step",
    )


# ---------------------------------------------------------------- save_weights


@exercise("checkpoints.save_weights")
@pytest.mark.parametrize("kind", ["mlp", "norm", "tied", "frozen", "buffers"])
def test_the_file_is_the_state_dict(submission: Submission, kind: str) -> None:
    """The file holds the state_dict, all of it and nothing else; torch.load(path, weights_only=True) reads it."""
    path = submission.there(files.new_path)
    submission.save_weights(submission.there(recipes.model, kind, 1), path)
    assert_file_holds(submission.there(files.contents, path), weights_of(kind, 1), "the file")


@exercise("checkpoints.save_weights")
def test_a_model_on_a_gpu(submission: Submission) -> None:
    """The weights of a model on a GPU are saved like any other's."""
    submission.there(devices.start, gpus=2)
    path = submission.there(files.new_path)
    submission.save_weights(submission.there(files.placed, "norm", 1, "cuda:1"), path)
    submission.there(devices.stop)
    assert_file_holds(submission.there(files.contents, path), weights_of("norm", 1), "the file")


@exercise("checkpoints.save_weights")
def test_a_second_save_replaces_the_first(submission: Submission) -> None:
    """Saving to a path where there is a file already replaces that file by a new one: a program that has the old file
    open still sees a whole file."""
    path = submission.there(files.new_path)
    submission.save_weights(submission.there(recipes.model, "mlp", 1), path)
    submission.there(files.link, path)
    submission.save_weights(submission.there(recipes.model, "mlp", 2), path)
    assert_file_holds(submission.there(files.contents, path), weights_of("mlp", 2), "the file after a second save")
    assert_old_file_untouched(submission, path)


@exercise("checkpoints.save_weights")
@can_crash
@pytest.mark.parametrize("before", [False, True], ids=["no file before", "a file before"])
@pytest.mark.parametrize("room", ROOMS)
def test_a_crash_leaves_no_broken_file(submission: Submission, room: int, before: bool) -> None:
    """When the process is killed while it writes, there is no broken file at the path afterwards."""
    path = submission.there(files.new_path)
    if before:
        submission.save_weights(submission.there(recipes.model, "mlp", 1), path)
    crash(submission, room, path, submission.save_weights, submission.there(recipes.model, "mlp", 2))
    kind, content = submission.there(files.contents, path)
    assert_that(
        kind in ("nothing", "weights"),
        f"the process was killed when it had written {room} bytes, and a broken file was left at `path`",
    )
    if kind == "weights" and before:
        assert_close(content, weights_of("mlp", 1), what="the file after a crash in a second save")
    submission.save_weights(submission.there(recipes.model, "mlp", 3), path)
    assert_file_holds(submission.there(files.contents, path), weights_of("mlp", 3), "the file after another save")


# ---------------------------------------------------------------- load_weights


@exercise("checkpoints.load_weights")
@pytest.mark.parametrize("kind", ["mlp", "norm", "tied", "frozen", "buffers"])
def test_the_weights_of_the_file(submission: Submission, kind: str) -> None:
    """Afterwards the model has the weights and buffers of the file, and this same model is returned."""
    path = submission.there(files.weights_file, kind, 1)
    model = submission.there(recipes.model, kind, 2)
    seen = observe(submission.load_weights, model, path, CPU)
    assert_close(submission.there(probes.state, model), weights_of(kind, 1), what="the model's state_dict afterwards")
    assert_equal(submission.there(probes.trainable, model), probes.trainable(recipes.model(kind, 2)))
    assert_that(seen.returned == "0", "the function does not return the model that was given")


@exercise("checkpoints.load_weights")
@pytest.mark.parametrize("location", ["cuda:0", "cuda:7"])
def test_saved_on_a_gpu_that_is_not_here(submission: Submission, location: str) -> None:
    """Weights that were saved from a GPU load on a computer without it."""
    path = submission.there(files.weights_file, "norm", 1, location=location)
    model = submission.there(recipes.model, "norm", 2)
    submission.load_weights(model, path, CPU)
    assert_close(submission.there(probes.state, model), weights_of("norm", 1), what="the model's state_dict afterwards")
    assert_equal(submission.there(probes.devices, model), ["cpu"], what="where the model is")


@exercise("checkpoints.load_weights")
@pytest.mark.parametrize("before", ["cpu", "cuda:0"])
@pytest.mark.parametrize("location", ["cpu", "cuda:0", "cuda:5"])
@pytest.mark.parametrize("device", ["cuda:0", "cuda:1", "cpu"])
def test_the_model_ends_on_the_device(submission: Submission, device: str, location: str, before: str) -> None:
    """The model ends on the device that was passed, wherever it was before, and wherever the weights were saved."""
    path = submission.there(files.weights_file, "norm", 1, location=location)
    submission.there(devices.start, gpus=2)
    model = submission.there(files.placed, "norm", 2, before)
    submission.load_weights(model, path, torch.device(device))
    found = submission.there(devices.device_map, model)
    assert_equal(set(found.values()), {device}, what="where the model is")
    expected = {name: devices.on(value, device) for name, value in weights_of("norm", 1).items()}
    assert_close(submission.there(probes.state, model), expected, what="the model's state_dict afterwards")


@exercise("checkpoints.load_weights")
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"leave_out": "2.bias"},
            "the file has no 2.bias, and no error is raised: the model keeps its old numbers there",
        ),
        (
            {"extra": "4.weight"},
            "the file has 4.weight, which the model does not have, and no error is raised",
        ),
    ],
    ids=["an entry too few", "an entry too many"],
)
def test_a_file_that_does_not_fit(submission: Submission, change: dict[str, str], sentence: str) -> None:
    """A file with a missing entry, or with an extra entry, raises an error."""
    path = submission.there(files.weights_file, "mlp", 1, **change)
    assert_refused(submission.load_weights, submission.there(recipes.model, "mlp", 2), path, CPU, sentence=sentence)


@exercise("checkpoints.load_weights")
def test_weights_of_another_shape(submission: Submission) -> None:
    """The weights of another architecture raise an error."""
    path = submission.there(files.weights_file, "mlp", 1)
    model = submission.there(recipes.mlp, (recipes.FEATURES, 6, 7, recipes.CLASSES), 2)
    sentence = "the file has the weights of layers of other sizes, and no error is raised"
    assert_refused(submission.load_weights, model, path, CPU, sentence=sentence)


@exercise("checkpoints.load_weights")
def test_no_code_from_the_file_is_run(submission: Submission) -> None:
    """A file that holds more than weights is refused before any code in it runs."""
    path = submission.there(files.trapped_file, "mlp", 1)
    sentence = "the file holds an object that is not a tensor, and no error is raised"
    assert_refused(submission.load_weights, submission.there(recipes.model, "mlp", 2), path, CPU, sentence=sentence)
    assert_equal(submission.there(files.sprung), 0, what="how often code from the file was run")


# ---------------------------------------------------------------- save_checkpoint, resume

TRAININGS = [("dropout", "sgd"), ("norm", "adam"), ("tied", "groups"), ("frozen", "adam")]


def start(there: Any, kind: str, optimizer: str, seed: int = 1, device: str = "cpu") -> tuple[Any, Any]:
    """A model, its optimizer and a known place in the stream of random numbers; a few steps are done."""
    model = there(files.placed, kind, seed, device)
    made = there(files.optimizer, model, optimizer)
    there(probes.start_global, seed)
    there(files.train, model, made, 3)
    there(files.set_lr, made, 0.05)
    return model, made


def uninterrupted(kind: str, optimizer: str) -> dict[str, Tensor]:
    """The state of the model after training in one go."""
    with torch.random.fork_rng(devices=[]):
        model, made = start(lambda recipe, *args: recipe(*args), kind, optimizer)
        files.train(model, made, 4)
        return probes.state(model)


@exercise("checkpoints.save_checkpoint")
@pytest.mark.parametrize(("kind", "optimizer"), TRAININGS)
def test_training_goes_on_as_if_it_had_not_stopped(submission: Submission, kind: str, optimizer: str) -> None:
    """After save_checkpoint and resume, into a fresh model and optimizer, more training ends in the same weights
    as training that never stopped."""
    path = submission.there(files.new_path, "checkpoint.pt")
    model, made = start(submission.there, kind, optimizer)
    submission.save_checkpoint(model, made, 3, path)
    submission.there(files.train, model, made, 2)
    fresh = submission.there(recipes.model, kind, 9)
    other = submission.there(files.optimizer, fresh, optimizer, 0.7)
    submission.resume(fresh, other, path)
    submission.there(files.train, fresh, other, 4)
    expected = uninterrupted(kind, optimizer)
    assert_close(submission.there(probes.state, fresh), expected, what="the weights after resuming and training on")


@exercise("checkpoints.save_checkpoint")
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_training_on_a_gpu_goes_on(submission: Submission, optimizer: str) -> None:
    """It also works with a model on a GPU: the state of the CPU's random numbers stays on the CPU."""
    submission.there(devices.start, gpus=1)
    path = submission.there(files.new_path, "checkpoint.pt")
    model, made = start(submission.there, "norm", optimizer, device="cuda:0")
    submission.save_checkpoint(model, made, 3, path)
    fresh = submission.there(files.placed, "norm", 9, "cuda:0")
    other = submission.there(files.optimizer, fresh, optimizer, 0.7)
    assert_equal(submission.resume(fresh, other, path), 4, what="the next epoch")
    submission.there(files.train, fresh, other, 4)
    found = {name: devices.on(value, "cpu") for name, value in submission.there(probes.state, fresh).items()}
    assert_close(found, uninterrupted("norm", optimizer), what="the weights after resuming and training on")


@exercise("checkpoints.save_checkpoint")
@pytest.mark.parametrize("epoch", [0, 1, 6, 29])
def test_the_next_epoch(submission: Submission, epoch: int) -> None:
    """resume returns the number of the next epoch: the saved epoch plus one."""
    path = submission.there(files.new_path, "checkpoint.pt")
    model = submission.there(recipes.model, "linear", 1)
    made = submission.there(files.optimizer, model)
    submission.save_checkpoint(model, made, epoch, path)
    assert_equal(submission.resume(model, made, path), epoch + 1)


@exercise("checkpoints.save_checkpoint")
def test_what_was_saved_is_restored_at_once(submission: Submission) -> None:
    """Right after resume the weights, the buffers, the optimizer's state and the random numbers to come are those
    of the moment of saving."""
    path = submission.there(files.new_path, "checkpoint.pt")
    model, made = start(submission.there, "norm", "adam")
    submission.save_checkpoint(model, made, 0, path)
    with torch.random.fork_rng(devices=[]):
        here, optimizer = start(lambda recipe, *args: recipe(*args), "norm", "adam")
        upcoming = probes.draw_from_global()
    fresh = submission.there(recipes.model, "norm", 9)
    other = submission.there(files.optimizer, fresh, "adam", 0.7)
    submission.there(probes.start_global, 77)
    submission.resume(fresh, other, path)
    assert_close(submission.there(probes.state, fresh), probes.state(here), what="the model's state_dict")
    found, expected = submission.there(files.optimizer_numbers, other), files.optimizer_numbers(optimizer)
    assert_close(found["state"], expected["state"], what="what the optimizer remembers")
    assert_equal(found["param_groups"][0]["lr"], expected["param_groups"][0]["lr"], what="the learning rate")
    assert_close(submission.there(probes.draw_from_global), upcoming, what="the next random numbers")


@exercise("checkpoints.save_checkpoint")
@pytest.mark.parametrize(("kind", "optimizer"), [("dropout", "sgd"), ("frozen", "adam")])
def test_saving_changes_nothing(submission: Submission, kind: str, optimizer: str) -> None:
    """Training that goes on after a save, without resume, gives the same weights as training without the save."""
    path = submission.there(files.new_path, "checkpoint.pt")
    model, made = start(submission.there, kind, optimizer)
    submission.save_checkpoint(model, made, 3, path)
    submission.there(files.train, model, made, 4)
    assert_close(submission.there(probes.state, model), uninterrupted(kind, optimizer), what="the weights at the end")


@exercise("checkpoints.save_checkpoint")
def test_the_latest_checkpoint_counts(submission: Submission) -> None:
    """A second save to the same path replaces the first one, completely and in one step."""
    path = submission.there(files.new_path, "checkpoint.pt")
    model, made = start(submission.there, "linear", "sgd")
    submission.save_checkpoint(model, made, 3, path)
    submission.there(files.link, path)
    submission.there(files.train, model, made, 2)
    submission.save_checkpoint(model, made, 4, path)
    fresh = submission.there(recipes.model, "linear", 9)
    assert_equal(submission.resume(fresh, submission.there(files.optimizer, fresh), path), 5, what="the next epoch")
    assert_close(submission.there(probes.state, fresh), submission.there(probes.state, model), what="the weights")
    assert_old_file_untouched(submission, path)


@exercise("checkpoints.save_checkpoint")
@can_crash
@pytest.mark.parametrize("room", ROOMS)
def test_a_crash_leaves_no_broken_checkpoint(submission: Submission, room: int) -> None:
    """When the process is killed while it writes a checkpoint, the path has the checkpoint from before, or none: never
    a broken one."""
    path = submission.there(files.new_path, "checkpoint.pt")
    model, made = start(submission.there, "norm", "adam")
    submission.save_checkpoint(model, made, 3, path)
    crash(submission, room, path, submission.save_checkpoint, model, made, 4)
    kind = submission.there(files.standing, path)
    assert_that(
        kind != "broken",
        f"the process was killed when it had written {room} bytes, and a broken file was left at `path`",
    )
    if kind != "nothing":
        assert_equal(submission.resume(model, made, path), 4, what="the next epoch, resumed from after the crash")


# ---------------------------------------------------------------- strip_prefix

NAMES = ["weight", "0.weight", "module.weight", "module.module.bias", "head.module.weight", "modules.0.bias"]


@st.composite
def states(draw: st.DrawFn) -> dict[str, Tensor]:
    """State dicts with names that have the prefix in front, twice, in the middle, nearly, or not at all."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=len(NAMES), unique=True))
    return {name: torch.full((2,), float(len(name))) for name in names}


@exercise("checkpoints.strip_prefix")
@given(state=states(), prefix=st.sampled_from(["module.", "module", "head.", "0.", "", "model.", "modul"]))
def test_only_at_the_front(submission: Submission, state: dict[str, Tensor], prefix: str) -> None:
    """The prefix is removed where a name begins with it, exactly as it is written and once; all other names stay."""
    stripped = {name[len(prefix) :] if name.startswith(prefix) else name: value for name, value in state.items()}
    if len(stripped) == len(state):
        found = submission.there(files.as_dict, submission.strip_prefix, state, prefix)
        assert_close(found, stripped)


@exercise("checkpoints.strip_prefix")
def test_the_prefix_of_a_wrapper(submission: Submission) -> None:
    """A model can load weights that were saved from inside a wrapper when the prefix is removed."""
    state = {f"module.{name}": value for name, value in weights_of("norm", 1).items()}
    found = submission.there(files.as_dict, submission.strip_prefix, state, "module.")
    assert_close(found, weights_of("norm", 1))
    assert_equal(list(found), list(weights_of("norm", 1)), what="the names in order")


@exercise("checkpoints.strip_prefix")
@pytest.mark.parametrize("names", [["module.weight", "module.bias"], ["weight"], []], ids=["prefixed", "not", "empty"])
def test_a_new_dict(submission: Submission, names: list[str]) -> None:
    """The dict that was given is not changed, and a new dict is returned."""
    state = {name: torch.ones(1) for name in names}
    after, same = submission.there(files.dict_afterwards, submission.strip_prefix, state, "module.")
    assert_equal(list(after), names, what="the names in the dict that was given, afterwards")
    assert_equal(same, False, what="whether the dict that was given is the one that is returned")


# ---------------------------------------------------------------- snapshot


@exercise("checkpoints.snapshot")
@pytest.mark.parametrize("kind", ["mlp", "norm", "tied", "frozen", "buffers"])
def test_names_and_values_of_the_state_dict(submission: Submission, kind: str) -> None:
    """The snapshot has the names and values of the model's state_dict: parameters and buffers."""
    found = submission.there(files.as_dict, submission.snapshot, submission.there(recipes.model, kind, 1))
    expected = weights_of(kind, 1)
    assert_close({name: value.detach() for name, value in found.items()}, expected)


@exercise("checkpoints.snapshot")
@pytest.mark.parametrize("kind", ["mlp", "norm", "tied", "frozen"])
def test_training_does_not_change_it(submission: Submission, kind: str) -> None:
    """After more training the snapshot is unchanged, and load_state_dict restores the model from it."""
    model, made = start(submission.there, kind, "sgd")
    kept = submission.there(files.keep, submission.snapshot, model)
    before = submission.there(probes.state, model)
    submission.there(files.train, model, made, 3)
    restored = submission.there(recipes.model, kind, 9)
    submission.there(files.load_kept, restored, kept)
    assert_close(submission.there(probes.state, restored), before, what="the snapshot after three more steps")


@exercise("checkpoints.snapshot")
def test_the_model_is_left_alone(submission: Submission) -> None:
    """Taking a snapshot changes neither the model nor what training does to it."""
    model, made = start(submission.there, "dropout", "sgd")
    submission.snapshot(model)
    submission.there(files.train, model, made, 4)
    assert_close(submission.there(probes.state, model), uninterrupted("dropout", "sgd"), what="the weights at the end")
