"""The README as a package index shows it, which has neither the pages nor the pictures that it links to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_COMMENT = re.compile(r"^<!--.*?-->\n", re.MULTILINE)
_PICTURE = re.compile(r"!\[(?P<text>[^\]]*)\]\((?![a-z]+:)[^)]*\)")
_LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?![a-z]+:)(?P<path>[^)#]*)[^)]*\)")


def for_an_index(readme: str) -> str:
    """The text with each relative link as the name of the page, and each picture as what it shows."""
    text = _PICTURE.sub(r"*(A picture: \g<text>.)*", _COMMENT.sub("", readme))
    return _LINK.sub(r"\g<text> (`\g<path>`)", text)


class CustomMetadataHook(MetadataHookInterface):
    """Sets the description of the package."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling with the metadata of pyproject.toml."""
        text = for_an_index((Path(self.root) / "README.md").read_text(encoding="utf-8"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
