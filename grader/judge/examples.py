"""Generated examples of one check: drawn once, replayed as a plain loop, shrunk only when one fails.

Hypothesis takes most of the time of a property check. Its examples are deterministic, so the judge draws them once per
seed and replays the same ones for every submission. Must never time anything: all limits are counts.

No other file uses undocumented parts of Hypothesis, seen on 6.170.15: how to give a test other settings, or a key for
its database, once it is decorated, how to keep constants of loaded modules out of its examples, and how it seeds
Python's and NumPy's generators. Documented are
``hypothesis.seed`` and the reassignable ``test.hypothesis.inner_test``.
"""

import contextlib
import inspect
import zlib
from collections.abc import Callable
from typing import Any, Final

import hypothesis
import hypothesis.core
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.errors import HypothesisException, StopTest
from hypothesis.internal.conjecture import providers
from hypothesis.internal.entropy import deterministic_PRNG
from hypothesis.strategies import DataObject

from grader.testkit.strategies import varied_by

SEEN_ON: Final = "6.170.15"
SETTINGS: Final = "_hypothesis_internal_use_settings"
"""The attribute of a decorated test that holds its settings."""
_DATABASE_KEY: Final = "_hypothesis_internal_database_key"
_CONSTANTS: Final = ("Constants", "CONSTANTS_CACHE", "_get_local_constants")
"""Names in ``providers``: the store of a module's constants, the cache of those allowed, and their source."""
MOST_SHRINKS: Final = 150
"""Executions while a failure is made smaller."""

RunExample = Callable[[dict[str, Any]], bool]
"""Runs one example; True when it failed, as the failure that is being shrunk if there is one."""


class HypothesisChanged(RuntimeError):
    """The installed Hypothesis does not keep its settings in the expected place, so no examples can be made.

    Remedy: install the version that the grader was seen on.
    """


@hypothesis.given(number=hypothesis.strategies.none())
def _probe(number: None) -> None:
    """Never run: shows the attributes of a decorated test."""


def missing_names() -> list[str]:
    """The names used here that the installed Hypothesis lacks; empty on the versions that it was seen on."""
    missing = [] if hasattr(_probe, SETTINGS) else [f"test.{SETTINGS}"]
    return missing + [f"providers.{name}" for name in _CONSTANTS if not hasattr(providers, name)]


def settings_of(test: Callable[..., Any]) -> settings:
    """The settings of a test that is decorated already.

    Raises:
        HypothesisChanged: if its settings are in another place.
    """
    own: settings | None = getattr(test, SETTINGS, None)
    if own is None:
        raise HypothesisChanged(
            f"Hypothesis {hypothesis.__version__} keeps no {SETTINGS}; the grader was seen on {SEEN_ON}"
        )
    return own


def is_property(test: Callable[..., Any]) -> bool:
    """Whether a check has generated examples."""
    return hasattr(test, "hypothesis")


def may_be_shrunk(test: Callable[..., Any]) -> bool:
    """Whether a smaller example is looked for: not if the check's ``settings(phases=...)`` leave shrinking out."""
    return is_property(test) and Phase.shrink in settings_of(test).phases


def draw(test: Any, seed: int, name: str, at_most: int | None = None) -> list[dict[str, Any]] | None:
    """The check's examples, the same for the same seed and name; None if it draws while it runs (``st.data()``).

    Args:
        at_most: how many are generated beside those that the check spells out; None: as its settings say.
    """
    examples: list[dict[str, Any]] = []
    phases = [Phase.explicit, Phase.generate]
    _run(test, seed, name, examples.append, phases=phases, **({"max_examples": at_most} if at_most else {}))
    return None if any(draws_more(value) for example in examples for value in example.values()) else examples


def draws_more(value: object) -> bool:
    """Whether a drawn value is the one that draws others while the check runs (``st.data()``)."""
    return isinstance(value, DataObject)


def search(test: Any, seed: int, name: str, attempt: RunExample, *, shrinks: bool) -> None:
    """Runs examples until an attempt fails; with `shrinks`, goes on with smaller ones.

    ``attempt`` remembers the last one that failed. Hypothesis may run it once more, to test whether it draws the same.

    Raises:
        BaseException: the first exception of an attempt, after which no other one is run.
    """
    count = 0
    stop: BaseException | None = None

    def guarded(example: dict[str, Any]) -> None:
        nonlocal count, stop
        count += 1
        if stop is not None or (shrinks and count > MOST_SHRINKS):
            return
        try:
            has_failed = attempt(example)
        except StopTest:
            raise
        except BaseException as error:  # Hypothesis would take it for a failure, and go on
            stop = error
            return
        if has_failed:
            raise AssertionError("still failing")

    phases = [Phase.explicit, Phase.generate, *([Phase.shrink] if shrinks else [])]
    with contextlib.suppress(AssertionError, HypothesisException):
        _run(test, seed, name, guarded, phases=phases)
    if stop is not None:
        raise stop


def _run(test: Any, seed: int, name: str, inner: Callable[[dict[str, Any]], None], **changes: Any) -> None:
    """Runs Hypothesis over the check's strategies with another body and changed settings.

    Constants that it finds in the modules that happen to be loaded are kept out: with them, examples would depend on
    which topics are graded, and on the folder of the grader. Versions from before this feature need nothing.
    """
    not_drawn = list(inspect.signature(test).parameters)  # the submission, pytest's parameters and fixtures

    def replacement(**values: Any) -> None:
        inner({name: value for name, value in values.items() if name not in not_drawn})

    own = settings(
        settings_of(test),
        database=None,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        verbosity=hypothesis.Verbosity.quiet,
        **changes,
    )
    with pytest.MonkeyPatch.context() as patch, varied_by(seed), deterministic_PRNG():
        patch.setattr(test, SETTINGS, own)
        patch.setattr(test, _DATABASE_KEY, b"", raising=False)  # else it is made of the source of `replacement`
        patch.setattr(test.hypothesis, "inner_test", replacement)
        # Seeded once above; again for each example would be a quarter of the time.
        patch.setattr(hypothesis.core, "deterministic_PRNG", contextlib.nullcontext, raising=False)
        if not missing_names():
            patch.setattr(providers, "_get_local_constants", vars(providers)["Constants"])
            patch.setattr(providers, "CONSTANTS_CACHE", _cache)
        # The seed stays on the test. That is harmless: only this function runs the test, and always sets the seed.
        hypothesis.seed(zlib.crc32(f"{seed}/{name}".encode()))(test)
        test(**dict.fromkeys(not_drawn))


_cache: Final[Any] = None if missing_names() else type(providers.CONSTANTS_CACHE)(1024)
