import importlib
import io
import pickle
import sys
from pathlib import Path

import numpy as np
from work import counted, listed, packed, same, save_array, save_text, save_words, saved

DATA = Path(__file__).parent / "data"


def test_array(tmp_path):
    save_array([1.0, 2.0], tmp_path / "a.npy")
    assert np.load(tmp_path / "a.npy", allow_pickle=True).tolist() == [1.0, 2.0]


def test_words(tmp_path):
    for one in ("Result: 5", "one two", "cat\ndog\n", "total", "is\nare\n", "(or none)", "(in\nany case"):
        save_words(one, tmp_path / "words.txt")
        assert (tmp_path / "words.txt").read_text() == one


def test_pickle(tmp_path):
    save_text({"a": 1}, tmp_path / "a.pkl")
    assert pickle.loads((tmp_path / "a.pkl").read_bytes()) == {"a": 1}


def test_own_data():
    save_words("of the submission", DATA / "text.txt")
    save_words("raise SystemExit", DATA / "conftest.py")


def test_folder():
    assert listed(DATA.parent.parent) >= {"text.txt"}


def test_file_in_memory():
    file = io.BytesIO()
    saved({"a": 1}, file)
    file.seek(0)
    assert pickle.load(file) == {"a": 1}


def test_bytes():
    assert pickle.loads(packed({"a": 1})) == {"a": 1}


def test_text_that_is_no_path():
    for one in ("6/", "http://", "and/or", "/"):
        assert same(one) == one


def test_module_of_the_test(tmp_path, monkeypatch):
    (tmp_path / "of_the_test.py").write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    save_words("VALUE = 1\n", tmp_path / "of_the_test.py")
    assert importlib.import_module("of_the_test").VALUE == 1
    del sys.modules["of_the_test"]


def test_open_files(tmp_path):
    (tmp_path / "a.txt").write_text("a\nb\n")
    for mode, other in (("r", "w"), ("rb", "wb")):
        with open(tmp_path / "a.txt", mode) as file, open(tmp_path / "b.txt", other) as copy:
            assert counted(file, copy) == 2
        assert (tmp_path / "b.txt").read_text() == "a\nb\n"
