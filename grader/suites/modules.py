"""Proxy modules: while a suite is collected and run, its imports of the students' modules find these."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from grader.border.failures import MissingName, SubmissionRaised
from grader.suites.bridge import running
from grader.suites.deferred import Deferred, value_of

_NO_NAME: Final = re.compile(r"cannot import name '(\w+)' from ")


class _MissingAttribute(MissingName, AttributeError):
    """A name that is not there: also as `hasattr` knows it."""


class _Star(str):
    """A name that ``from MODULE import *`` asks for."""


class ProxyModule(ModuleType):
    """Stands for a module of the submission; every name in it is a `Deferred`, but for those of libraries that a star
    gives."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and not (running and name == "__version__"):
            raise AttributeError(name)
        if isinstance(name, _Star) and (library := self._public[name]):
            with contextlib.suppress(ImportError, AttributeError):
                return pkgutil.resolve_name(library)
        found = self._exceptions.get(name) or Deferred(self._far, (str(name),))
        if not running or not isinstance(found, Deferred):
            return found
        if name in running[-1].channel.variables:
            return value_of(found)
        try:
            return found._in_a_test()
        except MissingName as error:
            raise _MissingAttribute(error.message, error.file) from None

    def __setattr__(self, name: str, value: object) -> None:
        if name.startswith("__") or isinstance(value, ProxyModule) or name in ("_far", "_exceptions", "_public"):
            super().__setattr__(name, value)
        else:
            running[-1].run("setattr", Deferred(self._far, ()), name, value)

    def __dir__(self) -> list[str]:
        return list(running[-1].run("dir", Deferred(self._far, ()))) if running else [*super().__dir__()]

    def __repr__(self) -> str:
        return f"<module {self.__name__!r}>"

    def __delattr__(self, name: str) -> None:
        running[-1].run("delattr", Deferred(self._far, ()), name)


@dataclass(eq=False)
class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the proxy of a module that students write, and of everything below a package of theirs."""

    _modules: Sequence[str]
    _packages: Sequence[str]
    _public: Mapping[str, Mapping[str, str]]
    _exceptions: Mapping[str, type[SubmissionRaised]]
    _places: Sequence[Path]

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        if (far := self.far_name(name)) is None:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=far[1])

    def far_name(self, name: str) -> tuple[str, bool] | None:
        """The name of a module on the far side, and whether there may be modules below it; None if it is not theirs."""
        for root in (*self._modules, *self._packages):
            is_package = root in self._packages
            if name == root or (is_package and name.startswith(f"{root}.")):
                whole = root.rpartition(".")[2] + name[len(root) :]
                if name == root or self._has(whole):
                    return whole, is_package
        return None

    def _has(self, far: str) -> bool:
        """Whether a name below a package is a module's, and no class or function."""
        paths = [place.joinpath(*far.split(".")) for place in self._places]
        return any(path.is_dir() or path.with_suffix(".py").is_file() for path in paths)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        far = self.far_name(spec.name)
        assert far is not None
        module = ProxyModule(spec.name)
        module._far, module._exceptions = far[0], self._exceptions
        module._public = self._public.get(spec.name, {})
        if spec.name in self._public:
            vars(module)["__all__"] = [_Star(name) for name in module._public]
        return module

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""


def missing_in(error: Exception) -> MissingName | None:
    """The name that a module of the submission lacks, if an exception says that it cannot be imported from there."""
    found = _NO_NAME.match(str(error)) if type(error) is ImportError else None
    module = sys.modules.get(error.name or "") if isinstance(error, ImportError) else None
    return (
        MissingName(found[1], f"{module._far.replace('.', '/')}.py")
        if found and isinstance(module, ProxyModule)
        else None
    )


def file_of(path: str) -> str:
    """The file of a module of the submission: that of a package is in its folder."""
    folder = path.removesuffix(".py")
    places = [place for one in sys.meta_path if isinstance(one, _Finder) for place in one._places]
    return f"{folder}/__init__.py" if any((place / folder).is_dir() for place in places) else path


@contextlib.contextmanager
def standing_in(
    modules: Sequence[str],
    packages: Sequence[str],
    public: Mapping[str, Mapping[str, str]],
    exceptions: Mapping[str, type[SubmissionRaised]],
    places: Sequence[Path],
) -> Iterator[None]:
    """Imports of these names find proxies meanwhile.

    Args:
        modules, packages: names under which the suite imports the students' code.
        public: the names that ``from MODULE import *`` gives, and of those of libraries their whole names.
        exceptions: the classes that stand for exceptions of the submission, by name.
        places: the folders that show which modules a package has.
    """
    finder = _Finder(modules, packages, public, exceptions, places)
    with own_modules(finder.far_name):
        sys.meta_path.insert(0, finder)
        try:
            yield
        finally:
            sys.meta_path.remove(finder)


@contextlib.contextmanager
def own_modules(is_meant: Any) -> Iterator[None]:
    """Modules of these names are imported anew meanwhile; afterwards those from before are back."""
    before = {name: sys.modules.pop(name) for name in [*sys.modules] if is_meant(name)}
    try:
        yield
    finally:
        for name in [one for one in sys.modules if is_meant(one)]:
            del sys.modules[name]
        sys.modules.update(before)


@contextlib.contextmanager
def stood_down() -> Iterator[None]:
    """Imports find the real modules meanwhile: for the solution, where it is imported in this process."""
    finders = [one for one in sys.meta_path if isinstance(one, _Finder)]
    for one in finders:
        sys.meta_path.remove(one)
    try:
        yield
    finally:
        sys.meta_path[:0] = finders
