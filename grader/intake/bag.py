"""The files of one submission, collected within bounds, and a note for each that was left out."""

from collections.abc import Mapping

from grader.intake import kinds
from grader.intake.archive import TWICE, Archive, BrokenArchive, Content, ReadFile, open_archive
from grader.intake.by_hand import MOST_FILES
from grader.intake.dates import read_time
from grader.intake.notebook import without_outputs
from grader.intake.submission import WORK, Note
from grader.intake.topics import Topics

TOTAL_BYTES = 16 * kinds.FILE_BYTES
MAX_FILES = 2_000
MAX_ENTRIES = 20_000
_MAX_OTHERS = 50
# Of the notebooks of one submission, with their outputs; the last one may be longer.
_NOTEBOOKS_BYTES = 4 * kinds.WITH_OUTPUTS_BYTES
_TEXT_BYTES = kinds.FILE_BYTES // 4
_MAX_ARCHIVES_DEEP = 3
# Archives inside the archives of one submission that are opened at most.
_MAX_NESTED = 40


class Bag:
    """Files and notes of one submission.

    Attributes:
        files: modules and notebooks, by path.
        work: other files that a person marks, by path.
        documents: files that may be such work in another format, by path.
        twice: files of archives that are there without the archive, too: their path without it, and the archive.
        newest: the latest time of a file in it, in seconds since 1970.
        submitted: the ISO time that the platform says for the files which count, or empty.
        others: the first files that are no code and no archive, such as a PDF, or hidden code, with their text; a null
            byte for one that is no text, or a long one.
    """

    def __init__(self, topics: Topics) -> None:
        self.topics = topics
        self.files: dict[str, bytes] = {}
        self.work: dict[str, bytes] = {}
        self.documents: dict[str, bytes] = {}
        self.notes: list[Note] = []
        self.twice: dict[str, tuple[str, str]] = {}
        self.newest: float | None = None
        self.submitted = ""
        self.others: dict[str, bytes] = {}
        self._is_full = False
        self._bytes = 0
        self._nested = 0
        self._notebook_bytes = 0

    def add(self, path: str, read: ReadFile, time: float | None = None) -> None:
        """Takes a file if there is room."""
        if self._is_full:
            return
        content = self._read(path, read)
        if content is None:
            return
        if len(self.files) + len(self.work) >= MAX_FILES:
            self._is_full = True
            self.note("./", f"more than {MAX_FILES:,} Python files: the rest was left out")
        elif self._bytes + len(content) > TOTAL_BYTES:
            self._is_full = True
            self.note("./", f"more than {TOTAL_BYTES >> 20} MiB of Python files: the rest was left out")
        else:
            self._bytes += len(content)
            (self.files if kinds.is_code(path) else self.work)[path] = content
            if time is not None:
                self.newest = max(time, self.newest or time)

    def _read(self, path: str, read: ReadFile) -> bytes | None:
        """The file, within the bound of its kind; None if it is left out, which is noted."""
        most = kinds.limit_of(path)
        if kinds.is_notebook(path) and self._notebook_bytes > _NOTEBOOKS_BYTES:
            self.note(path, f"more than {_NOTEBOOKS_BYTES >> 20} MiB of notebooks: not read; clear their outputs")
            return None
        content = read(most + 1)
        if kinds.is_notebook(path) and isinstance(content, bytes):
            self._notebook_bytes += len(content)
            if kinds.NOTEBOOK_BYTES < len(content) <= most:
                content = _small(content)
        if isinstance(content, bytes) and len(content) <= most:
            return content
        fix = "; clear its outputs" if kinds.is_notebook(path) else ""
        self.note(path, content if isinstance(content, str) else f"larger than {most >> 20} MiB: not read{fix}")
        return None

    def is_module(self, name: str, read: ReadFile) -> bool:
        """Whether a file whose name has no ending is Python that defines an exercise."""
        if not kinds.has_no_ending(name):
            return False
        content = read(kinds.FILE_BYTES + 1)
        return isinstance(content, bytes) and len(content) <= kinds.FILE_BYTES and bool(self.topics.defined(content))

    def add_without_ending(self, path: str, read: ReadFile, time: float | None = None) -> None:
        """Takes such a file as Python, with a note."""
        self.add(f"{path}.py", read, time)
        self.note(f"{path}.py", f"taken as Python: {path} has no ending", lost="")

    def note(self, path: str, reason: str, lost: str = WORK) -> None:
        """Notes why something was left out.

        Args:
            lost: whether work may be lost with it; see `Note`.
        """
        self.notes.append(Note(path, reason, lost=lost))

    def add_other(self, path: str, read: ReadFile) -> None:
        """Remembers a file that is neither code that counts nor an archive: an answer may be in it."""
        if not kinds.is_code(path) and self.topics.may_be_by_hand(path):
            self._add_document(path, read)
        if len(self.others) < _MAX_OTHERS:
            most = min(kinds.limit_of(path), kinds.NOTEBOOK_BYTES) if kinds.is_code(path) else _TEXT_BYTES
            content = read(most + 1)
            is_text = isinstance(content, bytes) and len(content) <= most and b"\0" not in content
            self.others[path] = content if isinstance(content, bytes) and is_text else b"\0"

    def _add_document(self, path: str, read: ReadFile) -> None:
        if len(self.documents) >= MOST_FILES:
            return
        content = read(kinds.WORK_BYTES + 1)
        if not isinstance(content, bytes):
            self.note(path, content)
        elif len(content) > kinds.WORK_BYTES or self._bytes + len(content) > TOTAL_BYTES:
            text = f"{path} is larger than {kinds.WORK_BYTES >> 20} MiB, and was not read: look at it in the upload.\n"
            self.documents[f"{path}.txt"] = text.encode("utf-8", "replace")
        else:
            self._bytes += len(content)
            self.documents[path] = content

    @property
    def nbgrader_time(self) -> str:
        """The ISO time in nbgrader's file; empty if there is none, or several that differ."""
        texts = (text for path, text in self.others.items() if path.rpartition("/")[2] == "timestamp.txt")
        times = {read_time(text.decode("utf-8", "replace").strip()) for text in texts}
        return times.pop() if len(times) == 1 else ""

    def add_archive(self, name: str, read: ReadFile, prefix: str = "", depth: int = 1) -> None:
        """Takes the files of an archive, with a note on each that is left out.

        Args:
            prefix: the folder of the submission that its files are in.
            depth: the archives that are open, this one too.
        """
        if depth > _MAX_ARCHIVES_DEEP:
            self.note(name, f"archives more than {_MAX_ARCHIVES_DEEP} deep are not opened")
            return
        if depth > 1 and self._nested >= _MAX_NESTED:
            self.note(name, "too many archives inside archives: not opened")
            return
        content = self._read(name, read)
        if content is None:
            return
        if depth > 1:
            self._nested += 1
        try:
            archive = open_archive(name, content)
        except BrokenArchive as problem:
            self.note(name, str(problem))
            return
        for path, reason in archive.problems:
            if not kinds.is_clutter(path):
                self.note(f"{name}/{path}", reason, lost="" if reason == TWICE else WORK)
        before = len(self.notes)
        self.add_files(archive, {path: path for path in archive.files}, name, prefix, depth)
        if not self.files and not self.work and len(self.notes) == before:
            self.note(name, "no Python file and no notebook inside")

    def add_files(
        self, archive: Archive, names: Mapping[str, str], outer: str = "", prefix: str = "", depth: int = 0
    ) -> None:
        """Takes files of an archive, a folder or a download.

        Args:
            names: the name in the submission of each file that is asked for, by its path.
            outer: the archive's own name; empty if it is none.
        """
        start = f"{outer}/" if outer else ""
        in_order = sorted(names.items(), key=lambda item: self.reading_order(item[1]))
        if len(in_order) > MAX_ENTRIES:
            self.note(outer or "./", f"more than {MAX_ENTRIES:,} files inside: the rest was left out")
        archives: dict[str, ReadFile] = {}
        clutter: dict[str, ReadFile] = {}
        for path, name in in_order[:MAX_ENTRIES]:
            read, time = archive.files[path]
            target = prefix + name
            if kinds.is_clutter(name):
                if kinds.is_hidden_code(name):
                    self.add_other(start + name, read)
                elif not name.rpartition("/")[2].startswith("._") and self.topics.named(name.rpartition("/")[2]):
                    clutter[start + name] = read
            elif name.count("/") > kinds.MAX_DEPTH:
                self.note(start + name, f"nested more than {kinds.MAX_DEPTH} folders deep: left out")
            elif kinds.is_code(name) and target in self.files:
                self.twice[start + name] = (target, outer)
                self.add(start + name, read, time)
            elif target in self.work:
                self.note(target, f"handed in twice; the file counts, not the one in {outer}", lost="")
            elif kinds.is_code(name) or self.topics.is_wanted(name):
                self.add(target, read, time)
            elif kinds.is_archive(name):
                archives[name] = read
            elif kinds.is_work(name):
                self.note(start + name, kinds.UNSUPPORTED_NOTE)
            elif f"{target}.py" not in self.files and self.is_module(name, read):
                self.add_without_ending(target, read, time)
            else:
                self.add_other(start + name, read)
        for name, read in archives.items():  # last, because files count more
            self.add_archive(start + name, read, prefix + name[: name.rfind("/") + 1] if outer else "", depth + 1)
        for path, read in clutter.items() if not (self.files or self.work or self.others) else ():
            self.add_other(path, read)  # compiled code, or the mark of a file that is still in a cloud

    def reading_order(self, path: str) -> tuple[bool, bool, str]:
        """A sorting key: topic files come first, so that no bound on the number of files leaves them out."""
        file = path.rpartition("/")[2]
        is_first = kinds.is_code(file) and kinds.code_name(file).rpartition(".")[0] in self.topics.names
        return not (is_first or self.topics.is_wanted(file)), path.partition("/")[0] != kinds.STUBS, path


def _small(content: bytes) -> Content:
    """A notebook without its outputs, or why it is not read."""
    try:
        found = without_outputs(content)
    except ValueError as problem:
        return f"larger than {kinds.NOTEBOOK_BYTES >> 20} MiB, with {problem}: not read; clear its outputs"
    if len(found) > kinds.NOTEBOOK_BYTES:
        return f"larger than {kinds.NOTEBOOK_BYTES >> 20} MiB without its outputs: not read"
    return found
