"""All that the grader uses of Hypothesis beyond its documented interface, and nothing else.

Seen on 6.170.15; a test names everything that vanishes from a later one. Documented are ``hypothesis.seed`` and the
reassignable ``test.hypothesis.inner_test``. Not documented are how to give a test other settings once it is decorated,
and how to keep constants of loaded modules out of its examples.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Final

import hypothesis
from hypothesis import settings
from hypothesis.internal.conjecture import providers

try:
    from hypothesis.internal.cache import LRUCache
except ImportError:
    LRUCache = None  # type: ignore[assignment,misc]

SEEN_ON: Final = "6.170.15"
_SETTINGS: Final = "_hypothesis_internal_use_settings"
_CONSTANTS: Final = ("Constants", "CONSTANTS_CACHE", "_get_local_constants")
"""Names in ``providers``: the store of a module's constants, the cache of those allowed, and their source."""


class HypothesisChanged(RuntimeError):
    """The installed Hypothesis does not keep its settings in the expected place, so no examples can be made.

    Remedy: install the version that the grader was seen on.
    """


def missing_names() -> list[str]:
    """The names used here that the installed Hypothesis lacks; empty on the versions that it was seen on."""
    missing = [] if hasattr(_probe, _SETTINGS) else [f"test.{_SETTINGS}"]
    missing += [f"providers.{name}" for name in _CONSTANTS if not hasattr(providers, name)]
    return missing if LRUCache is not None else [*missing, "internal.cache.LRUCache"]


def settings_of(test: Callable[..., Any]) -> settings:
    """The settings of a test that is decorated already.

    Raises:
        HypothesisChanged: if its settings are in another place.
    """
    own: settings | None = getattr(test, _SETTINGS, None)
    if own is None:
        raise HypothesisChanged(
            f"Hypothesis {hypothesis.__version__} keeps no {_SETTINGS}; the grader was seen on {SEEN_ON}"
        )
    return own


@contextlib.contextmanager
def changed_settings(test: Callable[..., Any], **changes: Any) -> Iterator[None]:
    """Gives a test that is decorated already its own settings with changes, while the context lasts.

    Raises:
        HypothesisChanged: if its settings are in another place.
    """
    own = settings_of(test)
    setattr(test, _SETTINGS, settings(own, **changes))
    try:
        yield
    finally:
        setattr(test, _SETTINGS, own)


@contextlib.contextmanager
def no_constants_of_modules() -> Iterator[None]:
    """Keeps Hypothesis from mixing in constants that it finds in the modules that happen to be loaded.

    With them, examples would depend on which topics are graded, and on the folder of the grader. Does nothing
    if the names are missing: versions from before the feature need nothing.
    """
    if _no_constants is None or not all(hasattr(providers, name) for name in _CONSTANTS):
        yield
        return
    replaced = {"_get_local_constants": _no_constants, "CONSTANTS_CACHE": _cache}
    own = {name: getattr(providers, name) for name in replaced}
    try:
        vars(providers).update(replaced)
        yield
    finally:
        vars(providers).update(own)


@hypothesis.given(number=hypothesis.strategies.none())
def _probe(number: None) -> None:
    """Never run: shows the attributes of a decorated test."""


_no_constants: Final[Any] = getattr(providers, "Constants", None)
_cache: Final[Any] = LRUCache(1024) if LRUCache is not None else {}
