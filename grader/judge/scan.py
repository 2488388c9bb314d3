"""Reads the source of a submission for names that no exercise needs: ways into the grader, into callers, into torch.

It is evidence for a person, and changes no verdict. Runs nothing that it reads.
"""

import ast
import contextlib
import functools
import re
import sys
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
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
_RUNS_TEXT: Final = frozenset(("exec", "eval", "compile"))
_BY_NAME: Final = frozenset(("getattr", "setattr", "delattr", "hasattr"))
_CALLED: Final = frozenset(("__import__", "vars", *_RUNS_TEXT, *_BY_NAME))
"""Functions of Python by whose names a call is recognised."""
_IMPORTS: Final = frozenset(("__import__", "importlib.import_module"))
_BY_DOTTED_NAME: Final = frozenset(("operator.attrgetter", "operator.methodcaller"))
_CLASSES: Final = frozenset(("torch.Tensor", "torch.nn.Module"))
_MOST_TERMS: Final = 40
"""Terms that a text is put together from."""
_COOKIE_BYTES: Final = 400
"""The name of a file's encoding, if it has one in its first two lines."""


def scan(files: Mapping[str, bytes], kit: str = "", others: Collection[str] = ()) -> tuple[Flag, ...]:
    """The lines that an instructor should look at, in the files' order; at most `MOST_FLAGS`.

    Args:
        files: the submission's files by path.
        kit: the name of the course's kit; empty when it has none.
        others: topics that are not graded: their files are read only if another names them.
    """
    own = {part.removesuffix(".py") for path in files for part in path.split("/")}
    unneeded = (_UNNEEDED_MODULES | ({kit} if kit else set())) - own
    found: dict[Flag, None] = {}
    for path in _reached(files, others):
        for line, what in _noticed_in(files[path], unneeded):
            found.setdefault(Flag("source", one_line(what, 120), one_line(path, 80), line))
    return tuple(found)[:MOST_FLAGS]


def _reached(files: Mapping[str, bytes], others: Collection[str]) -> list[str]:
    """The modules but those of other topics that no module which is read names; a made-up name is noticed itself.

    In another encoding than UTF-8, names may be spelt in any way.
    """
    modules = [path for path in files if path.endswith(".py")]
    unread = {path for path in modules if path.removesuffix(".py") in others}
    queue = [path for path in modules if path not in unread]
    for path in queue:
        content = files[path]
        is_spelt = b"coding" in content[:_COOKIE_BYTES]
        named = {one for one in unread if is_spelt or one.removesuffix(".py").encode() in content}
        unread -= named
        queue += sorted(named)
    return [path for path in modules if path not in unread]


@functools.lru_cache(maxsize=256)
def _noticed_in(content: bytes, unneeded: frozenset[str]) -> tuple[tuple[int, str], ...]:
    """Everything that `_SourceFile` notices; kept, because a class shares its stubs, a student most of their files."""
    return tuple(_SourceFile(unneeded).look(content)[:MOST_FLAGS])


class _SourceFile:
    """One file, with the meaning of its names as far as its imports say.

    Args:
        unneeded: modules that no submission needs to import.
    """

    def __init__(self, unneeded: Collection[str]) -> None:
        self._unneeded = unneeded
        self._names: dict[str, str] = {}
        self._classes: set[str] = set()

    def look(self, content: bytes | str) -> list[tuple[int, str]]:
        """Line and description of each thing that is noticed, in order; nothing if the file cannot be parsed."""
        if len(content) > MOST_BYTES:
            return [(0, "is too long to be read for what no exercise needs")]
        tree = parsed(content)
        nodes = list(ast.walk(tree)) if tree else []
        for node in nodes:
            match node:
                case ast.Import(names=names):
                    for alias in names:
                        name = alias.name if alias.asname else _root(alias.name)
                        self._names[alias.asname or name] = name
                case ast.ImportFrom(module=str(module), level=0, names=names):
                    self._names |= {alias.asname or alias.name: f"{module}.{alias.name}" for alias in names}
                case ast.ClassDef(name=name):
                    self._classes.add(name)
        imported = frozenset(self._names.values())
        for assign in sorted((node for node in nodes if isinstance(node, ast.Assign)), key=lambda node: node.lineno):
            # Another name for a module, or for a function that is recognised: ``t = torch``, ``change = setattr``.
            name = self._dotted(assign.value)
            if _root(name) in imported or name in _CALLED or name in _CLASSES:
                self._names |= {target.id: name for target in assign.targets if isinstance(target, ast.Name)}
        harmless = {id(part) for node in nodes for part in self._harmless(node)}
        left = [node for node in nodes if id(node) not in harmless]
        return sorted((getattr(node, "lineno", 0), text) for node in left for text in self._noticed(node))

    def _harmless(self, node: ast.AST) -> Iterator[ast.expr]:
        """Docstrings, and parts of an expression that only ask if something is there, e.g. a notebook's kernel."""
        match node:
            case ast.Expr(ast.Constant() as docstring):
                yield docstring
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[names]) if self._is_modules(names):
                yield names
            case ast.Subscript(names, key, ast.Load() | ast.Del()) | ast.Call(
                ast.Attribute(names, "get" | "pop"), [key, *_]
            ) if self._is_modules(names):
                # By the name of the file itself, or of a module that nobody would change.
                name = _constant_text(key)
                is_other = name is not None and not self._is_unneeded(name) and _root(name) not in _GUARDED
                if is_other or (isinstance(key, ast.Name) and key.id == "__name__"):
                    yield names
            case ast.Call(ast.Name("hasattr" | "dir"), [ast.Name("__builtins__") as names, *_]):
                yield names

    def _is_modules(self, node: ast.expr) -> bool:
        return self._dotted(node) == "sys.modules"

    def _is_unneeded(self, module: str) -> bool:
        return _root(module) in self._unneeded or _is_unneeded_name(module)

    def _noticed(self, node: ast.AST) -> Iterator[str]:
        match node:
            case ast.Import(names=names):
                yield from (f"imports {one.name}" for one in names if self._is_unneeded(one.name))
            case ast.ImportFrom(module=str(module), level=0, names=names):
                if self._is_unneeded(module):
                    yield f"imports {module}"
                for one in names:
                    name = f"{module}.{one.name}"
                    if _is_unneeded_name(name) or _HIDDEN_ATTRIBUTE.fullmatch(one.name):
                        yield f"uses {name}"
            case ast.Attribute():
                yield from self._attribute(node)
            case ast.Subscript(value, ctx=ast.Store() | ast.Del()):
                owner = self._dotted(value)
                if owner.endswith(".__dict__") and _root(owner) in _GUARDED:
                    yield f"replaces what is in {owner}"
            case ast.Name("__builtins__"):
                yield "uses __builtins__"
            case ast.FunctionDef(name=name) if _HIDDEN_ATTRIBUTE.fullmatch(name):
                yield f"defines {name}"
            case ast.Call():
                yield from self._call(node)
        text = _constant_text(node)
        if text and (_HIDDEN_ATTRIBUTE.fullmatch(text) or _PLACES.search(text)):
            yield f"{'names' if isinstance(node, ast.Constant) else 'spells'} {text[:60]!r}"

    def _attribute(self, node: ast.Attribute) -> Iterator[str]:
        owner = self._dotted(node.value)
        if _HIDDEN_ATTRIBUTE.fullmatch(node.attr):
            is_own_class = isinstance(node.value, ast.Name) and node.value.id in self._classes
            if not is_own_class or node.attr != "__subclasses__":
                yield f"uses {node.attr}"
        elif _is_unneeded_name(name := self._dotted(node)):
            yield f"uses {name}"
        if not isinstance(node.ctx, ast.Load):
            yield from self._replaced(owner, node.attr)

    def _replaced(self, owner: str, name: str | None) -> Iterator[str]:
        """A new value for a name takes the place of a function; not if it is a new name, or often replaced."""
        if name == "__code__":
            yield "replaces __code__"
        elif _root(owner) in _GUARDED and (name is None or _is_replaced(owner, name)):
            yield f"replaces {owner}.{name or '…'}"

    def _call(self, node: ast.Call) -> Iterator[str]:
        called = self._dotted(node.func).removeprefix("builtins.")
        first, other = (*node.args, None, None)[:2]
        if first is None:
            return
        text, owner = _constant_text(first), self._dotted(first)
        is_made_up = text is None and not isinstance(first, ast.Name | ast.Attribute)
        if called in _RUNS_TEXT and text is None:
            yield f"{called} of text that is made up"
        elif called in _RUNS_TEXT:
            yield from (f"{called}: {what}" for _, what in _SourceFile(self._unneeded).look(text or ""))
        elif called in _IMPORTS and is_made_up:
            yield "imports a module whose name is made up"
        elif called in _IMPORTS and text and self._is_unneeded(text):
            yield f"imports {text}"
        elif called in _BY_NAME and other is not None:
            yield from self._by_name(called, owner, other)
        elif called == "vars" and _root(owner) in _GUARDED:
            yield f"uses vars({owner})"
        elif called in _BY_DOTTED_NAME:
            for name in filter(None, map(_constant_text, node.args[:_MOST_TERMS])):
                parts = name.split(".")
                if _is_unneeded_name(name) or (parts[1:] and any(map(_HIDDEN_ATTRIBUTE.fullmatch, parts))):
                    yield f"uses {name[:60]}"

    def _by_name(self, function: str, owner: str, attribute: ast.expr) -> Iterator[str]:
        """An attribute by its name: ``getattr(sys, "mod" + "ules")``."""
        name = _constant_text(attribute)
        changes = function in ("setattr", "delattr")
        if name is not None and _is_unneeded_name(f"{owner}.{name}"):
            yield f"uses {owner}.{name}"
        if changes:
            yield from self._replaced(owner, name)
        if name is None and not (changes and _root(owner) in _GUARDED):
            is_made_up = not isinstance(attribute, ast.Name | ast.Attribute)
            if _root(owner) in _SPELT or (is_made_up and _root(owner) in _GUARDED):
                yield f"{function} of {owner} by a name that is made up"

    def _dotted(self, node: ast.expr) -> str:
        """The full name that a dotted name stands for, e.g. ``torch.nn.Linear``; empty if that is not known."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute) and len(parts) < _MOST_PARTS:
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Call) and node.args and self._dotted(node.func) in _IMPORTS:
            return ".".join([_constant_text(node.args[0]) or "", *reversed(parts)])
        if isinstance(node, ast.Name) and node.id in self._names:
            return ".".join([self._names[node.id], *reversed(parts)])
        return node.id if isinstance(node, ast.Name) and not parts and node.id in _CALLED else ""


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


def _is_unneeded_name(name: str) -> bool:
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


def _constant_text(node: ast.AST, depth: int = 8) -> str | None:
    """The text of a constant, or of one that is put together of constants only; None if it is not one."""
    parts: Sequence[ast.expr] = ()
    between: str | None = ""
    match node:
        case ast.Constant(str(text)):
            return text
        case ast.BinOp(left, ast.Add(), right):
            parts = [left, right]
        case ast.JoinedStr(parts):
            pass
        case ast.FormattedValue(value, format_spec=None):
            parts = [value]
        case ast.Call(ast.Attribute(value, "join"), [ast.List(parts) | ast.Tuple(parts)]) if depth:
            between = _constant_text(value, depth - 1)
        case ast.Subscript(value, ast.Slice(None, None, ast.UnaryOp(ast.USub()))) if depth:
            forwards = _constant_text(value, depth - 1)
            return None if forwards is None else forwards[::-1]
    if not depth or not parts or between is None:
        return None
    texts = [_constant_text(part, depth - 1) for part in parts[:_MOST_TERMS]]
    known = [text for text in texts if text is not None]
    return between.join(known) if len(known) == len(parts) else None
