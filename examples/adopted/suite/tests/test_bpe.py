"""The tokenizer, with files."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .adapters import get_tokenizer, run_train_bpe

DATA = Path(__file__).parent / "data"


@pytest.fixture
def tokenizer(words):
    return get_tokenizer(*words)


def test_encode(tokenizer):
    """Merges are applied in the order in which they were learned."""
    assert tokenizer.encode("a tall tale") == [97, 258, 108, 258, 101]
    assert tokenizer.encode("old tin") == [260, 256, 105, 110]


@pytest.mark.parametrize("text", ["", "a", "a tall tale, twice told", "naïve ☃"])
def test_round_trip(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text)) == text


@settings(max_examples=20, deadline=None)
@given(text=st.text(max_size=12))
def test_round_trip_of_any_text(text):
    """Any text comes back."""
    tokenizer = get_tokenizer({n: bytes([n]) for n in range(256)}, [])
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_decode_half_a_character(tokenizer):
    """Bytes that are no text become a replacement character."""
    assert tokenizer.decode([0xE2, 0x98]) == "\N{REPLACEMENT CHARACTER}"


def test_train(words):
    """The saved merges are learned from data/story.txt again."""
    vocab, merges = run_train_bpe(DATA / "story.txt", 264)
    assert merges == words[1]
    assert vocab == words[0]


def test_train_on_a_short_file(tmp_path):
    """A file that has no more pairs ends the training."""
    file = tmp_path / "short.txt"
    file.write_text("abab")
    vocab, merges = run_train_bpe(file, 300)
    assert merges == [(b"a", b"b"), (b"ab", b"ab")]
    assert len(vocab) == 258
