"""Reads the imports and attributes in a submission's source, for names that no exercise needs.

They lead into the grader, into callers or into torch. It is evidence for a person, and changes no verdict. Runs nothing
that it reads. Code that makes up a name while it runs hides it from here: `student/audit.py` sees the event.
"""

import ast
import contextlib
import functools
import re
import sys
import threading
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from grader.border.failures import one_line
from grader.intake.topics import parse
from grader.judge.public_names import members
from grader.results import Flag
from grader.student.audit import MEMORY_FILES

MOST_FLAGS: Final = 20
"""Flags of one submission that are kept."""
MOST_BYTES: Final = 256 << 10
"""The longest file that is read; a syntax tree takes some hundred times as much memory."""
_STACK_BYTES: Final = 64 << 20
_MOST_PARTS: Final = 8
"""Parts of a dotted name that are looked at."""

_HIDDEN_ATTRIBUTE: Final = re.compile(
    r"f_(back|locals|globals|builtins)|tb_frame|(gi|cr|ag)_(frame|code)|co_(code|consts)|cell_contents"
    r"|__(globals|subclasses|closure|builtins|torch_function|torch_dispatch)__"
    r"|_?Disable(TorchDispatch|TorchFunction\w*)|_disabled_torch_function_impl"
    r"|no_dispatch|_disable_current_modes|_pop_mode\w*"
)
"""Attributes that lead from an object to its surroundings, or get between torch and its callers."""
_UNNEEDED_MODULES: Final = frozenset(
    ("grader", "ctypes", "_ctypes", "cffi", "_thread", "posix", "_socket", "checks", "solutions")
)
_UNNEEDED_NAME: Final = re.compile(
    r"sys\.(modules|_getframe|_current_(frames|exceptions)|settrace|setprofile|addaudithook|meta_path|path_hooks"
    r"|setswitchinterval)"
    r"|logging\.currentframe"
    r"|threading\.(settrace|setprofile|_\w+)|traceback\.(walk|extract)_stack"
    r"|inspect\.(stack|currentframe|trace|get(outer|inner)frames)"
    r"|gc\.(get_objects|get_referrers|get_referents|callbacks)"
    r"|os\.(closerange|dup2?|kill|killpg|fork|forkpty)|signal\.pthread_kill|types\.CodeType"
    r"|builtins\.(exec|eval|compile|__import__)|(torch|builtins|os|socket|time)(\.\w+)*\.__dict__"
    r"|torch\.(overrides\.TorchFunctionMode|utils\._python_dispatch|utils\.cpp_extension|library)"
    r"|torch\.(\w+\.)*_C|torch\.jit\.(script|trace|fork|load|CompilationUnit|ScriptFunction|_)\w*"
)
_GUARDED: Final = frozenset(
    ("torch", "builtins", "time", "os", "socket", "msgspec", "struct", "traceback", "linecache", "dis", "faulthandler")
)
"""Modules whose functions nobody needs to replace."""
_OFTEN_REPLACED: Final = re.compile(
    r".*\.(__(repr|str|format|rich_repr|dir|doc)__|_repr_\w+_|extra_repr)"
    r"|builtins\.(print|input|help)|torch\.(load|save|compile|cuda\.is_available)"
    r"|torch\.(backends\b|.*\bconfig\b).*"
)
"""Names that honest code replaces: the display of objects, settings, and functions for the machine that it runs on."""
_SPELT: Final = frozenset(("sys", "os", "builtins", "inspect", "gc"))
"""Modules of which nobody needs an attribute by a name that is made up."""
_PLACES: Final = re.compile(rf"^grader(\.\w+)+$|{MEMORY_FILES}|/proc/$|/dev/shm/.")
_COOKIE_BYTES: Final = 400
"""The name of a file's encoding, if it has one in its first two lines."""


def scan(modules: Mapping[str, bytes], kit: str = "", others: Collection[str] = ()) -> tuple[Flag, ...]:
    """The lines that an instructor should look at, in the files' order; at most `MOST_FLAGS`.

    Args:
        modules: the submission's Python files by path.
        kit: the name of the course's kit; empty when it has none.
        others: topics that are not graded: their files are read only if another names them.
    """
    own = {part.removesuffix(".py") for path in modules for part in path.split("/")}
    unneeded = (_UNNEEDED_MODULES | ({kit} if kit else set())) - own
    found = dict.fromkeys(
        Flag("source", one_line(text, 120), one_line(path, 80), line)
        for path in _reached(modules, others)
        for line, text in _noticed_in(modules[path], unneeded)
    )
    return tuple(found)[:MOST_FLAGS]


def _reached(modules: Mapping[str, bytes], others: Collection[str]) -> list[str]:
    """The files but those of other topics that none which is read names.

    In another encoding than UTF-8, names may be spelt in any way.
    """
    reached = [path for path in modules if path.removesuffix(".py") not in others]
    for content in (modules[path] for path in reached):  # which grows
        is_spelt = b"coding" in content[:_COOKIE_BYTES]
        unread = [path for path in modules if path not in reached]
        reached += [path for path in unread if is_spelt or path.removesuffix(".py").encode() in content]
    return [path for path in modules if path in reached]


@functools.lru_cache(maxsize=256)
def _noticed_in(content: bytes, unneeded: frozenset[str]) -> tuple[tuple[int, str], ...]:
    """Line and description of each thing in a file; kept, because a class shares its stubs, a student most files."""
    if len(content) > MOST_BYTES:
        return ((0, "is too long to be read for what no exercise needs"),)
    tree = parsed(content)
    nodes = list(ast.walk(tree)) if tree else []
    names: dict[str, str] = {}
    harmless: set[int] = set()
    for node in nodes:
        match node:
            case ast.Import(names=imports):
                names |= {one.asname or _root(one.name): one.name if one.asname else _root(one.name) for one in imports}
            case ast.ImportFrom(module=str(module), level=0, names=imports):
                names |= {one.asname or one.name: f"{module}.{one.name}" for one in imports}
            case (  # a docstring, or code that only asks if something is there, such as a notebook's kernel
                ast.Expr(ast.Constant() as part)
                | ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[part])
                | ast.Subscript(part, ast.Name("__name__"))
                | ast.Call(ast.Name("hasattr" | "dir"), [part, *_])
            ):
                harmless.add(id(part))
    left = (node for node in nodes if id(node) not in harmless)
    found = sorted((getattr(node, "lineno", 0), text) for node in left for text in _noticed(node, names, unneeded))
    return tuple(found[:MOST_FLAGS])


def _noticed(node: ast.AST, names: Mapping[str, str], unneeded: Collection[str]) -> Iterator[str]:
    """The descriptions of what a node is or does.

    Args:
        names: what the names of imports stand for.
        unneeded: modules that no submission needs to import.
    """
    match node:
        case ast.Import(names=imports):
            modules = (one.name for one in imports)
            yield from (f"imports {one}" for one in modules if _root(one) in unneeded or _is_unneeded(one))
        case ast.ImportFrom(module=str(module), level=0, names=imports):
            if _root(module) in unneeded or _is_unneeded(module):
                yield f"imports {module}"
            for name in (one.name for one in imports):
                if _is_unneeded(f"{module}.{name}") or _HIDDEN_ATTRIBUTE.fullmatch(name):
                    yield f"uses {module}.{name}"
        case ast.Attribute(value, name, context):
            if _HIDDEN_ATTRIBUTE.fullmatch(name):
                yield f"uses {name}"
            yield from _of_module(_dotted(value, names), name, not isinstance(context, ast.Load))
        case ast.Call(ast.Name("getattr" | "setattr" | "delattr" as function), [value, attribute, *_]):
            owner, changes = _dotted(value, names), function != "getattr"
            if isinstance(attribute, ast.Constant):
                yield from _of_module(owner, str(attribute.value), changes)
            elif _root(owner) in _SPELT:
                yield f"{function} of {owner} by a name that is made up"
        case ast.Call(function, [module, *_]) if _dotted(function, names) == "importlib.import_module":
            match module:
                case ast.Constant(str(name)) if _root(name) in unneeded:
                    yield f"imports {name}"
                case ast.BinOp() | ast.Call() | ast.JoinedStr() | ast.Subscript():
                    yield "imports a module whose name is made up"
        case ast.Call(ast.Name("vars"), [value]):
            yield from _of_module(_dotted(value, names), "__dict__", False)
        case ast.Name("__builtins__" | "__import__" | "exec" | "eval" | "compile" as name, ast.Load()):
            yield f"uses {name}"
        case ast.FunctionDef(name=name) if _HIDDEN_ATTRIBUTE.fullmatch(name):
            yield f"defines {name}"
        case ast.Constant(str(text)):
            if _PLACES.search(text) or any(map(_HIDDEN_ATTRIBUTE.fullmatch, text.split("."))):
                yield f"names {text[:60]!r}"


def _of_module(owner: str, name: str, changes: bool) -> Iterator[str]:
    """The description of a use of an attribute; `owner` is empty if that is not known."""
    if _is_unneeded(f"{owner}.{name}"):
        yield f"uses {owner}.{name}"
    if changes and name == "__code__":
        yield "replaces __code__"
    elif changes and _root(owner) in _GUARDED and _is_replaced(owner, name):
        yield f"replaces {owner}.{name}"


def _dotted(node: ast.expr, names: Mapping[str, str]) -> str:
    """The full name that a dotted name stands for, e.g. ``torch.nn.Linear``; empty if that is not known."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < _MOST_PARTS:
        parts.append(node.attr)
        node = node.value
    known = names.get(node.id) if isinstance(node, ast.Name) else None
    return ".".join([known, *reversed(parts)]) if known else ""


def parsed(content: bytes | str) -> ast.Module | None:
    """The syntax tree; None if it cannot be parsed."""
    found: list[ast.Module] = []

    def attempt() -> None:
        with contextlib.suppress(SyntaxError):
            found.append(parse(content))

    if sys.version_info >= (3, 11):
        attempt()
    else:  # there, an expression of 100,000 terms overflows an ordinary stack and ends the process
        before = threading.stack_size(_STACK_BYTES)
        thread = threading.Thread(target=attempt)
        thread.start()
        thread.join()
        threading.stack_size(before)
    return found[0] if found else None


def _is_unneeded(name: str) -> bool:
    """Whether no exercise needs it, also if it is reached by way of another module, as in ``random._os.fork``."""
    parts = name.split(".")[:_MOST_PARTS]
    names = (".".join([parts[at].lstrip("_"), *parts[at + 1 :]]) for at in range(max(len(parts) - 1, 1)))
    return any(map(_UNNEEDED_NAME.fullmatch, (name, *names)))


def _root(name: str) -> str:
    return name.partition(".")[0]


def _is_replaced(owner: str, name: str) -> bool:
    """Whether a new value for this name takes the place of a function; not if it is a new name, or often replaced."""
    if _OFTEN_REPLACED.fullmatch(f"{owner}.{name}"):
        return False
    known = members(owner) or members(owner.rpartition(".")[2])
    return name.startswith("_") or not known or name in known
