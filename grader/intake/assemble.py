"""Makes a submission of the files that were found: notebooks become modules, and each topic gets its file.

Of several files for a topic, the one with most answers counts, of equals the first. Never guesses in silence: if a
file was taken for a topic because of its definitions, or is in doubt, a note says so.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import msgspec

from grader.intake.bag import COURSE_FOLDERS, STUBS, Bag, is_code
from grader.intake.notebook import module_of, text_of, without_magics
from grader.intake.submission import ASIDE, WORK, Arrival, Note, Submission
from grader.intake.topics import Topics, code_lines
from grader.intake.unread import SeenText, unread_topics

_VERSION = re.compile(r"(?:[ _.-]*|(?<=[a-z]))v(?:er|ersion)?[ _.-]?(?P<number>\d{1,4})$", re.IGNORECASE)
_MAX_NOTES = 200
_NAMED = 5
"""How many files a note may name, and how many files that belong to no topic get a note."""


def assemble(name: str, bag: Bag, topics: Topics, arrival: Arrival) -> Submission:
    """The submission in the bag."""
    places = _places(bag, topics)
    found = _read(bag, places, topics)
    given = _give_to_topics(found.modules, topics)
    if not found.modules and not found.notes and not bag.work:
        only = f", but {next(iter(bag.others))}" if bag.others else ""
        found.notes.append(Note("./", f"no Python file and no notebook in it{only}", lost=ASIDE if only else ""))
    used = {module.path for module in given.modules.values()}
    files = {path: module.content for path, module in found.modules.items() if path not in used and not module.is_spare}
    files |= {path: module.content for path, module in given.modules.items()}
    work, about_work = _work(bag, places, topics)
    files |= {path: content for path, content in work.items() if path not in files}
    for spare, (path, archive) in bag.twice.items():
        target = f"{path.removeprefix(places.stubs).removeprefix(places.root).rpartition('.')[0]}.py"
        if not any(module.origin == spare.removeprefix(places.root) for module in given.modules.values()):
            given.notes.append(Note(target, f"handed in twice; the file counts, not the one in {archive}"))
    notes = [*(_about_topic_file(note, given.modules) for note in found.notes), *given.notes, *about_work]
    counting = {one.origin: path for path, one in (found.modules | given.modules).items() if _topic_of(path, topics)}
    seen = [SeenText(counting.get(one.path, one.path), one.text, one.module) for one in found.seen]
    seen += [SeenText(path, text_of(content), _hidden_module(path, content)) for path, content in bag.others.items()]
    unread = unread_topics(files, notes, topics, seen)
    if len(notes) > _MAX_NOTES:
        notes[_MAX_NOTES:] = [Note("./", f"{len(notes) - _MAX_NOTES:,} more notes like these")]
    return Submission(name, dict(sorted(files.items())), tuple(notes), arrival, unread)


def _hidden_module(path: str, content: bytes) -> bytes | None:
    """The code of a file with a hidden name or folder; None of a file that is no code."""
    if not is_code(path):
        return None
    return module_of(content).module if path.lower().endswith(".ipynb") else content


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


class _Places(msgspec.Struct, frozen=True):
    """The folders of a submission's modules in the bag, as prefixes of paths; ``exercises/`` may be one, too."""

    root: str
    stubs: str
    searched: tuple[str, ...]
    note: Note | None = None


@dataclass
class _Found:
    """The modules in the bag by their path, notes on the files that were left out, and everything that has code."""

    modules: dict[str, _Module] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    seen: list[SeenText] = field(default_factory=list)


@dataclass
class _Given:
    """The topic files that modules of another name were taken for, and notes on that."""

    modules: dict[str, _Module] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)


# ---------------------------------------------------------------- the folder of the work


def _places(bag: Bag, topics: Topics) -> _Places:
    root, note = _version(_root(bag, topics), bag, topics)
    stubs = f"{root}{STUBS}/"
    at_root = any(_topic_of(path.removeprefix(root), topics) for path in bag.files if path.startswith(root))
    below = any(_topic_of(path.removeprefix(stubs), topics) for path in bag.files)
    return _Places(root, stubs, (root, stubs) if at_root or not below else (stubs, root), note)


def _root(bag: Bag, topics: Topics) -> str:
    """The folders that all files are in, as when a folder is packed as a whole."""
    return _root_of("", bag, topics)


def _root_of(root: str, bag: Bag, topics: Topics) -> str:
    """The same below a folder."""
    while True:
        inside = [path.removeprefix(root) for path in bag.files if path.startswith(root)]
        if not inside or any("/" not in path or _topic_of(path.removeprefix(f"{STUBS}/"), topics) for path in inside):
            return root
        first = {path.partition("/")[0] for path in inside}
        if len(first) != 1 or first == {STUBS}:
            return root
        root += f"{first.pop()}/"


def _version(root: str, bag: Bag, topics: Topics) -> tuple[str, Note | None]:
    """The folder of the work; of several that are versions of each other the last one, with a note that says so."""
    inside = [path.removeprefix(root) for path in bag.files]
    if any(_topic_of(path.removeprefix(f"{STUBS}/"), topics) for path in inside):
        return root, None
    folders: dict[str, bool] = {}
    for path in inside:
        if topic := _topic_of(PurePosixPath(path).name, topics):
            folder = path.partition("/")[0]
            own = path.endswith(".ipynb") or topics.answers(topic, bag.files[f"{root}{path}"]) > 0
            folders[folder] = own or folders.get(folder, False)
    last = latest(sorted(folders))
    if last is not None and not folders[last]:
        return root, None  # as it was handed out: an earlier one may have the answer
    if last is None:
        return root, None
    others = ", ".join(f"{folder}/" for folder in sorted(folders.keys() - {last})[:_NAMED])
    return _root_of(f"{root}{last}/", bag, topics), Note("./", f"{last}/ counts, the last version, not {others}")


def _topic_of(path: str, topics: Topics) -> str | None:
    """The topic whose exact name a file at the top has."""
    stem = PurePosixPath(path).stem
    return stem if "/" not in path and stem in topics.names else None


# ---------------------------------------------------------------- from files to modules


def _read(bag: Bag, places: _Places, topics: Topics) -> _Found:
    """The modules in the bag; of two with one path the first one counts."""
    found = _Found(notes=[_note_on_topic(note, places, topics) for note in bag.all_notes()])
    found.notes += [places.note] if places.note else []
    for path, origin, content in _files(bag, places):
        beside = places.searched[0] != places.root and not f"{places.root}{origin}".startswith(places.stubs)
        is_spare = beside or f"{places.root}{origin}" in bag.twice or _of_course(origin)
        target = f"{path.rpartition('.')[0]}.py"
        if not path.lower().endswith(".ipynb"):
            python, left_out = without_magics(content)
            found.notes += [Note(target, text) for text in left_out]
            _add(found, _Module(target, origin, python, is_spare), topics, at_top=origin != path)
            continue
        module, left_out, written = module_of(content)
        lost = "" if module and code_lines(module) else WORK
        found.notes += [Note(target, text, source=PurePosixPath(path).name, lost=lost) for text in left_out]
        if module is not None:
            _add(found, _Module(target, origin, module, is_spare), topics, text_of(content), at_top=origin != path)
        folder = path[: path.rfind("/") + 1]
        for name, text in written.items():
            _add(
                found,
                _Module(f"{folder}{name}", f"{origin} (%%writefile {name})", text, is_spare),
                topics,
                at_top=False,
            )
    return found


def _add(found: _Found, module: _Module, topics: Topics, text: str = "", *, at_top: bool) -> None:
    """Takes a module; of two for one path the one with more answers, else the first.

    Args:
        text: all of a notebook.
    """
    if _of_course(module.origin) and topics.is_course_file(module.content):
        return
    found.seen.append(SeenText(module.origin, text or text_of(module.content), module.content))
    kept = found.modules.get(module.path)
    if kept is None:
        found.modules[module.path] = module
        return
    topic = _topic_of(module.path, topics)
    if topic and topics.answers(topic, module.content) > topics.answers(topic, kept.content):
        found.modules[module.path] = module
        found.notes.append(_instead_of(kept, module, topic, topics))
    else:
        where = "the one at the top" if at_top else kept.origin
        found.notes.append(Note(module.path, f"handed in twice; {where} counts, not {module.origin}"))


def _of_course(path: str) -> bool:
    """Whether a file is in a folder that a course has: it counts only if nothing else does."""
    return not COURSE_FOLDERS.isdisjoint(path.split("/")[:-1])


def _files(bag: Bag, places: _Places) -> Iterator[tuple[str, str, bytes]]:
    """Path in the submission, path below the root, content: of modules first, then of notebooks."""
    in_order = sorted(bag.files.items(), key=lambda item: (item[0].endswith(".ipynb"), item[0]))
    for place in places.searched:
        for path, content in in_order:
            in_stubs = place == places.root and path.startswith(places.stubs)
            if path.startswith(place) and not in_stubs:
                yield path.removeprefix(place), path.removeprefix(places.root), content


def _work(bag: Bag, places: _Places, topics: Topics) -> tuple[dict[str, bytes], list[Note]]:
    """The other files that a person marks: at their path, else the only one of that name; and notes on those."""
    work: dict[str, bytes] = {}
    notes = []
    for file in sorted(topics.files):
        name = file.rpartition("/")[2].lower()
        exact = [path for place in places.searched if (path := f"{place}{file}") in bag.work]
        others = sorted(path for path in bag.work if path.rpartition("/")[2].lower() == name)
        found = exact[:1] or (others if len(others) == 1 else [])
        if found:
            work[file] = bag.work[found[0]]
            notes += [] if exact else [Note(file, f"taken from {found[0]}")]
        elif others:
            notes.append(Note(file, f"could be any of {', '.join(others[:_NAMED])}: none was taken"))
    return work, notes


def _note_on_topic(note: Note, places: _Places, topics: Topics) -> Note:
    """The same note, on the topic's file if it is about a file that would have become that one."""
    for place in (places.stubs, places.root):
        inside = note.path.removeprefix(place)
        topic = _topic_of(inside, topics) if note.path.startswith(place) else None
        if topic:
            source = "" if inside.endswith(".py") else inside
            return Note(f"{topic}.py" if source else inside, note.text, source, note.lost)
    return note


# ---------------------------------------------------------------- which module is which topic


def _give_to_topics(modules: Mapping[str, _Module], topics: Topics) -> _Given:
    """Finds the module that is meant for each topic without an answer in a file of its name, if there is one."""
    others = [module for path, module in modules.items() if not _topic_of(path, topics)]
    loose = [module for module in others if "/" not in module.path]
    missing = [topic for topic in sorted(topics.names) if f"{topic}.py" not in modules]
    defined = {module.path: topics.defined(module.content) for module in others}
    named = {module.path: topics.named(PurePosixPath(module.path).stem) for module in loose}
    if len(loose) == 1 and len(topics.names) == 1 and missing:
        named[loose[0].path] = missing[0]

    given = _Given()
    any_found = len(missing) < len(topics.names)
    for topic in sorted(topics.names):
        file = modules.get(f"{topic}.py")
        by_name = [module for module in loose if named[module.path] == topic]
        by_content = [module for module in loose if topic in defined[module.path] and not named[module.path]]
        below = [module for module in others if "/" in module.path]
        in_folder = [module for module in below if PurePosixPath(module.path).name == f"{topic}.py"]
        kinds = [by_name, by_content, in_folder, [module for module in below if topic in defined[module.path]]]
        has = {module.path: topics.answers(topic, module.content) for kind in kinds for module in kind}
        most = max([*has.values(), 0])
        if file and (not most or most <= topics.answers(topic, file.content)):
            given.notes += [
                _not_taken(module, topic)
                for module in (*by_name, *in_folder)
                if has[module.path] and not module.is_spare
            ]
            continue
        best = [[module for module in kind if has[module.path] == most] for kind in kinds]
        candidates = next(filter(None, best), [])
        if last := latest([module.path.removesuffix(".py") for module in candidates]):
            given.notes.append(_last_of(candidates, f"{last}.py", topic))
            candidates = [module for module in candidates if module.path == f"{last}.py"]
        any_found = any_found or bool(candidates)
        if len(candidates) == 1:
            module = candidates[0]
            given.modules[f"{topic}.py"] = module
            if file:
                given.notes.append(_instead_of(file, module, topic, topics))
            elif module not in by_name:
                given.notes.append(_taken_from(module, topic, defined[module.path].get(topic, [])))
        elif candidates:
            given.notes.append(_any_of(candidates, topic))
    if not any_found:
        example = min(topics.names, default="topic")
        given.notes += [_of_no_topic(module, example) for module in loose[:_NAMED]]
    return given


def _about_topic_file(note: Note, given: Mapping[str, _Module]) -> Note:
    """A note on a notebook that was taken for a topic is a note on the (first such) topic's file."""
    if not note.source:
        return note
    target = next((path for path, module in given.items() if module.path == note.path), note.path)
    return msgspec.structs.replace(note, path=target)


def _taken_from(module: _Module, topic: str, defines: Sequence[str]) -> Note:
    names = ", ".join(defines[:3]) + (", …" if defines[3:] else "")
    return Note(f"{topic}.py", f"taken from {module.origin}" + (f", which defines {names}" if names else ""))


def _instead_of(file: _Module, module: _Module, topic: str, topics: Topics) -> Note:
    why = topics.why_not_own(topic, file.content) or "it has fewer answers"
    return Note(f"{topic}.py", f"taken from {module.origin}; {file.origin} does not count: {why}")


def _not_taken(module: _Module, topic: str) -> Note:
    return Note(module.origin, f"not taken for {topic}, as {topic}.py is there")


def _last_of(candidates: Sequence[_Module], last: str, topic: str) -> Note:
    others = ", ".join(sorted(module.path for module in candidates if module.path != last)[:_NAMED])
    return Note(f"{topic}.py", f"{last} counts, the last version, not {others}")


def _any_of(candidates: Sequence[_Module], topic: str) -> Note:
    which = ", ".join(module.origin for module in sorted(candidates, key=lambda one: one.path)[:_NAMED])
    file = f"{topic}.py"
    return Note(file, f"could be any of {which}: none was taken; one of them must be called {file}", lost=WORK)


def _of_no_topic(module: _Module, example: str) -> Note:
    return Note(
        module.origin,
        "its name does not say which topic it is, and it defines none of the exercises;"
        f" call it {example}.py, for example",
    )


# ---------------------------------------------------------------- versions of one thing: homework_v1, homework_v2


def version_of(name: str) -> tuple[str, int] | None:
    """The name without its version, in lower case, and the version's number; None if it has none."""
    found = _VERSION.search(name)
    return (name[: found.start()].lower(), int(found["number"])) if found else None


def latest(names: Sequence[str]) -> str | None:
    """The last version, if all names are versions of one thing; None if not, or if two are the same version."""
    versions = [version_of(name) for name in names]
    known = [version for version in versions if version is not None]
    if len(known) != len(names) or len(known) < 2 or len({base for base, _ in known}) != 1:
        return None
    numbers = [number for _, number in known]
    return names[numbers.index(max(numbers))] if len(set(numbers)) == len(numbers) else None
