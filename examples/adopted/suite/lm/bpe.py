"""Byte pair encoding."""

from collections import Counter
from pathlib import Path


class Tokenizer:
    def __init__(self, vocab: dict[int, bytes], merges: list[tuple[bytes, bytes]]) -> None:
        self.vocab = vocab
        self.ids = {piece: number for number, piece in vocab.items()}
        self.ranks = {pair: rank for rank, pair in enumerate(merges)}

    def encode(self, text: str) -> list[int]:
        pieces = [bytes([b]) for b in text.encode()]
        while len(pieces) > 1:
            pair = min(zip(pieces, pieces[1:]), key=lambda one: self.ranks.get(one, len(self.ranks)))
            if pair not in self.ranks:
                break
            pieces = merged(pieces, pair)
        return [self.ids[piece] for piece in pieces]

    def decode(self, ids: list[int]) -> str:
        return b"".join(self.vocab[number] for number in ids).decode(errors="replace")


def merged(pieces: list[bytes], pair: tuple[bytes, bytes]) -> list[bytes]:
    found: list[bytes] = []
    at = 0
    while at < len(pieces):
        width = 2 if tuple(pieces[at : at + 2]) == pair else 1
        found.append(b"".join(pieces[at : at + width]))
        at += width
    return found


def train(path: Path, size: int) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    vocab = {number: bytes([number]) for number in range(256)}
    merges: list[tuple[bytes, bytes]] = []
    pieces = [bytes([b]) for b in Path(path).read_bytes()]
    while len(vocab) < size:
        counts = Counter(zip(pieces, pieces[1:]))
        if not counts:
            break
        pair = max(counts, key=lambda one: (counts[one], one))
        pieces = merged(pieces, pair)
        vocab[len(vocab)] = pair[0] + pair[1]
        merges.append(pair)
    return vocab, merges
