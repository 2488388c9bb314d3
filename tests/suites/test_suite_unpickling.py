"""Pickles in a test: values, layers and the suite's own classes are made, and nothing that calls or changes more."""

import _pickle
import io
import pickle
import shelve
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from grader.suites.unpickling import unpickling_carefully

CHANGES_TORCH = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\nN}X\x0c\x00\x00\x00__defaults__Ns\x86b."
CHANGES_LAYERS = b"\x80\x02ctorch.nn.modules.linear\nLinear\nN}X\x07\x00\x00\x00forwardNs\x86b."
CALLS_A_LAYER = b"ctorch.nn.modules.linear\nLinear\n(I1\nI1\ntR."
INSTANTIATES_A_LAYER = b"(itorch.nn.modules.linear\nLinear\n(I1\nI1\n."
FILLS_MEMORY = b"\x80\x02K\x01r\xff\xff\xff\x7f."


class Kept(Fraction):
    """Stands for a class of a suite, or of somebody else."""


Imported = shelve.Shelf


class Bomb:
    """Calls a function when it is unpickled."""

    def __reduce__(self) -> object:
        return print, ("owned",)


def test_values_and_layers_are_made(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(1, 2), nn.ReLU())
    torch.save(model, tmp_path / "model.pt")
    torch.save({"model": model.state_dict(), "step": 1}, tmp_path / "state.pt")
    np.savez(tmp_path / "arrays", a=np.ones(2), b=np.array([Fraction(1, 2)], object))
    plain = pickle.dumps({"a": [1, None, torch.int8], "b": np.float32(2), "c": Path("x")})
    with unpickling_carefully():
        assert pickle.loads(plain) == {"a": [1, None, torch.int8], "b": np.float32(2), "c": Path("x")}
        assert pickle.loads(FILLS_MEMORY) == 1
        assert torch.load(tmp_path / "state.pt")["model"].keys() == {"0.weight", "0.bias"}
        assert type(torch.load(tmp_path / "model.pt", weights_only=False)[0]) is nn.Linear
        arrays = np.load(tmp_path / "arrays.npz", allow_pickle=True)
        assert [*arrays["a"], *arrays["b"]] == [1, 1, Fraction(1, 2)]


@pytest.mark.parametrize(
    "content", [pickle.dumps(Bomb(), 0), CHANGES_TORCH, CHANGES_LAYERS, CALLS_A_LAYER, INSTANTIATES_A_LAYER]
)
def test_nothing_else_is_called_or_changed_by_any_door(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "shelf.pkl").write_bytes(content)
    before = nn.Linear.forward
    with unpickling_carefully():
        for load in pickle.loads, _pickle.loads, lambda data: shelve.Unpickler(io.BytesIO(data)).load():  # type: ignore[attr-defined]
            with pytest.raises(pickle.UnpicklingError, match="pickle"):
                load(content)
        with pytest.raises(pickle.UnpicklingError, match="pickle"):
            np.load(tmp_path / "shelf.pkl", allow_pickle=True)
        with (tmp_path / "shelf.pkl").open("rb") as file, pytest.raises(pickle.UnpicklingError, match="pickle"):
            pickle.load(file)
    assert nn.Linear.forward is before and pickle.loads is _pickle.loads
    with unpickling_carefully(tmp_path), (tmp_path / "shelf.pkl").open("rb") as file:  # it came with the suite
        if b"print" in content:
            assert pickle.load(file) is None


def test_a_test_unpickles_what_it_has_pickled_and_what_came_with_it(tmp_path: Path) -> None:
    content = pickle.dumps(Kept(1, 2))
    torch.save(Kept(1, 2), tmp_path / "kept.pt")
    with unpickling_carefully():
        with pytest.raises(pickle.UnpicklingError, match=r"test_suite_unpickling\.Kept` of a pickle is not made"):
            pickle.loads(content)
        with pytest.raises(pickle.UnpicklingError, match="not made"):
            torch.load(tmp_path / "kept.pt", weights_only=False)
        assert pickle.loads(pickle.dumps(Kept(3, 4))) == Kept(3, 4)
        assert torch.load(tmp_path / "kept.pt", weights_only=False) == Kept(1, 2)
    with unpickling_carefully(Path(__file__).parent):
        assert pickle.loads(content) == Kept(1, 2)
        with pytest.raises(pickle.UnpicklingError, match="not made"):  # a class that the suite imports
            pickle.loads(f"c{__name__}\nImported\n.".encode())
    with unpickling_carefully(tmp_path):
        assert torch.load(tmp_path / "kept.pt", weights_only=False) == Kept(1, 2)


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning", "ignore:.torch.load. received:UserWarning")
def test_no_program_is_loaded(tmp_path: Path) -> None:
    torch.jit.trace(nn.ReLU(), torch.ones(1)).save(str(tmp_path / "program.pt"))
    with unpickling_carefully():
        for load in torch.jit.load, lambda file: torch.load(file, weights_only=False):
            with pytest.raises(pickle.UnpicklingError, match="TorchScript"):
                load(tmp_path / "program.pt")
