"""Classic wrong answers of checkpoints, each with the message for the student who gave it.

Never make one of them right: every one here must be caught by a check.
"""

from __future__ import annotations

import copy
import os
import re
import shutil
import tempfile

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from grader.testkit import misconception

# ---------------------------------------------------------------- save_weights


@misconception(
    "save_weights",
    tell="You saved the model object. Its pickle names your classes and files, breaks when they change, and runs code "
    "when it is loaded. Save its state_dict.",
    seen="lacks('state_dict', at='save')",
)
def pickles_the_model(model: nn.Module, path: str) -> None:
    torch.save(model, f"{path}.tmp")
    os.replace(f"{path}.tmp", path)


@misconception(
    "save_weights",
    tell="You write straight to the path: a crash in the middle leaves half a file there, and the old one is gone. "
    "Write to another name, then os.replace.",
    seen="lacks('replace', 'rename', 'move', at='save')",
)
def writes_in_place(model: nn.Module, path: str) -> None:
    torch.save(model.state_dict(), path)


@misconception(
    "save_weights",
    tell="You remove the old file and then write to its name. A crash in the middle still leaves half a file there; "
    "write to another name, and os.replace needs no removing.",
)
def removes_the_old_file_first(model: nn.Module, path: str) -> None:
    if os.path.exists(path):
        os.remove(path)
    torch.save(model.state_dict(), path)


@misconception(
    "save_weights",
    tell="Copying the finished file to the path writes it a second time, and a crash can come then. Renaming "
    "(os.replace) is one single step; copying is not.",
)
def copies_the_finished_file(model: nn.Module, path: str) -> None:
    torch.save(model.state_dict(), f"{path}.tmp")
    shutil.copyfile(f"{path}.tmp", path)
    os.remove(f"{path}.tmp")


@misconception("save_weights", tell="The file that you write is never renamed to the path: call os.replace at the end.")
def never_takes_its_place(model: nn.Module, path: str) -> None:
    torch.save(model.state_dict(), f"{path}.tmp")


@misconception(
    "save_weights",
    tell="You saved the parameters only. Buffers, like the running statistics of BatchNorm, belong to the weights "
    "too: state_dict has both.",
    seen="calls('named_parameters', 'parameters', unless=('state_dict', 'named_buffers', 'buffers'))",
)
def parameters_without_buffers(model: nn.Module, path: str) -> None:
    torch.save({name: param.detach() for name, param in model.named_parameters()}, f"{path}.tmp")
    os.replace(f"{path}.tmp", path)


@misconception("save_weights", tell="The state_dict is inside another dict. The file should be the state_dict itself.")
def wraps_the_state_dict(model: nn.Module, path: str) -> None:
    torch.save({"model": model.state_dict()}, f"{path}.tmp")
    os.replace(f"{path}.tmp", path)


@misconception(
    "save_weights",
    tell="You remove the old file before you rename the new one. A crash in between leaves nothing at the path: "
    "os.replace takes the place of the old file in one single step.",
)
def removes_then_renames(model: nn.Module, path: str) -> None:
    torch.save(model.state_dict(), f"{path}.tmp")
    if os.path.exists(path):
        os.remove(path)
    os.rename(f"{path}.tmp", path)


@misconception(
    "save_weights",
    tell="You rename the old file to keep it as a backup, and until the new one is complete there is nothing at the "
    "path. Leave the old file where it is: os.replace takes its place in one single step.",
)
def moves_the_old_file_away(model: nn.Module, path: str) -> None:
    if os.path.exists(path):
        os.replace(path, f"{path}.bak")
    torch.save(model.state_dict(), f"{path}.tmp")
    os.replace(f"{path}.tmp", path)


@misconception(
    "save_weights",
    tell="You rename the file also when writing it has failed, so a broken file takes the place of the old one. "
    "Rename only what is complete.",
)
def renames_whatever_happens(model: nn.Module, path: str) -> None:
    try:
        torch.save(model.state_dict(), f"{path}.tmp")
    finally:
        os.replace(f"{path}.tmp", path)


@misconception(
    "save_weights",
    tell="You write in another folder. It may be on another disk, and between disks a file cannot be renamed, only "
    "copied. Write next to the path, in the same folder.",
)
def writes_in_another_folder(model: nn.Module, path: str) -> None:
    handle, name = tempfile.mkstemp()
    os.close(handle)
    torch.save(model.state_dict(), name)
    os.replace(name, path)


@misconception(
    "save_weights",
    tell="model.cpu() moves the model itself: after the save it is no longer on its GPU. torch.save can write tensors "
    "that are on a GPU, and load_weights chooses where they go.",
    seen="calls('model.cpu')",
)
def moves_the_model_to_the_cpu(model: nn.Module, path: str) -> None:
    torch.save(model.cpu().state_dict(), f"{path}.tmp")
    os.replace(f"{path}.tmp", path)


@misconception(
    "save_weights",
    tell="You switch the model to eval mode, and leave it there: training would go on without dropout. Saving needs no "
    "mode.",
    seen="calls('eval')",
)
def leaves_it_in_eval_mode(model: nn.Module, path: str) -> None:
    model.eval()
    torch.save(model.state_dict(), f"{path}.tmp")
    os.replace(f"{path}.tmp", path)


@misconception(
    "save_weights",
    tell="You halve the precision of the weights. What is loaded later should be what was saved.",
    seen="calls('half')",
)
def saves_half_precision(model: nn.Module, path: str) -> None:
    state = {name: value.half() if value.is_floating_point() else value for name, value in model.state_dict().items()}
    torch.save(state, f"{path}.tmp")
    os.replace(f"{path}.tmp", path)


@misconception(
    "save_weights",
    tell="You make the other name by replacing `.pt` in the path. Where there is no `.pt` it is the same name, and you "
    "write straight to the path. Add something to the name.",
)
def replaces_the_ending(model: nn.Module, path: str) -> None:
    other = path.replace(".pt", ".tmp")
    torch.save(model.state_dict(), other)
    os.replace(other, path)


# ---------------------------------------------------------------- load_weights


@misconception(
    "load_weights",
    tell="Tensors that were saved from a GPU go back to that GPU, and there may be none. Pass map_location to "
    "torch.load.",
    seen="lacks('map_location', at='load')",
)
def no_map_location(model: nn.Module, path: str, device: torch.device) -> nn.Module:
    model.load_state_dict(torch.load(path))
    return model.to(device)


@misconception(
    "load_weights",
    tell="strict=False hides a mismatch: entries that the file lacks keep their old numbers, and there is no error. "
    "Let load_state_dict be strict, as it is by default.",
    seen="passes(False, 'strict', unless=('missing_keys', 'missing', 'unexpected_keys'))",
)
def not_strict(model: nn.Module, path: str, device: torch.device) -> nn.Module:
    model.load_state_dict(torch.load(path, map_location=device), strict=False)
    return model.to(device)


@misconception(
    "load_weights",
    tell="You keep only the entries that happen to fit. A file that does not fit is the wrong file; raise an error "
    "instead of loading a part of it.",
)
def keeps_what_fits(model: nn.Module, path: str, device: torch.device) -> nn.Module:
    own = model.state_dict()
    state = torch.load(path, map_location=device)
    own.update({name: value for name, value in state.items() if name in own and value.shape == own[name].shape})
    model.load_state_dict(own)
    return model.to(device)


@misconception(
    "load_weights",
    tell="With weights_only=False a file may run any code while it is loaded. Weights need no code: leave it True.",
    seen="passes(False, 'weights_only')",
)
def runs_code_from_the_file(model: nn.Module, path: str, device: torch.device) -> nn.Module:
    model.load_state_dict(torch.load(path, map_location=device, weights_only=False))
    return model.to(device)


@misconception("load_weights", tell="The model has the weights, but you return nothing. Return the model.")
def returns_nothing(model: nn.Module, path: str, device: torch.device) -> None:
    model.load_state_dict(torch.load(path, map_location=device))
    model.to(device)


@misconception(
    "load_weights",
    tell="You return what load_state_dict returned: a list of keys that were missing or unexpected. Return the model.",
)
def returns_the_report(model: nn.Module, path: str, device: torch.device) -> object:
    model.to(device)
    return model.load_state_dict(torch.load(path, map_location=device))


@misconception(
    "load_weights",
    tell="You loaded the weights into a copy. The model that was given does not change.",
    seen="calls('deepcopy')",
)
def loads_into_a_copy(model: nn.Module, path: str, device: torch.device) -> nn.Module:
    model = copy.deepcopy(model)
    model.load_state_dict(torch.load(path, map_location=device))
    return model.to(device)


@misconception(
    "load_weights",
    tell="The loaded tensors are on the device, but load_state_dict copies them to where the model is, and the model "
    "has not moved. Move it with .to(device).",
    seen="lacks('to', at='load_state_dict')",
)
def the_model_stays(model: nn.Module, path: str, device: torch.device) -> nn.Module:
    model.load_state_dict(torch.load(path, map_location=device))
    return model


@misconception(
    "load_weights",
    tell="copy_ broadcasts: one number fills a whole row, and no error is raised. load_state_dict compares the shapes, "
    "and the names too.",
)
def copies_entry_by_entry(model: nn.Module, path: str, device: torch.device) -> nn.Module:
    state = torch.load(path, map_location=device, weights_only=True)
    own = model.state_dict()
    if set(state) != set(own):
        raise ValueError("the file does not fit")
    with torch.no_grad():
        for name, value in state.items():
            own[name].copy_(value)
    return model.to(device)


@misconception(
    "load_weights",
    tell="You switch the model to eval mode. Loading is only about the weights and where they are: whoever goes on "
    "training with this model would train without dropout.",
    seen="calls('eval')",
)
def switches_to_eval_mode(model: nn.Module, path: str, device: torch.device) -> nn.Module:
    model.load_state_dict(torch.load(path, map_location=device, weights_only=True))
    return model.to(device).eval()


@misconception(
    "load_weights",
    tell="A model that requires no gradients cannot be trained further. Loading leaves requires_grad as it is.",
    seen="calls('requires_grad_')",
)
def freezes_the_model(model: nn.Module, path: str, device: torch.device) -> nn.Module:
    model.load_state_dict(torch.load(path, map_location=device, weights_only=True))
    return model.to(device).requires_grad_(False)


# ---------------------------------------------------------------- save_checkpoint, resume


def _replace(checkpoint: dict[str, object], path: str) -> None:
    torch.save(checkpoint, f"{path}.tmp")
    os.replace(f"{path}.tmp", path)


def _all(model: nn.Module, optimizer: Optimizer, epoch: int) -> dict[str, object]:
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "epoch": epoch,
        "rng": torch.get_rng_state(),
    }


@misconception(
    "save_checkpoint",
    tell="You write straight to the path: a crash in the middle leaves half a checkpoint there, and the old one is "
    "gone. Write to another name, then os.replace.",
    seen="lacks('replace', 'rename', 'move', at='save')",
)
def checkpoint_in_place(model: nn.Module, optimizer: Optimizer, epoch: int, path: str) -> None:
    torch.save(_all(model, optimizer, epoch), path)


@misconception(
    "save_checkpoint",
    tell="You make the other name by replacing `.pt` in the path. Where there is no `.pt` it is the same name, and you "
    "write straight to the path. Add something to the name.",
)
def checkpoint_replaces_the_ending(model: nn.Module, optimizer: Optimizer, epoch: int, path: str) -> None:
    other = path.replace(".pt", ".tmp")
    torch.save(_all(model, optimizer, epoch), other)
    os.replace(other, path)


@misconception(
    "save_checkpoint",
    tell="Copying the finished checkpoint to the path writes it a second time, and a crash can come then. Rename it.",
)
def checkpoint_copied(model: nn.Module, optimizer: Optimizer, epoch: int, path: str) -> None:
    torch.save(_all(model, optimizer, epoch), f"{path}.tmp")
    shutil.copyfile(f"{path}.tmp", path)


@misconception(
    "save_checkpoint",
    tell="You remove the old checkpoint before you rename the new one. A crash in between leaves nothing at the path: "
    "os.replace takes the place of the old file in one single step.",
)
def checkpoint_removed_then_renamed(model: nn.Module, optimizer: Optimizer, epoch: int, path: str) -> None:
    torch.save(_all(model, optimizer, epoch), f"{path}.tmp")
    if os.path.exists(path):
        os.remove(path)
    os.rename(f"{path}.tmp", path)


@misconception(
    "save_checkpoint",
    tell="You rename the file also when writing it has failed, so a broken file takes the place of the old checkpoint. "
    "Rename only what is complete.",
)
def checkpoint_renamed_whatever_happens(model: nn.Module, optimizer: Optimizer, epoch: int, path: str) -> None:
    try:
        torch.save(_all(model, optimizer, epoch), f"{path}.tmp")
    finally:
        os.replace(f"{path}.tmp", path)


@misconception(
    "save_checkpoint",
    tell="model.cpu() moves the model itself: after the save, training goes on with a model that is no longer on its "
    "GPU.",
)
def checkpoint_moves_the_model(model: nn.Module, optimizer: Optimizer, epoch: int, path: str) -> None:
    _replace({**_all(model, optimizer, epoch), "model": model.cpu().state_dict()}, path)


@misconception(
    "save_checkpoint",
    tell="You switch the model to eval mode, and leave it there. A save should change nothing.",
    seen="calls('eval')",
)
def checkpoint_leaves_eval_mode(model: nn.Module, optimizer: Optimizer, epoch: int, path: str) -> None:
    _replace(_all(model.eval(), optimizer, epoch), path)


@misconception(
    "save_checkpoint",
    tell="The next epoch is counted twice: once when you save and once when you resume. Save the epoch that was given.",
)
def counts_the_epoch_twice(model: nn.Module, optimizer: Optimizer, epoch: int, path: str) -> None:
    _replace(_all(model, optimizer, epoch + 1), path)


@misconception(
    "save_checkpoint",
    part="resume",
    tell="You return the epoch that was saved. It has been trained already: go on with the next one.",
)
def repeats_the_epoch(model: nn.Module, optimizer: Optimizer, path: str) -> int:
    checkpoint = torch.load(path, map_location="cpu")
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    torch.set_rng_state(checkpoint["rng"])
    return int(checkpoint["epoch"])


@misconception(
    "save_checkpoint",
    part="resume",
    tell="The optimizer starts from nothing: its momentum and its learning rate are lost. Save and load its "
    "state_dict too.",
    seen="never_loads('optimizer')",
)
def optimizer_state_lost(model: nn.Module, optimizer: Optimizer, path: str) -> int:
    checkpoint = torch.load(path, map_location="cpu")
    model.load_state_dict(checkpoint["model"])
    torch.set_rng_state(checkpoint["rng"])
    return int(checkpoint["epoch"]) + 1


@misconception(
    "save_checkpoint",
    part="resume",
    tell="The optimizer's state is restored, but not its settings: a learning rate that a schedule had changed is "
    "lost. optimizer.load_state_dict restores both.",
)
def optimizer_settings_lost(model: nn.Module, optimizer: Optimizer, path: str) -> int:
    checkpoint = torch.load(path, map_location="cpu")
    model.load_state_dict(checkpoint["model"])
    settings = [{key: value for key, value in group.items() if key != "params"} for group in optimizer.param_groups]
    optimizer.load_state_dict(checkpoint["optimizer"])
    for group, old in zip(optimizer.param_groups, settings):
        group.update(old)
    torch.set_rng_state(checkpoint["rng"])
    return int(checkpoint["epoch"]) + 1


@misconception(
    "save_checkpoint",
    part="resume",
    tell="The random numbers do not continue where they were, so shuffling and dropout differ from a run without a "
    "stop. Save and restore the state of torch's generator.",
    seen="lacks('set_rng_state', 'set_state', at='load')",
)
def random_numbers_lost(model: nn.Module, optimizer: Optimizer, path: str) -> int:
    checkpoint = torch.load(path, map_location="cpu")
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    return int(checkpoint["epoch"]) + 1


@misconception(
    "save_checkpoint",
    part="resume",
    tell="A seed starts a stream of random numbers from its beginning. Training was in the middle of one: save and "
    "restore the generator's state, not a seed.",
    seen="calls('torch.manual_seed')",
)
def seeds_again(model: nn.Module, optimizer: Optimizer, path: str) -> int:
    checkpoint = torch.load(path, map_location="cpu")
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    torch.manual_seed(0)
    return int(checkpoint["epoch"]) + 1


@misconception(
    "save_checkpoint",
    part="resume",
    tell="Inside resume the names model and optimizer mean other objects now, but those that the caller holds did not "
    "change. Load the saved state into them.",
)
def rebinds_the_names(model: nn.Module, optimizer: Optimizer, path: str) -> int:
    checkpoint = torch.load(path, map_location="cpu")
    model, optimizer = checkpoint["model"], checkpoint["optimizer"]  # noqa: F841
    torch.set_rng_state(checkpoint["rng"])
    return int(checkpoint["epoch"]) + 1


@misconception(
    "save_checkpoint",
    part="resume",
    tell="The parameters are restored, but not the buffers, like the running statistics of BatchNorm. The model's "
    "state_dict has both.",
)
def buffers_lost(model: nn.Module, optimizer: Optimizer, path: str) -> int:
    checkpoint = torch.load(path, map_location="cpu")
    params = dict(model.named_parameters())
    model.load_state_dict({k: v for k, v in checkpoint["model"].items() if k in params}, strict=False)
    optimizer.load_state_dict(checkpoint["optimizer"])
    torch.set_rng_state(checkpoint["rng"])
    return int(checkpoint["epoch"]) + 1


@misconception(
    "save_checkpoint",
    part="resume",
    tell="map_location moved the state of the random numbers to the GPU too, and torch's CPU generator does not "
    "accept it there. Load to the CPU: load_state_dict moves the weights to the GPU by itself.",
)
def random_numbers_on_the_gpu(model: nn.Module, optimizer: Optimizer, path: str) -> int:
    checkpoint = torch.load(path, map_location=next(model.parameters()).device)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    torch.set_rng_state(checkpoint["rng"])
    return int(checkpoint["epoch"]) + 1


# ---------------------------------------------------------------- strip_prefix


@misconception(
    "strip_prefix",
    tell="You replace the prefix anywhere in a name. Remove it only where the name begins with it.",
    seen="calls('replace')",
)
def replaces_anywhere(state: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.replace(prefix, ""): value for name, value in state.items()}


@misconception(
    "strip_prefix",
    tell="lstrip takes a set of characters and strips any of them: 'module.embed' loses the e and m of embed too. "
    "removeprefix removes exactly a prefix.",
    seen="calls('lstrip')",
)
def strips_characters(state: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.lstrip(prefix): value for name, value in state.items()}


@misconception(
    "strip_prefix",
    tell="You remove the prefix as often as it occurs. A model inside a wrapper may itself have a part with that "
    "name: remove it once.",
)
def strips_again_and_again(state: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    stripped = {}
    for name, value in state.items():
        while prefix and name.startswith(prefix):
            name = name[len(prefix) :]
        stripped[name] = value
    return stripped


@misconception(
    "strip_prefix",
    tell="You changed the dict that was given. Its owner still needs the old names: build a new dict.",
    seen="calls('pop')",
)
def changes_the_dict(state: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    for name in list(state):
        state[name.removeprefix(prefix)] = state.pop(name)
    return state


@misconception("strip_prefix", tell="You drop names without the prefix. Keep them as they are.")
def drops_the_others(state: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name[len(prefix) :]: value for name, value in state.items() if name.startswith(prefix)}


@misconception(
    "strip_prefix",
    tell="You cut the first characters off every name, whether they are the prefix or not. Check that the name begins "
    "with the prefix.",
)
def cuts_blindly(state: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name[len(prefix) :]: value for name, value in state.items()}


@misconception(
    "strip_prefix",
    tell="In a regular expression the dot means any character, so 'module.' fits 'modules' too. The prefix is plain "
    "text.",
    seen="calls('sub', unless=('escape',))",
)
def takes_it_for_a_pattern(state: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {re.sub(f"^{prefix}", "", name): value for name, value in state.items()}


@misconception(
    "strip_prefix", tell="You add a dot to the prefix. Remove it exactly as it is given, which includes its dot."
)
def adds_a_dot(state: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix + "."): value for name, value in state.items()}


@misconception(
    "strip_prefix",
    tell="In your dict the names that had the prefix and those that had none are apart. Keep the order of the dict "
    "that was given.",
)
def others_go_last(state: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    stripped = {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
    return {**stripped, **{name: value for name, value in state.items() if not name.startswith(prefix)}}


@misconception(
    "strip_prefix", tell="partition finds the prefix anywhere in a name. Remove it only where the name begins with it."
)
def keeps_what_follows(state: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {(name.partition(prefix)[2] or name) if prefix else name: value for name, value in state.items()}


# ---------------------------------------------------------------- snapshot


@misconception(
    "snapshot",
    tell="What you keep are the model's own tensors, and training changes them in place; a new dict with the same "
    "tensors does not help, nor does detach. Clone each tensor.",
    seen="no_copy",
)
def live_references(model: nn.Module) -> dict[str, Tensor]:
    return dict(model.state_dict())


@misconception(
    "snapshot",
    tell="You cloned the parameters only. Buffers, like the running statistics of BatchNorm, change in training too: "
    "state_dict has both.",
    seen="calls('named_parameters', 'parameters', unless=('state_dict', 'named_buffers', 'buffers'))",
)
def parameters_only(model: nn.Module) -> dict[str, Tensor]:
    return {name: param.detach().clone() for name, param in model.named_parameters()}


@misconception(
    "snapshot",
    tell="The parameters are cloned, but the buffers are still the model's own: BatchNorm writes its statistics into "
    "them at every step.",
)
def buffers_still_live(model: nn.Module) -> dict[str, Tensor]:
    params = dict(model.named_parameters(remove_duplicate=False))
    return {name: value.clone() if name in params else value for name, value in model.state_dict().items()}


@misconception(
    "snapshot",
    tell="You return a copy of the model. A snapshot is a dict of names and tensors that load_state_dict accepts.",
)
def copies_the_model(model: nn.Module) -> nn.Module:
    return copy.deepcopy(model)


@misconception("snapshot", tell="model.cpu() moves the model itself: after the snapshot it is no longer on its GPU.")
def snapshot_moves_the_model(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.cpu().state_dict().items()}


@misconception(
    "snapshot",
    tell="You switch the model to eval mode, and leave it there. A snapshot should not change the model.",
    seen="calls('eval')",
)
def snapshot_leaves_eval_mode(model: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.eval().state_dict().items()}
