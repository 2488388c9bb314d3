"""Where the pages get their templates from. Everything that is filled in is escaped, and nothing may be missing."""

from __future__ import annotations

import jinja2


def environment_of(*packages: str) -> tuple[jinja2.Environment, jinja2.BaseLoader]:
    """An environment for the templates of these packages, the first one's first, and what reads their files."""
    loader = jinja2.ChoiceLoader([jinja2.PackageLoader(package) for package in packages])
    environment = jinja2.Environment(
        loader=loader,
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment, loader
