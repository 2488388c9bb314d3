"""The modules of the test kit whose functions a check may run in the student process.

The warm host imports them before its first fork: inside the sandbox the grader's own folder cannot be read.
"""

from collections.abc import Mapping
from types import ModuleType
from typing import Final

from grader.testkit import decorators as decorators  # a course's wrong answers use one, which run there too
from grader.testkit import devices, probes, ranks, recipes, twins, watching, written_examples
from grader.testkit._ranks import launch, rank

_MODULES: Final = (devices, probes, ranks, recipes, twins, watching, written_examples, launch, rank)
MODULES: Final[Mapping[str, ModuleType]] = {module.__name__: module for module in _MODULES}
