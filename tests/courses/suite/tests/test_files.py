import datetime
import io
import json
import os
import re
import shutil
import tempfile

import pytest

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
    assert list(words("4 0 /")) == ["4", "0", "/"]


def test_monkeypatch(monkeypatch):
    monkeypatch.setattr(adapters, "GREETING", "bye")
    assert greeting() == "bye"


def test_not_patched():
    assert greeting() == "hello"


def test_diary(tmp_path, capsys):
    """A file that an object keeps is the same one for the test, whoever changes it and when."""
    diary = adapters.Diary(tmp_path / "diary.txt")
    diary.write("a")
    assert (tmp_path / "diary.txt").read_text() == "a"
    (tmp_path / "diary.txt").write_text("b")
    assert diary.read() == "b"
    diary.shelve("old")
    assert not (tmp_path / "diary.txt").exists() and (tmp_path / "old").is_dir()
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("c d")
        file.flush()
        assert adapters.command(["count", file.name]) == 2
    folder = tempfile.mkdtemp()
    assert adapters.command(["count", os.path.join(folder, "no", "file")]) == -1
    shutil.rmtree(folder)
    assert capsys.readouterr() == ("2\n", "no file\n")


def test_local_class():
    import collections

    rate = 3

    def twice(x):
        return 2 * x

    class Counting(collections.UserDict):
        def total(self):
            return twice(rate) + helper(sum(self.data.values()))

    twice.words = "x"
    assert adapters.total_of(Counting({"a": 1}), twice) == (8, "x", "twice")


def helper(x):
    return x + 1


def test_times_and_sets():
    when = datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    assert adapters.later(when) == when + datetime.timedelta(1) and adapters.found(re.compile("b+"), "abb") == "bb"
    adapters.KNOWN.add("new")
    assert adapters.is_known("new")
    with pytest.raises(adapters.Refused) as caught:
        adapters.refuse(3)
    assert caught.value.double == 6 and caught.value.times(3) == 9
