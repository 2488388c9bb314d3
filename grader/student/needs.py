"""Which statements that took long need not be run again in later processes of a topic: no exercise needs them.

A training run below the answers is such a statement; a table that an answer reads is not. Reads the bytecode of the
statements, and takes too much for needed rather than too little. Runs in student processes only, but for `codes_in`.
"""

import ast
import dis
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Final, NamedTuple

from grader.border.messages import StatementPlace

_READING: Final = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS", "IMPORT_FROM")
_READING_ATTRIBUTES: Final = ("LOAD_ATTR", "LOAD_METHOD")
_READING_ALL: Final = frozenset({"globals", "locals", "vars", "eval", "exec"})
"""Code with one of these names may read any name."""
_FIXED: Final = (int, float, complex, str, bytes, type(None), FunctionType, BuiltinFunctionType, ModuleType)
_FIXED_OF_TORCH: Final = ("dtype", "device", "Size")


class Statement(NamedTuple):
    """A statement at the top level, with the compiler's flags."""

    node: ast.stmt
    flags: int


class _Names(NamedTuple):
    """The names of the top level that the code of a statement uses, with its functions.

    Attributes:
        gives: names that it gives a value.
        sets: those of them that its functions give a value, when they are called.
        reads: names that it reads.
        touches: names that it reads an attribute of at once; of a class, it may change that.
    """

    gives: frozenset[str] = frozenset()
    sets: frozenset[str] = frozenset()
    reads: frozenset[str] = frozenset()
    touches: frozenset[str] = frozenset()


def not_needed(
    files: Mapping[str, tuple[Mapping[str, object], Sequence[Statement]]],
    long: Iterable[StatementPlace],
    roots: Mapping[str, Iterable[str]],
) -> list[StatementPlace]:
    """Those of some statements that give no value to a name which is needed, and change none.

    A name of one file and the same name of another are taken for one.

    Args:
        files: the namespace and the statements of each file.
        roots: the names that are asked for, by file.
    """
    used = {
        (file, number): _names_of(statement, with_attributes=len(files) > 1)
        for file, (_, statements) in files.items()
        for number, statement in enumerate(statements)
    }
    values = [namespace for namespace, _ in files.values()]
    needed = _reached((name for names in roots.values() for name in names), used.values())
    kept = ast.Import | ast.ImportFrom | ast.ClassDef
    waiting = dict.fromkeys((file, at) for file, at in long if not isinstance(files[file][1][at].node, kept))
    while True:
        if needed & _READING_ALL:
            return []
        found = [place for place in waiting if _changed(used[place], used.values(), values) & needed]
        if not found:
            return list(waiting)
        for place in found:
            del waiting[place]
            needed |= _reached(used[place].reads, used.values())


def _changed(names: _Names, statements: Collection[_Names], values: Sequence[Mapping[str, object]]) -> frozenset[str]:
    """The names whose values a statement gives or may change, also by the functions that it calls."""
    reached = _reached(names.reads, statements)
    called = [names, *(one for one in statements if one.gives & reached)]
    touched = {name for one in called for name in one.touches}
    is_class = {name for name in touched if any(issubclass(type(one.get(name)), type) for one in values)}
    changeable = {name for name in reached if any(_may_change(one[name]) for one in values if name in one)}
    return names.gives.union(is_class, changeable, *(one.sets for one in called))


def _may_change(value: object) -> bool:
    kind = type(value)
    return not (issubclass(kind, (*_FIXED, type)) or kind.__name__ in _FIXED_OF_TORCH)


def _reached(names: Iterable[str], statements: Collection[_Names]) -> frozenset[str]:
    """These names, and all that the statements read which give them a value, and so on."""
    reads: dict[str, set[str]] = {}
    for one in statements:
        for name in one.gives:
            reads.setdefault(name, set()).update(one.reads)
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        if (name := waiting.pop()) not in found:
            found.add(name)
            waiting += reads.get(name, ())
    return frozenset(found)


def _names_of(statement: Statement, *, with_attributes: bool) -> _Names:
    try:
        code = compile(ast.Module([statement.node], []), "", "exec", statement.flags, dont_inherit=True)
    except SyntaxError:
        return _Names()
    reading = (*_READING, *_READING_ATTRIBUTES) if with_attributes else _READING
    gives: set[str] = set()
    sets: set[str] = set()
    reads: set[str] = set()
    touches: set[str] = set()
    for one in codes_in(code):
        name = ""  # that the instruction before has read
        for step in dis.get_instructions(one):
            if step.opname in _READING_ATTRIBUTES and name:
                touches.add(name)
            name = str(step.argval) if step.opname in _READING else ""
            if step.opname in reading:
                reads.add(str(step.argval))
            elif step.opname == "STORE_NAME" and one is code:
                gives.add(str(step.argval))
            elif step.opname == "STORE_GLOBAL":
                sets.add(str(step.argval))
    return _Names(frozenset(gives | sets), frozenset(sets), frozenset(reads), frozenset(touches))


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """A code object and all inside it."""
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from codes_in(one)
