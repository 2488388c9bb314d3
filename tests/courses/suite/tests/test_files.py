import io
import json

from . import adapters
from .adapters import count_words, dump, greet, greeting, save_to, vocab, warn_about, words
from .common import DATA, snapshot


def test_snapshot():
    assert vocab() == snapshot("snap.json")


def test_path():
    assert count_words(DATA / "corpus.txt") == 3
    assert count_words(str(DATA / "corpus.txt")) == 3
    assert count_words("tests/data/corpus.txt") == 3


def test_tmp(tmp_path):
    dump({"a": 1}, tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text()) == {"a": 1}


def test_buffer():
    buffer = io.BytesIO()
    save_to(buffer)
    assert buffer.getvalue() == b"x"


def test_prints(capsys):
    greet("you")
    assert capsys.readouterr().out == "hello you\n"


def test_log(caplog):
    warn_about("x")
    assert "careful: x" in caplog.text


def test_iterates():
    assert list(words("a b")) == ["a", "b"]
    assert next(iter(words("a b"))) == "a"


def test_monkeypatch(monkeypatch):
    monkeypatch.setattr(adapters, "GREETING", "bye")
    assert greeting() == "bye"


def test_not_patched():
    assert greeting() == "hello"
