"""The work that a person marks, if it is not in the file that the course names: in another format, or by another name.

Goes by names alone: a person looks at what is there, and nothing of it is opened or run.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePosixPath
from typing import Final

TYPED: Final = "text entry"
"""The name of what was typed into a form, if the platform gives it none."""
MOST_FILES: Final = 20
"""Files that are kept for a person."""
TEXT_OF_NOTEBOOK: Final = ".ipynb.md"
"""The end of the name of a notebook's text, with its code, as a person reads it."""
_DOCUMENTS: Final = (
    *(".docx", ".docm", ".doc", ".odt", ".rtf", ".pdf", ".pages", ".wps", ".hwp", ".hwpx", ".epub", ".gdoc"),
    *(".md", ".markdown", ".rst", ".txt", ".text", ".tex", ".html", ".htm", ".mhtml", ".rmd", ".qmd", ".org"),
    *(".odp", ".pptx", ".ppt", ".key", ".url", ".webloc"),
    *(".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".heic", ".heif", ".bmp", ".tif", ".tiff", ".eps"),
)
_LESSONS: Final = "lessons"
"""The folder in which lessons are handed out."""
_NO_WORK: Final = re.compile(r"(?:readme|licen[cs]e|requirements|changelog|lies_?mich)\b", re.IGNORECASE)


def may_be_by_hand(path: str, wanted: Collection[str]) -> bool:
    """Whether a file, which is no code, may be the work that a person marks in one of the files that are wanted."""
    *folders, name = path.split("/")
    if _LESSONS in folders:
        return False
    is_document = name.lower().endswith(_DOCUMENTS) or name == TYPED
    return is_named_as(path, wanted) or (is_document and not _NO_WORK.match(name))


def is_named_as(path: str, wanted: Collection[str]) -> bool:
    """Whether a file has the name of one that is wanted in its own: ``Report final.docx`` for ``report.md``."""
    name = _plain(path.rpartition("/")[2])
    return any(_stem(file) in name for file in wanted if _stem(file) and not file.endswith(".py"))


def in_place_of(wanted: Collection[str], others: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The files that may be the work instead of each file that is wanted and is not there.

    Those with its name in theirs, the longest of several names; if there is none, all documents and pictures that are
    nobody's. The code of a topic is only in its own file, or in the text of the notebook that this was made of.
    """
    candidates = sorted(path for path in others if may_be_by_hand(path, wanted))
    texts = [file for file in wanted if not file.endswith(".py")]
    own: dict[str, list[str]] = {file: [] for file in wanted}
    free = []
    for path in candidates:
        name = _plain(path.rpartition("/")[2])
        named = [file for file in texts if _stem(file) and _stem(file) in name]
        longest = max((len(_stem(file)) for file in named), default=0)
        for file in named:
            if len(_stem(file)) == longest:
                own[file].append(path)
        if not named:
            free.append(path)
    found = {file: tuple(own[file] or free) for file in texts}
    found |= {file: (text,) for file in wanted if (text := text_of_module(file)) in candidates}
    return {file: paths for file, paths in found.items() if paths}


def text_of_module(file: str) -> str:
    """The name of the text of the notebook that a module was made of; empty if the file is no module."""
    return f"{file.removesuffix('.py')}{TEXT_OF_NOTEBOOK}" if file.endswith(".py") else ""


def works_of(
    files: Mapping[str, bytes], wanted: Collection[str], templates: Mapping[str, bytes]
) -> dict[str, tuple[str, ...]]:
    """The files of a submission that a person looks at instead of those that are wanted: see `in_place_of`.

    Args:
        templates: the files as they were handed out: a copy of one is not begun.
    """
    missing = {file for file in wanted if file not in files or files[file] == templates.get(file)}
    missing |= {file for file in wanted if text_of_module(file) in files}
    return in_place_of(missing, [path for path in files if not path.endswith(".py") and path not in wanted])


def _stem(file: str) -> str:
    return _plain(PurePosixPath(file).stem)


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())
