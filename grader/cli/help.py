"""The help of `grader`: its commands in groups, for a student, an instructor and a course's author, one line each."""

from __future__ import annotations

from typing import Any, Final

import typer.core

GROUPS: Final = {
    "Student": ("init", "check", "watch", "next", "list", "hint", "solution", "reset", "debug", "doctor"),
    "Instructor": (
        "grade",
        "status",
        "restore",
        "report",
        "export",
        "mark",
        "comment",
        "override",
        "extend",
        "diff",
        "similar",
        "package",
        "ci",
    ),
    "Course author": ("release", "verify"),
}


class GroupedHelp(typer.core.TyperGroup):
    """A group whose help shows its commands under the headings of `GROUPS`."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes a section for each group; the first sentence of each command's help, uncut."""
        known = [name for names in GROUPS.values() for name in names]
        others = tuple(name for name in self.list_commands(ctx) if name not in known)
        width = max(map(len, self.list_commands(ctx)))
        for heading, names in {**GROUPS, "Other": others}.items():
            if not names:
                continue
            formatter.write(f"\n{heading}:\n")
            for name in names:
                command = self.get_command(ctx, name)
                if command is not None:
                    formatter.write(f"  {name:<{width}}  {first_sentence(command.help or '')}\n")


def first_sentence(text: str) -> str:
    """The first line of a help text up to what follows a colon, a semicolon or a full stop."""
    line = text.strip().partition("\n")[0]
    for end in (". ", ": ", "; ", " ("):
        line = line.partition(end)[0]
    return line.rstrip(".")
