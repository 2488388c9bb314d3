"""Gives a student a folder to start in: the course's stubs and a README with the next command.

Never overwrites a student's work: with `force` the old file is kept as ``NAME.bak``.
"""

from __future__ import annotations

from pathlib import Path

from grader.course.model import Course
from grader.errors import UserError
from grader.files import write_atomically


def init(course: Course, folder: Path, force: bool = False) -> list[Path]:
    """Copy the stubs to `folder`, which is made if need be.

    Args:
        course: where the stubs come from.
        folder: the student's folder; its other files are left alone, a README.md too.
        force: replace files that differ, keeping each as ``NAME.bak``.

    Returns:
        The files written; none if all were there already.

    Raises:
        UserError: if files there differ from the stubs (without `force`); then nothing is written.
    """
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file, not a folder", fix="name a folder that is new or empty")
    wanted = {f"{topic.name}.py": course.stub_file(topic.name).read_bytes() for topic in course.topics}
    if not (folder / "README.md").exists():
        wanted["README.md"] = _readme(course).encode()
    changed = [name for name, data in wanted.items() if _differs(folder / name, data)]
    if changed and not force:
        raise UserError(
            f"{folder} already has other versions of: {', '.join(changed)}",
            fix="choose another folder, or add --force: your files are kept as NAME.bak",
        )
    for name in changed:
        (folder / name).rename(_free_backup(folder / name))
    folder.mkdir(parents=True, exist_ok=True)
    missing = [name for name in wanted if not (folder / name).exists()]
    for name in missing:
        write_atomically(folder / name, [wanted[name]])
    return [folder / name for name in missing]


def _differs(file: Path, data: bytes) -> bool:
    return file.exists() and not (file.is_file() and file.read_bytes() == data)


def _free_backup(file: Path) -> Path:
    backup, number = file.with_name(f"{file.name}.bak"), 1
    while backup.exists():
        number += 1
        backup = file.with_name(f"{file.name}.bak{number}")
    return backup


def _readme(course: Course) -> str:
    first = course.topics[0]
    topics = "\n".join(f"- `{topic.name}.py` · {topic.title}" for topic in course.topics)
    return f"""# {course.title}

Each file is one topic. Every function says in its docstring what it must do; replace its `raise` line by your code.

{topics}

Start with `{first.name}.py`: write `{first.exercises[0].name}`, then see how you did:

    grader check {first.name}.{first.exercises[0].name}
"""
