"""From the files that were found to a submission: notebooks become modules, and each topic gets its file.

Never guesses in silence: what was taken for a topic by anything but its name, or could not be told, has a note.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from grader.intake.bag import STUBS, Bag
from grader.intake.notebook import module_of
from grader.intake.submission import Arrival, Submission
from grader.intake.topics import Topics

_SAID = 5


def assemble(name: str, bag: Bag, topics: Topics, arrival: Arrival) -> Submission:
    """The submission in the bag."""
    return _Assembly(bag, topics).submission(name, arrival)


class _Assembly:
    def __init__(self, bag: Bag, topics: Topics) -> None:
        self.topics = topics
        self.notes: list[str] = []
        self.files: dict[str, bytes] = {}
        self._origin: dict[str, str] = {}  # where a file came from, if it was called something else
        self._used: set[str] = set()
        root = self._root(bag)
        self._prefixes = [root, f"{root}{STUBS}/"]
        for path, reason in bag.all_notes():
            self.notes.append(f"{self._told(path)}: {reason}")
        at_root = any(self._topic_file(path.removeprefix(root)) for path in bag.files if path.startswith(root))
        below = any(self._topic_file(path.removeprefix(self._prefixes[1])) for path in bag.files)
        places = self._prefixes if at_root or not below else self._prefixes[1:]
        for prefix in places:
            for path, content in sorted(bag.files.items(), key=lambda item: (item[0].endswith(".ipynb"), item[0])):
                inside = path.removeprefix(prefix)
                if path.startswith(prefix) and not (inside.startswith(f"{STUBS}/") and prefix == root):
                    self._take(inside, content, path.removeprefix(root))

    def submission(self, name: str, arrival: Arrival) -> Submission:
        self._assign()
        if not self.files and not self.notes:
            self.notes.append("./: no Python file and no notebook in it")
        for path in self._used:
            del self.files[path]
        return Submission(name, dict(sorted(self.files.items())), tuple(self.notes), arrival)

    def _root(self, bag: Bag) -> str:
        """The folders that everything is in, as packing a folder makes them."""
        root = ""
        while True:
            inside = [path.removeprefix(root) for path in bag.files]
            if not inside or any(
                "/" not in path or self._topic_file(path.removeprefix(f"{STUBS}/")) for path in inside
            ):
                return root
            first = {path.partition("/")[0] for path in inside}
            if len(first) != 1 or first == {STUBS}:
                return root
            root += f"{first.pop()}/"

    def _topic_file(self, path: str) -> str | None:
        """The topic whose very name a file at the top has."""
        file = PurePosixPath(path)
        return file.stem if "/" not in path and file.stem in self.topics.names else None

    def _told(self, path: str) -> str:
        for prefix in reversed(self._prefixes):
            inside = path.removeprefix(prefix)
            if path.startswith(prefix) and self._topic_file(inside):
                return inside if inside.endswith(".py") else f"{self._topic_file(inside)}.py: {inside}"
        return path

    def _take(self, path: str, content: bytes, original: str) -> None:
        target = path
        if path.lower().endswith(".ipynb"):
            target = path[: -len(".ipynb")] + ".py"
        elif not path.endswith(".py"):
            target = path[:-3] + ".py"  # .PY
        if target in self.files:
            kept = self._origin.get(target, target)
            where = "the one at the top counts, not" if original != path else f"{kept} counts, not"
            self.notes.append(f"{target}: handed in twice; {where} {original}")
            return
        if path.lower().endswith(".ipynb"):
            module, told = module_of(content)
            self.notes += [f"{target}: {path.rpartition('/')[2]}: {note}" for note in told]
            if module is None:
                return
            content = module
        self.files[target] = content
        if target != original:
            self._origin[target] = original

    def _assign(self) -> None:
        """Gives each topic without a file of its name the one that is meant, if there is one."""
        loose = [path for path in self.files if "/" not in path and not self._topic_file(path)]
        missing = [topic for topic in sorted(self.topics.names) if f"{topic}.py" not in self.files]
        found = len(missing) < len(self.topics.names)
        named = {path: self.topics.named(PurePosixPath(path).stem) for path in loose}
        defined = {path: self.topics.defined(self.files[path]) for path in loose}
        if len(loose) == 1 and len(self.topics.names) == 1 and missing:
            named[loose[0]] = missing[0]
        for topic in missing:
            by_name = [path for path in loose if named[path] == topic]
            candidates = by_name or [path for path in loose if topic in defined[path] and not named[path]]
            if len(candidates) == 1:
                found = True
                self._assign_one(topic, candidates[0], defined[candidates[0]].get(topic, []), bool(by_name))
            elif candidates:
                found = True
                which = ", ".join(self._origin.get(path, path) for path in sorted(candidates)[:_SAID])
                self.notes.append(
                    f"{topic}.py: could be any of {which}: none was taken; one of them must be called {topic}.py"
                )
        for path in loose:
            topic = named[path] or ""
            if topic and topic not in missing and topic in defined[path]:
                self.notes.append(f"{self._origin.get(path, path)}: not taken for {topic}, as {topic}.py is there")
        if not found:
            example = min(self.topics.names, default="topic")
            for path in loose[:_SAID]:
                self.notes.append(
                    f"{self._origin.get(path, path)}: its name does not say which topic it is, and it defines none of"
                    f" the exercises; call it {example}.py, for example"
                )

    def _assign_one(self, topic: str, path: str, defines: list[str], by_name: bool) -> None:
        target = f"{topic}.py"
        self.files[target] = self.files[path]
        origin = self._origin.get(path, path)
        self.notes = [
            f"{target}{note[len(path) :]}" if note.startswith(f"{path}: {origin}: ") else note for note in self.notes
        ]
        if not by_name:
            what = ", ".join(defines[:3]) + (", …" if defines[3:] else "")
            self.notes.append(f"{target}: taken from {origin}, which defines {what}")
        self._used.add(path)
