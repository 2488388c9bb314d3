"""The templates of the pages. Every value is escaped, and a missing one is an error."""

import jinja2


def environment_of(*packages: str) -> tuple[jinja2.Environment, jinja2.BaseLoader]:
    """An environment for the templates of these packages, the first one's first, and the loader of their files."""
    loader = jinja2.ChoiceLoader([jinja2.PackageLoader(package) for package in packages])
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment, loader
