"""Makes a submission of the files that were found: notebooks become modules, and each topic gets its file.

Of several files for a topic, the one with most answers counts, of equals the first. Never guesses in silence: if a
file was taken for a topic because of its definitions, or is in doubt, a note says so.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

import msgspec

from grader.intake.bag import Bag
from grader.intake.by_hand import MOST_FILES, is_named_as, text_of_module, works_of
from grader.intake.exported import plain_python
from grader.intake.kinds import COURSE_FOLDERS, STUBS, code_name, is_code, is_notebook, one_folder
from grader.intake.notebook import module_of, text_for_people, text_of
from grader.intake.submission import ASIDE, WORK, Arrival, Note, Submission
from grader.intake.topics import code_lines, fingerprint, imported_by
from grader.intake.unread import SeenText, UnreadTopics
from grader.intake.writable import writable

_VERSION = re.compile(r"(?:[ _.-]*|(?<=[a-z]))v(?:er|ersion)?[ _.-]?(?P<number>\d{1,4})$", re.IGNORECASE)
_MAX_NOTES = 200
_AFTER_TOPIC = ", by the name of its topic"
# How many files a note may name, and how many files that belong to no topic get a note.
_NAMED = 5


def assemble(name: str, bag: Bag, arrival: Arrival) -> Submission:
    """The submission in the bag."""
    assembly = _Assembly(bag)
    assembly.read_modules()
    is_by_hand = bag.work or any(is_named_as(path, bag.topics.files) for path in bag.documents)
    if not assembly.modules and not assembly.notes and not is_by_hand:
        only = f", but {next(iter(bag.others))}" if bag.others else ""
        assembly.note("./", f"no Python file and no notebook in it{only}", lost=ASIDE if only else "")
    assembly.give_to_topics()
    return assembly.submission(name, arrival)


class _Module(msgspec.Struct, frozen=True):
    """A module of the submission.

    Attributes:
        path: in the submission.
        origin: its path in the upload, below the root.
        is_spare: whether it is in the submission only if nothing else counts for a topic.
    """

    path: str
    origin: str
    content: bytes
    is_spare: bool = False


class _Assembly:
    """A submission in the making.

    Attributes:
        root: the folder of the work in the bag, as a prefix of paths.
        stubs: the folder ``exercises/`` in it.
        searched: these two in the order in which they count.
        modules: by path in the submission; of two with one path the one that counts.
        given: the modules of another name that were taken for a topic, by the path of that topic's file.
        seen: everything that has code or text, whether it counts or not.
        not_run: what a notebook runs and no module can, by origin; see `NotebookCode`.
        texts: notebooks as people read them, by origin, if there is more than code in them.
    """

    def __init__(self, bag: Bag) -> None:
        self.bag = bag
        self.topics = bag.topics
        self.modules: dict[str, _Module] = {}
        self.given: dict[str, _Module] = {}
        self.seen: list[SeenText] = []
        self.not_run: dict[str, Mapping[str, str]] = {}
        self.texts: dict[str, bytes] = {}
        self.root, version_note = self._last_version(self._unwrapped(""))
        self.stubs = f"{self.root}{STUBS}/"
        at_root = any(self._topic_of(path.removeprefix(self.root)) for path in bag.files if path.startswith(self.root))
        below = any(self._topic_of(path.removeprefix(self.stubs)) for path in bag.files)
        self.searched = (self.root, self.stubs) if at_root or not below else (self.stubs, self.root)
        self.notes = [*map(self._on_topic, bag.notes), *version_note]

    def note(self, path: str, text: str, source: str = "", lost: str = "") -> None:
        self.notes.append(Note(path, text, source, lost))

    def _topic_of(self, path: str) -> str | None:
        """The topic whose exact name a file at the top has."""
        stem = PurePosixPath(code_name(path)).stem
        return stem if "/" not in path and stem in self.topics.names else None

    # ---------------------------------------------------------------- the folder of the work

    def _unwrapped(self, root: str) -> str:
        """The innermost folder that all files below a folder are in, as when a folder is packed as a whole."""
        while True:
            folder = one_folder(path.removeprefix(root) for path in self.bag.files if path.startswith(root))
            if folder in ("", f"{STUBS}/") or folder.rstrip("/") in self.topics.packages:
                return root
            root += folder

    def _last_version(self, root: str) -> tuple[str, list[Note]]:
        """The folder of the work; of several that are versions of each other the last one, with a note that says so."""
        inside = [path.removeprefix(root) for path in self.bag.files]
        if self.topics.packages or any(self._topic_of(path.removeprefix(f"{STUBS}/")) for path in inside):
            return root, []
        folders: dict[str, bool] = {}
        for path in inside:
            if topic := self._topic_of(PurePosixPath(path).name):
                is_own = is_notebook(path) or self.topics.answers(topic, self.bag.files[f"{root}{path}"]) > 0
                folder = path.partition("/")[0]
                folders[folder] = folders.get(folder, False) or is_own
        last = latest(sorted(folders))
        if last is None or not folders[last]:  # not own: an earlier one may have the answer
            return root, []
        others = ", ".join(f"{folder}/" for folder in sorted(folders.keys() - {last})[:_NAMED])
        return self._unwrapped(f"{root}{last}/"), [Note("./", f"{last}/ counts, the last version, not {others}")]

    def _on_topic(self, note: Note) -> Note:
        """The same note, on the topic's file if it is about a file that would have become that one."""
        for place in (self.stubs, self.root):
            inside = note.path.removeprefix(place)
            if note.path.startswith(place) and (topic := self._topic_of(inside)):
                source = "" if inside.endswith(".py") else inside
                return Note(f"{topic}.py" if source else inside, note.text, source, note.lost)
        return note

    # ---------------------------------------------------------------- from files to modules

    def read_modules(self) -> None:
        """Makes modules of the files in the bag."""
        for path, origin, content in self._files():
            whole = f"{self.root}{origin}"
            beside = self.searched[0] != self.root and not whole.startswith(self.stubs)
            is_spare = beside or whole in self.bag.twice or _of_course(origin)
            plain = code_name(path)
            target = f"{plain.rpartition('.')[0]}.py"
            if plain != path:
                wanted = PurePosixPath(plain).name
                self.note(target, f"read from {PurePosixPath(path).name}: next time, hand in {wanted}")
            of_notebook = is_notebook(path)
            code = module_of(content) if of_notebook else plain_python(content)
            is_lost = of_notebook and not (code.module and code_lines(code.module))
            for text in code.notes:
                self.note(target, text, PurePosixPath(path).name if of_notebook else "", WORK if is_lost else "")
            self.not_run[origin] = code.not_run
            if of_notebook and self.topics.by_hand and (text := text_for_people(content, self._handed_out_lines)):
                self.texts[origin] = text.encode()
            if code.module is not None:
                self._add(_Module(target, origin, code.module, is_spare), text_of(content), at_top=origin != path)
            for name, written in code.written.items():
                target = str(PurePosixPath(path).with_name(name))
                module = _Module(target, f"{origin} (%%writefile {name})", written, is_spare)
                self._add(module, text_of(written), at_top=False)

    @functools.cached_property
    def _handed_out_lines(self) -> set[str]:
        stubs = (stub.decode("utf-8", "replace") for stub in self.topics.stubs.values())
        lines = {line.strip().strip("\"'") for stub in stubs for line in stub.split("\n")}
        return lines | {line.strip() for text in self.topics.texts for line in text.split("\n")}

    def _files(self) -> Iterator[tuple[str, str, bytes]]:
        """Path in the submission, path below the root, content: of modules first, then of notebooks."""
        in_order = sorted(
            self.bag.files.items(), key=lambda item: (is_notebook(item[0]), code_name(item[0]) != item[0], item[0])
        )
        for place in self.searched:
            for path, content in in_order:
                in_stubs = place == self.root and path.startswith(self.stubs)
                if path.startswith(place) and not in_stubs:
                    yield path.removeprefix(place), path.removeprefix(self.root), content

    def _add(self, module: _Module, text: str, *, at_top: bool) -> None:
        """Takes a module; of two for one path the one with more answers, else the first.

        Args:
            text: all of the file, with what is no code in a notebook.
        """
        if _of_course(module.origin) and fingerprint(module.content) in self.topics.solutions:
            return
        self.seen.append(SeenText(module.origin, text, module.content))
        kept = self.modules.setdefault(module.path, module)
        topic = self._topic_of(module.path)
        if topic and self.topics.answers(topic, module.content) > self.topics.answers(topic, kept.content):
            self.modules[module.path] = module
            self._note_instead_of(kept, module, topic)
        elif kept is not module:
            where = "the one at the top" if at_top else kept.origin
            self.note(module.path, f"handed in twice; {where} counts, not {module.origin}")

    def _note_instead_of(self, file: _Module, module: _Module, topic: str) -> None:
        why = self.topics.why_not_own(topic, file.content) or "it has fewer answers"
        self.note(f"{topic}.py", f"taken from {module.origin}; {file.origin} does not count: {why}")

    # ---------------------------------------------------------------- which module is which topic

    def give_to_topics(self) -> None:
        """Finds the module that is meant for each topic without an answer in a file of its name, if there is one."""
        others = [module for path, module in self.modules.items() if not self._topic_of(path)]
        loose = [module for module in others if "/" not in module.path]
        missing = [topic for topic in sorted(self.topics.names) if f"{topic}.py" not in self.modules]
        named = {module.path: self.topics.named(PurePosixPath(module.path).stem) for module in loose}
        if len(loose) == 1 and len(self.topics.names) == 1 and missing:
            named[loose[0].path] = missing[0]
        is_meant = [self._give_to_topic(topic, others, named) for topic in sorted(self.topics.names)]
        if not any(is_meant) and not self.topics.packages:
            for module in loose[:_NAMED]:
                why = "its name does not say which topic it is, and it defines none of the exercises"
                # Not which topics there are: others may be asked for now.
                only = next(iter(self.topics.names)) if len(self.topics.names) == 1 else "TOPIC"
                self.note(module.origin, f"{why}; call it {only}.py{'' if only in self.topics.names else _AFTER_TOPIC}")

    def _give_to_topic(self, topic: str, others: Sequence[_Module], named: dict[str, str | None]) -> bool:
        """The same for one topic; whether any module is meant for it, or may be.

        Args:
            named: the topic in the name of each module at the top, by its path.
        """
        target = f"{topic}.py"
        file = self.modules.get(target)
        used = imported_by(file.content) if file else set()
        others = [module for module in others if module.path.partition("/")[0].removesuffix(".py") not in used]
        defines = {module.path: self.topics.defined(module.content).get(topic, []) for module in others}
        loose = [module for module in others if module.path in named]
        below = [module for module in others if module.path not in named]
        by_name = [module for module in loose if named[module.path] == topic]
        by_content = [module for module in loose if defines[module.path] and not named[module.path]]
        in_folder = [module for module in below if PurePosixPath(module.path).name == target]
        kinds = [by_name, by_content, in_folder, [module for module in below if defines[module.path]]]
        has = {module.path: self.topics.answers(topic, module.content) for kind in kinds for module in kind}
        most = max(has.values(), default=0)
        if file and (not most or most <= self.topics.answers(topic, file.content)):
            for module in (*by_name, *in_folder):
                if has[module.path] and not module.is_spare:
                    self.note(module.origin, f"not taken for {topic}, as {target} is there")
            return True
        best = ([module for module in kind if has[module.path] == most] for kind in kinds)
        candidates = sorted(next(filter(None, best), []), key=lambda module: module.path)
        if last := latest([module.path.removesuffix(".py") for module in candidates]):
            older = ", ".join([module.path for module in candidates if module.path != f"{last}.py"][:_NAMED])
            self.note(target, f"{last}.py counts, the last version, not {older}")
            candidates = [module for module in candidates if module.path == f"{last}.py"]
        if len(candidates) > 1:
            which = ", ".join(module.origin for module in candidates[:_NAMED])
            are_called_so = all(PurePosixPath(module.path).name == target for module in candidates)
            remedy = "hand in only one of them" if are_called_so else f"one of them must be called {target}"
            reason = f"could be any of {which}: none was taken; {remedy}"
            self.note(target, reason, lost=WORK)
        for module in candidates if len(candidates) == 1 else ():
            self.given[target] = module
            if file:
                self._note_instead_of(file, module, topic)
            elif module not in by_name and module.path != self.topics.homes.get(target):
                found = defines[module.path]
                names = ", ".join(found[:3]) + (", …" if found[3:] else "")
                self.note(target, f"taken from {module.origin}" + (f", which defines {names}" if names else ""))
        return bool(file or candidates)

    # ---------------------------------------------------------------- all of it

    def submission(self, name: str, arrival: Arrival) -> Submission:
        """The submission, when each topic has its module."""
        # A note on a notebook that was taken for a topic is one on the file of the first such topic.
        target_of = {module.path: path for path, module in reversed(self.given.items())}
        others = {path: one for path, one in self.modules.items() if path not in target_of and not one.is_spare}
        counting = others | self.given
        self.notes = [
            msgspec.structs.replace(note, path=target_of.get(note.path, note.path)) if note.source else note
            for note in self.notes
        ]
        origins = {module.origin for module in self.given.values()}
        for path, (target, archive) in self.bag.twice.items():
            if path.removeprefix(self.root) not in origins:
                inside = target.removeprefix(self.stubs).removeprefix(self.root)
                text = f"handed in twice; the file counts, not the one in {archive}"
                self.note(f"{inside.rpartition('.')[0]}.py", text)
        modules = {path: module.content for path, module in counting.items()}
        modules, left_out = writable(modules, [path for path in modules if self._topic_of(path)])
        for path, reason in left_out.items():
            self.note(counting[path].origin, reason, lost=WORK)
        by_hand = self._files_for_people()
        files = by_hand | modules
        topic_of = {one.origin: path for path, one in (self.modules | self.given).items() if self._topic_of(path)}
        seen = [msgspec.structs.replace(one, path=topic_of.get(one.path, one.path)) for one in self.seen]
        for path, content in self.bag.others.items():
            if path in by_hand and is_named_as(path, self.topics.by_hand):
                continue  # it is what a person marks, and no code
            module = module_of(content).module if is_notebook(path) else content
            seen.append(SeenText(path, text_of(content), module if is_code(path) else None))
        not_run = {path: self.not_run.get(one.origin, {}) for path, one in (self.modules | self.given).items()}
        unread = tuple(UnreadTopics(files, self.notes, self.topics, seen, not_run).unread())
        notes = self.notes[:_MAX_NOTES]
        if more := len(self.notes) - len(notes):
            notes.append(Note("./", f"{more:,} more notes like these"))
        return Submission(name, dict(sorted(files.items())), tuple(notes), arrival, unread)

    def _files_for_people(self) -> dict[str, bytes]:
        """The other files that a person marks, and those that may be such work in another format or place."""
        found: dict[str, bytes] = {}
        work = self.bag.work
        several: dict[str, bytes] = {}
        for file in sorted(self.topics.files):
            name = file.rpartition("/")[2].lower()
            exact = [path for place in (*self.searched, "") if (path := f"{place}{file}") in work]
            others = sorted(path for path in work if path.rpartition("/")[2].lower() == name)
            if exact or len(others) == 1:
                found[file] = work[[*exact, *others][0]]
            elif others:
                several |= {path: work[path] for path in others[:MOST_FILES]}
                self.note(file, f"could be any of {', '.join(others[:_NAMED])}: a person has to choose")
            if others and not exact and file in found and others[0].rpartition("/")[2] != file:
                self.note(file, f"taken from {others[0]}")
        marked = {path: one for path, one in (self.modules | self.given).items() if path in self.topics.by_hand}
        names = {one.origin: text_of_module(path) for path, one in marked.items()}
        texts = {names.get(origin, f"{origin}.md"): text for origin, text in self.texts.items()}
        candidates = self.bag.documents | several | texts
        instead = works_of(candidates | found, self.topics.by_hand, self.topics.templates)
        kept: dict[str, bytes] = {}
        for file, paths in sorted(instead.items()):
            kept |= {path: candidates[path] for path in paths}
            if not file.endswith(".py") and not several.keys() & set(paths):
                self.note(file, f"not there, but {', '.join(paths[:_NAMED])}: a person looks at that")
        self.notes = [note for note in self.notes if not (note.lost == ASIDE and note.path in kept)]
        return kept | found


def _of_course(path: str) -> bool:
    """Whether a file is in a folder that a course has: it counts only if nothing else does."""
    return not COURSE_FOLDERS.isdisjoint(path.split("/")[:-1])


def latest(names: Sequence[str]) -> str | None:
    """The last version, if all names are versions of one thing; None if not, or if two are the same version."""
    versions: dict[int, str] = {}
    bases = set()
    for name in names:
        if found := _VERSION.search(name):
            versions[int(found["number"])] = name
            bases.add(name[: found.start()].lower())
    is_one_thing = len(bases) == 1 and len(versions) == len(names) > 1
    return versions[max(versions)] if is_one_thing else None
