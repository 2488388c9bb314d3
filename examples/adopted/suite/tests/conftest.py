"""Fixtures of all tests."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

HERE = Path(__file__).parent


@pytest.fixture
def snapshot():
    """Compares tensors with those that were saved under a name."""

    def compare(name, **tensors):
        saved = np.load(HERE / "snapshots" / f"{name}.npz")
        for key, value in tensors.items():
            np.testing.assert_allclose(value.detach().numpy(), saved[key], rtol=1e-5, atol=1e-6, err_msg=key)

    return compare


@pytest.fixture
def x():
    return torch.randn(3, 5, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="session")
def words():
    """The vocabulary and the merges of data/words.json."""
    saved = json.loads((HERE / "data" / "words.json").read_text())
    vocab = {number: bytes([number]) for number in range(256)}
    vocab |= {int(number): bytes.fromhex(piece) for number, piece in saved["vocab"].items()}
    return vocab, [(bytes.fromhex(a), bytes.fromhex(b)) for a, b in saved["merges"]]
