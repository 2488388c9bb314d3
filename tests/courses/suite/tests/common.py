import json
from pathlib import Path

DATA = Path(__file__).parent / "data"


def snapshot(name):
    return json.loads((DATA / name).read_text())


class Reference:
    def step(self):
        for g in self.param_groups:
            for p in g["params"]:
                p.data -= g["lr"] * p.grad


class Sized:
    def test_length(self):
        assert len(self.made()) == self.size
