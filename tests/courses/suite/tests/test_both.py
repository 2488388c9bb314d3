import os
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from pkg.both import (
    BIASES,
    LAYER,
    LIMIT,
    WEIGHTS,
    WORD,
    Linear,
    Place,
    Plugin,
    Policy,
    Trainer,
    acting_as,
    counter,
    current,
    descend,
    lengths,
    load,
    outputs,
    save,
    tell,
)


class Tokenizer:
    pad = 1

    def __init__(self):
        self.calls = 0

    def __call__(self, text):
        self.calls += 1
        return {"ids": text.split()}


def test_object_that_is_called():
    tokenizer = Tokenizer()
    assert lengths(tokenizer, ["a b", ""]) == [3, 1] and tokenizer.calls == 2


def test_context_variable():
    @acting_as("ann")
    def who():
        with acting_as("bob"):
            inside = current.get()
        return inside, current.get()

    assert who() == ("bob", "ann") and current.get() == "nobody"
    with acting_as("cleo"):
        assert acting_as("dan")(current.get)() == "dan" and current.get() == "cleo"


def test_names_that_proxies_have():
    place = Place().of("there")
    assert (place.place, place.example) == ("there", Place.example)


def test_class_that_is_told_of_a_derived_one():
    class Own(Plugin, tag="own"):
        pass

    assert Plugin.known[-1] is Own and Own.tag == "own"


def test_list_of_the_test_that_is_kept():
    history = []
    trainer = Trainer(history)
    trainer.fit(2)
    assert history == [1, 1] and trainer.history is history
    history.clear()
    trainer.fit(1)
    assert history == [1]


def test_dict_of_theirs_that_a_function_of_the_test_changes():
    trainer = Trainer([], lambda state: state.update(rate=state["rate"] * 2))
    trainer.fit(3)
    assert trainer.history == [2, 4, 8]


def test_results_that_change_later():
    model = torch.nn.Linear(1, 1)
    with outputs(model) as found:
        result = model(torch.ones(1, 1))
    assert found == {"mean": result.item()}
    seen, see = counter()
    see(3)
    assert seen == [3]


def test_tensor_that_only_the_test_has():
    w = torch.tensor(4.0, requires_grad=True)

    def step():
        with torch.no_grad():
            w.sub_(w.grad / 4)
            w.grad.zero_()

    descend(lambda: w**2, step)
    assert w.item() == 0.5


def test_files_in_the_current_folder():
    save("torchkata", "a b")
    assert Path("torchkata.model").read_text() == load("torchkata.model") == "a b"
    os.remove("torchkata.model")
    with pytest.raises(FileNotFoundError):
        load("torchkata.model")
    Path("torchkata.txt").write_text("c")
    assert load("torchkata.txt") == "c"
    os.remove("torchkata.txt")


def test_layer_with_an_abstract_base():
    layer = Linear()
    assert isinstance(layer, torch.nn.Module) and isinstance(layer, Policy) and layer.act(2) == 2


@pytest.fixture
def double():
    return 2 * LIMIT, isinstance(LIMIT, int)


def test_variables(double):
    assert isinstance(LIMIT, int) and torch.zeros(LIMIT).shape == (3,) and double == (6, True)
    assert isinstance(WORD, re.Pattern) and WORD.findall("a b") == ["a", "b"]
    assert isinstance(WEIGHTS, torch.Tensor) and torch.equal(WEIGHTS, torch.ones(2))
    assert isinstance(LAYER, torch.nn.Module) and isinstance(BIASES, np.ndarray)
    np.testing.assert_allclose(BIASES, [0.0, 0.0])


@pytest.mark.parametrize("made", [Trainer([]), Linear()], ids=["trainer", "linear"])
def test_object_made_for_a_parameter(made):
    assert (type(made) == Linear) != (type(made) == Trainer)  # noqa: E721
    assert isinstance(made, Trainer | Linear) and isinstance(made, torch.nn.Module) == isinstance(made, Linear)


def test_path_in_a_text(tmp_path, capsys):
    path = tmp_path / "a.txt"
    assert tell(path) == f"to '{path}', and {path}" and capsys.readouterr().out == f"saved\t{path}\n"
    with pytest.raises(FileNotFoundError, match=re.escape(f"no {path}: gone")):
        tell(str(path), is_gone=True)
