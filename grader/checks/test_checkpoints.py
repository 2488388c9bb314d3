"""Checks of checkpoints: the content of the files, the files after a crash, and how training continues.

Files are read beside the submission's process, and the kernel notes each change of them. Never decide
what the contract leaves open: how the file of a checkpoint is laid out, whether a temporary file is left over, whether
a failed save raises, which exception reports weights that do not fit, whether values are copies, what the functions
that save return.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from grader.testkit import (
    Lines,
    Remote,
    Spot,
    Submission,
    SubmissionRaised,
    assert_close,
    assert_equal,
    assert_that,
    devices,
    exercise,
    picture,
    probes,
    recipes,
    seeds,
)
from kit import files, resuming, steps

CPU = torch.device("cpu")
KINDS = ["mlp", "norm", "tied", "frozen", "buffers"]
SEEDS = seeds()
TWICE = settings(max_examples=2)
ONCE = settings(max_examples=1)
"""The drawn values differ with each seed of the grading."""
FILE = "weights.pt"
OTHER_ENDING = "weights.bin"
"""A file may have any name: also one without `.pt`. (Torch itself refuses a name such as `.weights`.)"""
ROOM = st.integers(0, 1500)
"""Bytes that fit before the crash: no file that is saved here is as small as the largest of them."""


def weights_of(kind: str, seed: int) -> dict[str, Tensor]:
    """The ``state_dict`` of the model that the recipe makes."""
    return probes.state(recipes.model(kind, seed))


def new_path(submission: Submission, *names: str) -> Any:
    """The path of a file that is not there yet, in a folder of its own; several if several names are given."""
    submission.outside(files.empty, "here")
    paths = [submission.there(files.path, "here", name) for name in names or (FILE,)]
    return paths if names[1:] else paths[0]


def assert_file_holds(
    submission: Submission, expected: dict[str, Tensor], what: str = "the file", name: str = FILE
) -> None:
    """Fails unless a file is there, and is the state dict."""
    kind, content = submission.outside(files.contents, "here", name)
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

can_watch = pytest.mark.skipif(not steps.CAN_WATCH, reason="needs a system that says what happens to files")


def assert_only_appeared(submission: Submission, name: str) -> None:
    """Fails unless the file came to its path in one step since `steps.watch`."""
    found = submission.outside(steps.seen, "here", name)
    assert_that(
        "written" not in found,
        "the file was written at `path` itself: a crash half-way leaves a part of it there. "
        "Write another file, and rename it to `path` when it is complete",
    )
    assert_that(
        "gone" not in found,
        "the old file was removed or renamed before the new one came: a crash in between leaves nothing at `path`. "
        "os.replace does both in one step",
    )
    assert_that(
        "came from another folder" not in found,
        "the file was written in another folder: on another disk it could not be renamed to `path` in one step",
    )
    assert_that(
        found.count("appeared") < 2,
        "another file was at `path` in between: at every moment it should be the old one, or all of the new one",
    )
    assert_that("lost" not in found, "the folder of `path` was replaced by another one")


def assert_as_before(submission: Submission, model: Remote, kind: str, seed: int, device: str = "cpu") -> None:
    """Fails if anything about the model of `resuming.placed` has changed."""
    here = resuming.placed(kind, seed)
    assert_equal(submission.there(resuming.looks, model), resuming.looks(here), what="the model afterwards")
    found = submission.there(devices.device_map, model)
    assert_equal(set(found.values()), {device}, what="where the model is afterwards")
    expected = {name: devices.on(value, device) for name, value in probes.state(here).items()}
    assert_equal(submission.there(probes.state, model), expected, what="the model's state_dict afterwards")


# ---------------------------------------------------------------- save_weights


@exercise("checkpoints.save_weights")
@pytest.mark.parametrize("kind", KINDS)
@TWICE
@given(seed=SEEDS)
def test_the_file_is_the_state_dict(submission: Submission, kind: str, seed: int) -> None:
    """The file holds the state_dict, all of it and nothing else; torch.load(path, weights_only=True) reads it."""
    submission.save_weights(submission.there(recipes.model, kind, seed), new_path(submission))
    assert_file_holds(submission, weights_of(kind, seed))


@exercise("checkpoints.save_weights", when="for a model on a GPU")
@ONCE
@given(seed=SEEDS)
def test_a_model_on_a_gpu(submission: Submission, seed: int) -> None:
    """The weights of a model on a GPU are saved like any other's."""
    path = new_path(submission)
    submission.there(devices.start, gpus=2)
    submission.save_weights(submission.there(resuming.placed, "norm", seed, "cuda:1"), path)
    submission.there(devices.stop)
    assert_file_holds(submission, weights_of("norm", seed))


@exercise("checkpoints.save_weights")
@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_saving_leaves_the_model_alone(submission: Submission, device: str) -> None:
    """The model that is saved is as before: its weights, gradients and training flags, and where it is."""
    path = new_path(submission)
    submission.there(devices.start, gpus=1)
    model = submission.there(resuming.placed, "norm", 3, device)
    submission.save_weights(model, path)
    assert_as_before(submission, model, "norm", 3, device)


@exercise("checkpoints.save_weights", when="from the second save to a path on")
@ONCE
@given(seed=SEEDS)
def test_a_second_save_replaces_the_first(submission: Submission, seed: int) -> None:
    """Saving to a path where there is a file already replaces that file by a new one: a program that has the old file
    open still sees a whole file."""
    path = new_path(submission)
    submission.save_weights(submission.there(recipes.model, "mlp", seed), path)
    assert_that(submission.outside(files.link, "here", FILE), "after the first save: no file at `path`")
    submission.save_weights(submission.there(recipes.model, "mlp", seed + 1), path)
    assert_file_holds(submission, weights_of("mlp", seed + 1), "the file after a second save")
    assert_old_file_untouched(submission)


def assert_old_file_untouched(submission: Submission) -> None:
    """Fails if the last save was written into the file that `files.link` gave a second name."""
    assert_that(
        submission.outside(files.link_untouched, "here"),
        "the new weights were written into the old file: a crash half-way would destroy the old ones. "
        "Write another file, and replace the old one with it in one step",
    )


@exercise("checkpoints.save_weights", when="while the file is being replaced")
@can_watch
@pytest.mark.parametrize("before", [False, True], ids=["no file before", "a file before"])
@TWICE
@given(seed=SEEDS)
def test_in_one_step(submission: Submission, before: bool, seed: int) -> None:
    """The new file comes to its path in one step, whatever its name is: at every moment there is the old content, or
    all of the new file."""
    name = OTHER_ENDING if before else FILE
    path = new_path(submission, name)
    if before:
        submission.save_weights(submission.there(recipes.model, "mlp", seed + 1), path)
    submission.outside(steps.watch, "here")
    submission.save_weights(submission.there(recipes.model, "mlp", seed), path)
    assert_only_appeared(submission, name)
    assert_file_holds(submission, weights_of("mlp", seed), name=name)


@exercise("checkpoints.save_weights", when="when the process is killed while it writes")
@can_crash
@pytest.mark.parametrize("before", [False, True], ids=["no file before", "a file before"])
@TWICE
@given(room=ROOM, seed=SEEDS)
def test_a_crash_leaves_no_broken_file(submission: Submission, before: bool, room: int, seed: int) -> None:
    """When the process is killed while it writes, the path has what it had before, or the whole new file."""
    path = new_path(submission)
    if before:
        submission.save_weights(submission.there(recipes.model, "mlp", seed), path)
    submission.there(files.crash, room, path, submission.save_weights, submission.there(recipes.model, "mlp", seed + 1))
    assert_old_or_nothing(submission, f"the process was killed when it had written {room} bytes", before, seed)
    submission.save_weights(submission.there(recipes.model, "mlp", seed + 2), path)
    assert_file_holds(submission, weights_of("mlp", seed + 2), "the file after another save")


@exercise("checkpoints.save_weights", when="when the save fails half-way")
@pytest.mark.parametrize("before", [False, True], ids=["no file before", "a file before"])
def test_a_save_that_fails_leaves_the_old_file(submission: Submission, before: bool) -> None:
    """When the save fails half-way, as on a disk that is full, the path has what it had before."""
    path = new_path(submission)
    if before:
        submission.save_weights(submission.there(recipes.model, "mlp", 1), path)
    submission.there(resuming.try_save, submission.save_weights, submission.there(resuming.too_large, 2), path)
    assert_old_or_nothing(submission, "there was no room on the disk", before, 1)


def assert_old_or_nothing(submission: Submission, happened: str, before: bool, seed: int) -> None:
    """Fails unless the path has the weights that were saved before, or nothing if there were none."""
    kind, content = submission.outside(files.contents, "here", FILE)
    assert_that(kind in ("nothing", "weights"), f"{happened}, and a broken file was left at `path`")
    assert_that(kind == "weights" or not before, f"{happened}, and the old file is no longer at `path`")
    if before:
        assert_close(content, weights_of("mlp", seed), what=f"the file after a save in which {happened}")


# ---------------------------------------------------------------- load_weights


@exercise("checkpoints.load_weights")
@pytest.mark.parametrize("kind", KINDS)
@TWICE
@given(seed=SEEDS)
def test_the_weights_of_the_file(submission: Submission, kind: str, seed: int) -> None:
    """Afterwards the model has the weights and buffers of the file, and this same model is returned."""
    model = submission.there(recipes.model, kind, seed + 1)
    path = new_path(submission)
    submission.outside(files.weights_file, "here", kind, seed)
    found = submission.load_weights(model, path, CPU)
    assert_close(
        submission.there(probes.state, model), weights_of(kind, seed), what="the model's state_dict afterwards"
    )
    assert_that(isinstance(found, Remote) and found == model, "the function does not return the model that was given")


@exercise("checkpoints.load_weights")
def test_loading_changes_weights_only(submission: Submission) -> None:
    """Training flags, and which parameters train, are as before."""
    path = new_path(submission)
    submission.outside(files.weights_file, "here", "frozen", 1)
    model = submission.there(resuming.placed, "frozen", 2)
    submission.load_weights(model, path, CPU)
    here = resuming.placed("frozen", 2)
    assert_equal(submission.there(probes.training_flags, model), probes.training_flags(here), what="training flags")
    assert_equal(submission.there(probes.trainable, model), probes.trainable(here), what="which parameters train")


@exercise("checkpoints.load_weights", when="for weights from a GPU that is not here")
@pytest.mark.parametrize("location", ["cuda:0", "cuda:7"])
@ONCE
@given(seed=SEEDS)
def test_saved_on_a_gpu_that_is_not_here(submission: Submission, location: str, seed: int) -> None:
    """Weights that were saved from a GPU load on a computer without it."""
    path = new_path(submission)
    submission.outside(files.weights_file, "here", "norm", seed, location=location)
    model = submission.there(recipes.model, "norm", seed + 1)
    submission.load_weights(model, path, CPU)
    assert_close(
        submission.there(probes.state, model), weights_of("norm", seed), what="the model's state_dict afterwards"
    )
    assert_equal(submission.there(probes.devices, model), ["cpu"], what="where the model is")


@exercise("checkpoints.load_weights", when="for a model on another device")
@pytest.mark.parametrize("before", ["cpu", "cuda:0"])
@pytest.mark.parametrize("location", ["cpu", "cuda:0", "cuda:5"])
@pytest.mark.parametrize("device", ["cuda:0", "cuda:1", "cpu"])
@ONCE
@given(seed=SEEDS)
def test_the_model_ends_on_the_device(
    submission: Submission, device: str, location: str, before: str, seed: int
) -> None:
    """The model ends on the device that was passed, wherever it was before, and wherever the weights were saved."""
    path = new_path(submission)
    submission.outside(files.weights_file, "here", "norm", seed, location=location)
    submission.there(devices.start, gpus=2)
    model = submission.there(resuming.placed, "norm", seed + 1, before)
    submission.load_weights(model, path, torch.device(device))
    found = submission.there(devices.device_map, model)
    assert_equal(set(found.values()), {device}, what="where the model is")
    expected = {name: devices.on(value, device) for name, value in weights_of("norm", seed).items()}
    assert_close(submission.there(probes.state, model), expected, what="the model's state_dict afterwards")


@exercise("checkpoints.load_weights", when="for a file that does not fit")
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"leave_out": "3.bias"},
            "the file has no 3.bias, and no error is raised: the model keeps its old numbers there",
        ),
        (
            {"leave_out": "1.running_mean"},
            "the file has no 1.running_mean, and no error is raised: the model keeps its old numbers there",
        ),
        ({"extra": "9.weight"}, "the file has 9.weight, which the model does not have, and no error is raised"),
        (
            {"extra": "9.weight", "leave_out": "3.bias"},
            "the file has 9.weight in place of 3.bias, and no error is raised: the model keeps its old numbers there",
        ),
        (
            {"shorten": "3.bias"},
            "the file has one number for 3.bias, which has more in the model, and no error is raised",
        ),
        (
            {"shorten": "0.weight"},
            "the file has one row for 0.weight, which has more in the model, and no error is raised",
        ),
    ],
    ids=[
        "a parameter too few",
        "a buffer too few",
        "an entry too many",
        "an entry by another name",
        "a bias too short",
        "a weight too short",
    ],
)
def test_a_file_that_does_not_fit(submission: Submission, change: dict[str, str], sentence: str) -> None:
    """A file with a missing entry, with an extra entry, or with an entry of another shape raises an error."""
    path = new_path(submission)
    submission.outside(files.weights_file, "here", "norm", 1, **change)
    assert_refused(submission.load_weights, submission.there(recipes.model, "norm", 2), path, CPU, sentence=sentence)


@exercise("checkpoints.load_weights", when="for weights of another shape")
def test_weights_of_another_shape(submission: Submission) -> None:
    """The weights of another architecture raise an error."""
    path = new_path(submission)
    submission.outside(files.weights_file, "here", "mlp", 1)
    model = submission.there(recipes.mlp, (recipes.FEATURES, 6, 7, recipes.CLASSES), 2)
    sentence = "the file has the weights of layers of other sizes, and no error is raised"
    assert_refused(submission.load_weights, model, path, CPU, sentence=sentence)


@exercise("checkpoints.load_weights", when="for a file with code in it")
def test_no_code_from_the_file_is_run(submission: Submission) -> None:
    """A file that holds more than weights is refused before any code in it runs."""
    path = new_path(submission)
    submission.outside(files.trapped_file, "here", "mlp", 1)
    sentence = "the file holds an object that is not a tensor, and no error is raised"
    assert_refused(submission.load_weights, submission.there(recipes.model, "mlp", 2), path, CPU, sentence=sentence)
    assert_equal(submission.outside(files.sprung, "here"), False, what="whether code from the file was run")


# ---------------------------------------------------------------- save_checkpoint, resume

TRAININGS = [("dropout", "sgd"), ("norm", "adam"), ("tied", "groups"), ("frozen", "adam")]


def start(there: Any, kind: str, optimizer: str, seed: int, device: str = "cpu") -> tuple[Any, Any]:
    """A model, its optimizer and a known place in the stream of random numbers; a few steps are done."""
    model = there(resuming.placed, kind, seed, device)
    made = there(resuming.optimizer, model, optimizer)
    there(probes.start_global, seed)
    there(resuming.train, model, made, 3)
    there(resuming.scale_lr, made, 0.5)
    return model, made


def here(recipe: Any, *args: Any) -> Any:
    """Calls a recipe in this process, as ``submission.there`` does in the other one."""
    return recipe(*args)


def uninterrupted(kind: str, optimizer: str, seed: int) -> dict[str, Tensor]:
    """The state of the model after training in one go."""
    with torch.random.fork_rng(devices=[]):
        model, made = start(here, kind, optimizer, seed)
        resuming.train(model, made, 4)
        return probes.state(model)


@exercise("checkpoints.save_checkpoint")
@pytest.mark.parametrize(("kind", "optimizer"), TRAININGS)
@TWICE
@given(seed=SEEDS)
def test_training_goes_on_as_if_it_had_not_stopped(
    submission: Submission, kind: str, optimizer: str, seed: int
) -> None:
    """After save_checkpoint and resume, into a fresh model and optimizer, more training ends in the same weights
    as training that never stopped."""
    path = new_path(submission)
    model, made = start(submission.there, kind, optimizer, seed)
    submission.save_checkpoint(model, made, 3, path)
    submission.there(resuming.train, model, made, 2)
    fresh = submission.there(recipes.model, kind, seed + 1)
    other = submission.there(resuming.optimizer, fresh, optimizer, 0.7)
    submission.resume(fresh, other, path)
    submission.there(resuming.train, fresh, other, 4)
    expected = uninterrupted(kind, optimizer, seed)
    assert_close(submission.there(probes.state, fresh), expected, what="the weights after resuming and training on")


@exercise("checkpoints.save_checkpoint", when="for a model on a GPU")
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@ONCE
@given(seed=SEEDS)
def test_training_on_a_gpu_goes_on(submission: Submission, optimizer: str, seed: int) -> None:
    """It also works with a model on a GPU: the state of the CPU's random numbers stays on the CPU."""
    path = new_path(submission)
    submission.there(devices.start, gpus=1)
    model, made = start(submission.there, "norm", optimizer, seed, "cuda:0")
    submission.save_checkpoint(model, made, 3, path)
    fresh = submission.there(resuming.placed, "norm", seed + 8, "cuda:0")
    other = submission.there(resuming.optimizer, fresh, optimizer, 0.7)
    assert_equal(submission.resume(fresh, other, path), 4, what="the next epoch")
    assert_equal(
        set(submission.there(devices.device_map, fresh).values()), {"cuda:0"}, what="where the model is afterwards"
    )
    submission.there(resuming.train, fresh, other, 4)
    found = {name: devices.on(value, "cpu") for name, value in submission.there(probes.state, fresh).items()}
    assert_close(found, uninterrupted("norm", optimizer, seed), what="the weights after resuming and training on")


@exercise("checkpoints.save_checkpoint", when="in the number of the next epoch")
@pytest.mark.parametrize("epoch", [0, 1, 6, 29])
def test_the_next_epoch(submission: Submission, epoch: int) -> None:
    """resume returns the number of the next epoch: the saved epoch plus one."""
    path = new_path(submission)
    model = submission.there(recipes.model, "linear", 1)
    made = submission.there(resuming.optimizer, model)
    submission.save_checkpoint(model, made, epoch, path)
    assert_equal(submission.resume(model, made, path), epoch + 1)


@exercise("checkpoints.save_checkpoint", when="right after resume")
@TWICE
@given(seed=SEEDS)
def test_what_was_saved_is_restored_at_once(submission: Submission, seed: int) -> None:
    """Right after resume the weights, the buffers, the optimizer's state and the random numbers to come are those
    of the moment of saving."""
    path = new_path(submission)
    model, made = start(submission.there, "norm", "adam", seed)
    submission.save_checkpoint(model, made, 0, path)
    with torch.random.fork_rng(devices=[]):
        trained, optimizer = start(here, "norm", "adam", seed)
        upcoming = probes.draw_from_global()
    fresh = submission.there(recipes.model, "norm", seed + 1)
    other = submission.there(resuming.optimizer, fresh, "adam", 0.7)
    submission.there(probes.start_global, 77)
    submission.resume(fresh, other, path)
    assert_close(submission.there(probes.state, fresh), probes.state(trained), what="the model's state_dict")
    found, expected = submission.there(resuming.optimizer_numbers, other), resuming.optimizer_numbers(optimizer)
    assert_close(found["state"], expected["state"], what="what the optimizer remembers")
    assert_equal(found["param_groups"][0]["lr"], expected["param_groups"][0]["lr"], what="the learning rate")
    assert_close(submission.there(probes.draw_from_global), upcoming, what="the next random numbers")


@exercise("checkpoints.save_checkpoint", when="when the file is another one")
@TWICE
@given(seed=SEEDS)
def test_the_file_is_what_counts(submission: Submission, seed: int) -> None:
    """resume restores what is in the file that it is given: all of it is there, whatever was saved before or since,
    also in the same folder."""
    one, other = new_path(submission, "one.pt", "other.pt")
    model, made = start(submission.there, "linear", "sgd", seed)
    with torch.random.fork_rng(devices=[]):
        start(here, "linear", "sgd", seed)
        upcoming = probes.draw_from_global()
    submission.save_checkpoint(model, made, 3, one)
    earlier = submission.there(probes.state, model), submission.there(resuming.optimizer_numbers, made)["state"]
    submission.there(resuming.train, model, made, 2)
    submission.save_checkpoint(model, made, 7, other)
    assert_that(submission.outside(files.swap, "here", "one.pt", "other.pt"), "no file at `path` after a save")
    fresh = submission.there(recipes.model, "linear", seed + 1)
    remembers = submission.there(resuming.optimizer, fresh)
    found = submission.resume(fresh, remembers, other)
    assert_equal(found, 4, what="the next epoch, when the files of epochs 3 and 7 have changed their places")
    assert_close(submission.there(probes.state, fresh), earlier[0], what="the weights of epoch 3")
    memory = submission.there(resuming.optimizer_numbers, remembers)["state"]
    assert_close(memory, earlier[1], what="what the optimizer remembers of epoch 3")
    assert_close(submission.there(probes.draw_from_global), upcoming, what="the random numbers after epoch 3")


@exercise("checkpoints.save_checkpoint", when="in the training after a save")
@pytest.mark.parametrize(("kind", "optimizer"), [("dropout", "sgd"), ("frozen", "adam")])
@ONCE
@given(seed=SEEDS)
def test_saving_changes_nothing(submission: Submission, kind: str, optimizer: str, seed: int) -> None:
    """Training that goes on after a save, without resume, gives the same weights as training without the save."""
    path = new_path(submission)
    model, made = start(submission.there, kind, optimizer, seed)
    submission.save_checkpoint(model, made, 3, path)
    submission.there(resuming.train, model, made, 4)
    expected = uninterrupted(kind, optimizer, seed)
    assert_close(submission.there(probes.state, model), expected, what="the weights at the end")


@exercise("checkpoints.save_checkpoint")
@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_a_checkpoint_leaves_the_model_alone(submission: Submission, device: str) -> None:
    """The model that is saved is as before: its weights, gradients and training flags, and where it is."""
    path = new_path(submission)
    submission.there(devices.start, gpus=1)
    model = submission.there(resuming.placed, "norm", 3, device)
    submission.save_checkpoint(model, submission.there(resuming.optimizer, model), 3, path)
    assert_as_before(submission, model, "norm", 3, device)


@exercise("checkpoints.save_checkpoint", when="from the second save to a path on")
@pytest.mark.parametrize("name", [FILE, OTHER_ENDING, "checkpoint.pt"])
@ONCE
@given(seed=SEEDS)
def test_the_latest_checkpoint_counts(submission: Submission, name: str, seed: int) -> None:
    """A second save to the same path replaces the first one, completely and in one step, whatever its name is."""
    path = new_path(submission, name)
    model, made = start(submission.there, "linear", "sgd", seed)
    submission.save_checkpoint(model, made, 3, path)
    assert_that(submission.outside(files.link, "here", name), "after the first save: no file at `path`")
    submission.there(resuming.train, model, made, 2)
    submission.outside(steps.watch, "here")
    submission.save_checkpoint(model, made, 4, path)
    assert_only_appeared(submission, name)
    fresh = submission.there(recipes.model, "linear", seed + 8)
    assert_equal(submission.resume(fresh, submission.there(resuming.optimizer, fresh), path), 5, what="the next epoch")
    assert_close(submission.there(probes.state, fresh), submission.there(probes.state, model), what="the weights")
    assert_old_file_untouched(submission)


@exercise("checkpoints.save_checkpoint", when="when the process is killed while it writes")
@can_crash
@TWICE
@given(room=ROOM)
def test_a_crash_leaves_no_broken_checkpoint(submission: Submission, room: int) -> None:
    """When the process is killed while it writes a checkpoint, the path has the checkpoint from before."""
    path = new_path(submission)
    model, made = start(submission.there, "norm", "adam", 1)
    submission.save_checkpoint(model, made, 3, path)
    submission.there(files.crash, room, path, submission.save_checkpoint, model, made, 4)
    assert_still_there(submission, f"the process was killed when it had written {room} bytes")
    assert_equal(submission.resume(model, made, path), 4, what="the next epoch, resumed from after the crash")


@exercise("checkpoints.save_checkpoint", when="when the save fails half-way")
def test_a_save_that_fails_leaves_the_old_checkpoint(submission: Submission) -> None:
    """When the save fails half-way, as on a disk that is full, the path has the checkpoint from before."""
    path = new_path(submission)
    model, made = start(submission.there, "norm", "adam", 1)
    submission.save_checkpoint(model, made, 3, path)
    large = submission.there(resuming.too_large, 2)
    full = submission.there(resuming.optimizer, large)
    submission.there(resuming.try_save, submission.save_checkpoint, large, full, 4, path)
    assert_still_there(submission, "there was no room on the disk")
    assert_equal(submission.resume(model, made, path), 4, what="the next epoch, resumed from after the failure")


def assert_still_there(submission: Submission, happened: str) -> None:
    """Fails unless there is a whole file at the path."""
    kind = submission.outside(files.kind, "here", FILE)
    assert_that(kind != "broken", f"{happened}, and a broken file was left at `path`")
    assert_that(kind != "nothing", f"{happened}, and the old file is no longer at `path`")


@picture(
    "checkpoints.save_checkpoint",
    title="Losses with a stop after step 12: the resumed line goes on exactly as the one that never stopped",
)
def resumed_losses(submission: Submission) -> Lines:
    path = new_path(submission)
    model = submission.there(recipes.model, "mlp", 1)
    made = submission.there(resuming.optimizer, model)
    submission.there(probes.start_global, 1)
    first = submission.there(resuming.train, model, made, 12)
    submission.save_checkpoint(model, made, 0, path)
    whole = first + submission.there(resuming.train, model, made, 12)
    fresh = submission.there(recipes.model, "mlp", 2)
    other = submission.there(resuming.optimizer, fresh)
    submission.resume(fresh, other, path)
    gap = [None] * 12
    resumed = gap + submission.there(resuming.train, fresh, other, 12)
    fallen = [None if one is None else one - 0.05 for one in resumed]  # beside the other line, or it would hide it
    series = {"never stopped": whole, "resumed, drawn 0.05 lower": fallen}
    return Lines(series=series, marked=Spot(12, first[-1], "the stop"), x_label="step", y_label="loss")


# ---------------------------------------------------------------- strip_prefix

NAMES = ["weight", "0.weight", "module.weight", "module.module.bias", "head.module.weight", "modules.0.bias", "module"]
PREFIXES = ["module.", "module", "head.", "0.", "", "model.", "modul", "weight"]


@st.composite
def states(draw: st.DrawFn) -> dict[str, Tensor]:
    """State dicts with names that have the prefix in front, twice, in the middle, nearly, or not at all."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=len(NAMES), unique=True))
    first = draw(SEEDS) % (1 << 16)  # float32 tells these from each other
    return {name: torch.full((2,), float(first + index)) for index, name in enumerate(names)}


WRAPPED = ["module.weight", "bias", "module.module.bias", "head.module.bias", "modules.0.bias"]
"""Each of them becomes another name when "module." is removed."""


@exercise("checkpoints.strip_prefix")
@example(state={name: torch.full((2,), float(index)) for index, name in enumerate(WRAPPED)}, prefix="module.")
@given(state=states(), prefix=st.sampled_from(PREFIXES))
def test_only_at_the_front(submission: Submission, state: dict[str, Tensor], prefix: str) -> None:
    """The prefix is removed where a name begins with it, exactly as it is written and once; all other names stay."""
    stripped = {name[len(prefix) :] if name.startswith(prefix) else name: value for name, value in state.items()}
    if len(stripped) == len(state):
        found = submission.there(resuming.as_dict, submission.strip_prefix, state, prefix)
        assert_close(found, stripped)
        assert_equal(list(found), list(stripped), what="the names in order")


@exercise("checkpoints.strip_prefix", when="for weights from inside a wrapper")
@TWICE
@given(seed=SEEDS)
def test_the_prefix_of_a_wrapper(submission: Submission, seed: int) -> None:
    """A model can load weights that were saved from inside a wrapper when the prefix is removed."""
    found = submission.there(resuming.stripped, submission.strip_prefix, "norm", seed)
    assert_close(found, weights_of("norm", seed))
    assert_equal(list(found), list(weights_of("norm", seed)), what="the names in order")


@exercise("checkpoints.strip_prefix", when="in the dict that was given")
@pytest.mark.parametrize("names", [["module.weight", "module.bias"], ["weight"], []], ids=["prefixed", "not", "empty"])
def test_a_new_dict(submission: Submission, names: list[str]) -> None:
    """The dict that was given is not changed, and a new dict is returned."""
    state = {name: torch.ones(1) for name in names}
    after, same = submission.there(resuming.dict_afterwards, submission.strip_prefix, state, "module.")
    assert_equal(list(after), names, what="the names in the dict that was given, afterwards")
    assert_equal(same, False, what="whether the dict that was given is the one that is returned")


# ---------------------------------------------------------------- snapshot


@exercise("checkpoints.snapshot")
@pytest.mark.parametrize("kind", KINDS)
@TWICE
@given(seed=SEEDS)
def test_names_and_values_of_the_state_dict(submission: Submission, kind: str, seed: int) -> None:
    """The snapshot is a dict with the names and values of the model's state_dict: parameters and buffers."""
    found = submission.there(resuming.as_dict, submission.snapshot, submission.there(recipes.model, kind, seed))
    assert_that(type(found) is dict, "the snapshot is not a dict")
    assert_close({name: _without_graph(value) for name, value in found.items()}, weights_of(kind, seed))


def _without_graph(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value


@exercise("checkpoints.snapshot", when="after more training")
@pytest.mark.parametrize("kind", ["mlp", "norm", "tied", "frozen"])
@TWICE
@given(seed=SEEDS)
def test_training_does_not_change_it(submission: Submission, kind: str, seed: int) -> None:
    """After more training the snapshot is unchanged, and load_state_dict restores the model from it."""
    model, made = start(submission.there, kind, "sgd", seed)
    kept = submission.there(resuming.keep, submission.snapshot, model)
    before = submission.there(probes.state, model)
    submission.there(resuming.train, model, made, 3)
    restored = submission.there(recipes.model, kind, seed + 1)
    submission.there(resuming.load_kept, restored, kept)
    assert_close(submission.there(probes.state, restored), before, what="the snapshot after three more steps")


@exercise("checkpoints.snapshot", when="from the second snapshot on")
@ONCE
@given(seed=SEEDS)
def test_each_snapshot_is_of_its_moment(submission: Submission, seed: int) -> None:
    """Two snapshots of one model, with training in between, are each of their own moment."""
    model, made = start(submission.there, "norm", "sgd", seed)
    moments = []
    for _ in range(2):
        kept = submission.there(resuming.keep, submission.snapshot, model)
        moments.append((kept, submission.there(probes.state, model)))
        submission.there(resuming.train, model, made, 2)
    for number, (kept, expected) in enumerate(moments, start=1):
        restored = submission.there(recipes.model, "norm", seed + 5)
        submission.there(resuming.load_kept, restored, kept)
        assert_close(submission.there(probes.state, restored), expected, what=f"snapshot number {number} of 2")


@exercise("checkpoints.snapshot")
@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_the_model_stays_as_it_is(submission: Submission, device: str) -> None:
    """Taking a snapshot, and changing the snapshot, change nothing about the model: not its weights, gradients or
    training flags, nor where it is."""
    submission.there(devices.start, gpus=1)
    model = submission.there(resuming.placed, "norm", 3, device)
    submission.there(resuming.spoil_kept, submission.there(resuming.keep, submission.snapshot, model))
    assert_as_before(submission, model, "norm", 3, device)


@exercise("checkpoints.snapshot", when="in the training after a snapshot")
@ONCE
@given(seed=SEEDS)
def test_training_goes_on_as_without_it(submission: Submission, seed: int) -> None:
    """Training after a snapshot gives the same weights as training without it."""
    model, made = start(submission.there, "dropout", "sgd", seed)
    submission.snapshot(model)
    submission.there(resuming.train, model, made, 4)
    expected = uninterrupted("dropout", "sgd", seed)
    assert_close(submission.there(probes.state, model), expected, what="the weights at the end")
