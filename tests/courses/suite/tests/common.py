import json
from pathlib import Path

DATA = Path(__file__).parent / "data"


def snapshot(name):
    return json.loads((DATA / name).read_text())
