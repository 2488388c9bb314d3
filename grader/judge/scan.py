"""Reads the source of a submission for names that no exercise needs: ways into the grader, into callers, into torch.

It is evidence for a person, and changes no verdict. Runs nothing that it reads.
"""

import ast
import contextlib
import functools
import inspect
import itertools
import re
import sys
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from grader.border.failures import one_line
from grader.intake.topics import parse
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
_UNNEEDED_MODULES: Final = frozenset(("grader", "ctypes", "_ctypes", "cffi", "_thread", "checks", "solutions"))
_UNNEEDED_NAME: Final = re.compile(
    r"sys\.(modules|_getframe|_current_frames|settrace|setprofile|addaudithook|meta_path|path_hooks|setswitchinterval)"
    r"|threading\.(settrace|setprofile|_\w+)|traceback\.(walk|extract)_stack"
    r"|inspect\.(stack|currentframe|trace|get(outer|inner)frames)"
    r"|gc\.(get_objects|get_referrers|get_referents|callbacks)"
    r"|os\.(closerange|dup2|kill|killpg|fork|forkpty)|signal\.pthread_kill|types\.CodeType"
    r"|torch\.(overrides\.TorchFunctionMode|utils\._python_dispatch|utils\.cpp_extension|library)"
    r"|torch\.(\w+\.)*_C|torch\.jit\.(script|trace|fork|load|CompilationUnit|ScriptFunction|_)\w*"
)
_GUARDED: Final = frozenset(("torch", "builtins", "time", "os"))
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
_CLASSES: Final = frozenset(("torch.Tensor", "torch.nn.Module"))
_MISSING: Final = object()


_PUT_TOGETHER: Final = (ast.BinOp, ast.JoinedStr, ast.FormattedValue, ast.Call, ast.Subscript)
"""Nodes that `_constant_text` knows as a text, but for a constant."""
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
        named = {one for one in unread if _names(files[path], one)}
        unread -= named
        queue += sorted(named)
    return [path for path in modules if path not in unread]


def _names(content: bytes, path: str) -> bool:
    return b"coding" in content[:_COOKIE_BYTES] or path.removesuffix(".py").encode() in content


@functools.lru_cache(maxsize=256)
def _noticed_in(content: bytes, unneeded: frozenset[str]) -> tuple[tuple[int, str], ...]:
    """Everything that `_SourceFile` notices; kept, because a class shares its stubs, a student most of their files."""
    return tuple(itertools.islice(_SourceFile(unneeded).look(content), MOST_FLAGS))


class _SourceFile:
    """One file, with the meaning of its names as far as its imports say.

    Args:
        unneeded: modules that no submission needs to import.
    """

    def __init__(self, unneeded: Collection[str]) -> None:
        self._unneeded = unneeded
        self._names: dict[str, str] = {}
        self._classes: set[str] = set()

    def look(self, content: bytes | str) -> Iterator[tuple[int, str]]:
        """Line and description of each thing that is noticed, in order; nothing if the file cannot be parsed."""
        if len(content) > MOST_BYTES:
            yield 0, "is too long to be read for what no exercise needs"
            return
        tree = parsed(content)
        if tree is None:
            return
        nodes = list(ast.walk(tree))
        for node in nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._remember(node)
            elif isinstance(node, ast.ClassDef):
                self._classes.add(node.name)
        for node in sorted((node for node in nodes if isinstance(node, ast.Assign)), key=lambda node: node.lineno):
            self._remember_alias(node)
        texts = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}  # docstrings
        harmless = {id(part) for node in nodes for part in self._harmless(node)}
        noticed = [
            (getattr(node, "lineno", 0), what)
            for node in nodes
            if id(node) not in harmless and (id(node) not in texts or not isinstance(node, ast.Constant))
            for what in self._noticed(node)
        ]
        yield from sorted(noticed)

    def _remember(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.name if alias.asname else alias.name.partition(".")[0]
                self._names[alias.asname or name] = name
        elif node.module and not node.level:
            for alias in node.names:
                self._names[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def _remember_alias(self, node: ast.Assign) -> None:
        """Another name for a module, or for a function that is recognised: ``t = torch``, ``change = setattr``."""
        name = self._dotted(node.value)
        if name in sys.modules or name in _CALLED or name in _CLASSES:
            self._names |= {target.id: name for target in node.targets if isinstance(target, ast.Name)}

    def _harmless(self, node: ast.AST) -> Iterator[ast.expr]:
        """The parts of an expression that only ask whether something is there, e.g. a notebook's kernel."""
        match node:
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[names]) if self._is_modules(names):
                yield names
            case ast.Subscript(value=names, slice=key, ctx=ast.Load() | ast.Del()) if self._is_modules(names):
                yield from [names] if self._is_harmless_key(key) else []
            case ast.Call(func=ast.Attribute(value=names, attr="get" | "pop"), args=[key, *_]):
                yield from [names] if self._is_modules(names) and self._is_harmless_key(key) else []
            case ast.Call(func=ast.Name(id="hasattr" | "dir"), args=[ast.Name(id="__builtins__") as names, *_]):
                yield names

    def _is_modules(self, node: ast.expr) -> bool:
        return self._dotted(node) == "sys.modules"

    def _is_harmless_key(self, key: ast.expr) -> bool:
        """Whether it is the name of the file itself, or of a module that nobody would change."""
        if isinstance(key, ast.Name):
            return key.id == "__name__"
        name = _constant_text(key)
        return name is not None and not self._is_unneeded(name) and _root(name) not in _GUARDED

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
            case ast.Attribute(attr=attribute):
                yield from self._attribute(node, attribute)
            case ast.Name(id="__builtins__"):
                yield "uses __builtins__"
            case ast.Constant(value=str(text)):
                if _is_telling(text):
                    yield f"names {text[:60]!r}"
            case ast.FunctionDef(name=name) if _HIDDEN_ATTRIBUTE.fullmatch(name):
                yield f"defines {name}"
            case ast.Call():
                yield from self._call(node)
        if isinstance(node, _PUT_TOGETHER) and (spelt := _constant_text(node)) and _is_telling(spelt):
            yield f"spells {spelt[:60]!r}"
        for target in _targets(node):
            yield from self._replaces(target)

    def _is_unneeded(self, module: str) -> bool:
        return module.partition(".")[0] in self._unneeded or _is_unneeded_name(module)

    def _attribute(self, node: ast.Attribute, attribute: str) -> Iterator[str]:
        if _HIDDEN_ATTRIBUTE.fullmatch(attribute):
            if not (attribute == "__subclasses__" and self._is_own_class(node.value)):
                yield f"uses {attribute}"
        elif _is_unneeded_name(name := self._dotted(node)):
            yield f"uses {name}"

    def _is_own_class(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self._classes

    def _call(self, node: ast.Call) -> Iterator[str]:
        name = self._dotted(node.func).removeprefix("builtins.")
        first, other = (*node.args, None, None)[:2]
        if name in _RUNS_TEXT and first is not None:
            text = _constant_text(first)
            if text is None:
                yield f"{name} of text that is made up"
            else:
                yield from (f"{name}: {what}" for _, what in _SourceFile(self._unneeded).look(text))
        elif name in _IMPORTS and first is not None:
            module = _constant_text(first)
            if module is None:
                if not isinstance(first, ast.Name | ast.Attribute):
                    yield "imports a module whose name is made up"
            elif self._is_unneeded(module):
                yield f"imports {module}"
        elif name in _BY_NAME and first is not None and other is not None:
            yield from self._by_name(name, self._dotted(first), other)
        elif name == "vars" and first is not None and self._is_guarded(owner := self._dotted(first)):
            yield f"uses vars({owner})"

    def _by_name(self, function: str, owner: str, attribute: ast.expr) -> Iterator[str]:
        """An attribute by its name: ``getattr(sys, "mod" + "ules")``."""
        name = _constant_text(attribute)
        if name is not None and _is_unneeded_name(f"{owner}.{name}"):
            yield f"uses {owner}.{name}"
        if function in ("setattr", "delattr") and name == "__code__":
            yield "replaces __code__"
        elif function in ("setattr", "delattr") and self._is_guarded(owner):
            if name is None or _is_replaced(owner, name):
                yield f"replaces {owner}.{name or '…'}"
        elif name is None:
            is_made_up = not isinstance(attribute, ast.Name | ast.Attribute)
            if owner.partition(".")[0] in _SPELT or (is_made_up and _root(owner) in _GUARDED):
                yield f"{function} of {owner} by a name that is made up"

    def _replaces(self, target: ast.expr) -> Iterator[str]:
        if isinstance(target, ast.Attribute):
            owner = self._dotted(target.value)
            if target.attr == "__code__":
                yield "replaces __code__"
            elif self._is_guarded(owner) and _is_replaced(owner, target.attr):
                yield f"replaces {owner}.{target.attr}"
        elif isinstance(target, ast.Subscript):
            owner = self._dotted(target.value)
            if owner.endswith(".__dict__") and self._is_guarded(owner):
                yield f"replaces what is in {owner}"

    def _is_guarded(self, name: str) -> bool:
        """Whether it is a guarded module, or something in one, by an imported name."""
        return _root(name) in _GUARDED and name != ""

    def _dotted(self, node: ast.expr) -> str:
        """The full name that a dotted name stands for, e.g. ``torch.nn.Linear``; empty if that is not known."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute) and len(parts) < _MOST_PARTS:
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Call) and node.args and self._dotted(node.func) in _IMPORTS:
            return ".".join([_constant_text(node.args[0]) or "", *reversed(parts)])
        if not isinstance(node, ast.Name):
            return ""
        if parts or node.id in self._names:
            if node.id not in self._names:
                return ""
            return ".".join([self._names[node.id], *reversed(parts)])
        return node.id if node.id in _CALLED else ""


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


def _root(name: str) -> str:
    return name.partition(".")[0]


def _is_replaced(owner: str, name: str) -> bool:
    """Whether a new value for this name takes the place of a function; not if it is a new name, or often replaced."""
    if _OFTEN_REPLACED.fullmatch(f"{owner}.{name}"):
        return False
    if name.startswith("__"):
        return True
    parts = owner.split(".")
    value: object = sys.modules.get(parts[0])
    for part in parts[1:]:
        value = inspect.getattr_static(value, part, None)
    return value is None or inspect.getattr_static(value, name, _MISSING) is not _MISSING


def _is_unneeded_name(name: str) -> bool:
    return _UNNEEDED_NAME.fullmatch(name) is not None


def _is_telling(text: str) -> bool:
    return bool(_HIDDEN_ATTRIBUTE.fullmatch(text) or _PLACES.search(text))


def _targets(node: ast.AST) -> list[ast.expr]:
    """The targets that a statement assigns to or deletes."""
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            return [part for target in targets for part in _unpacked(target)]
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target) | ast.For(target=target):
            return _unpacked(target)
        case ast.With(items=items):
            return [part for item in items if item.optional_vars for part in _unpacked(item.optional_vars)]
    return []


def _unpacked(target: ast.expr) -> list[ast.expr]:
    return list(target.elts) if isinstance(target, ast.Tuple | ast.List) else [target]


def _constant_text(node: ast.AST, depth: int = 8) -> str | None:
    """The text of a constant, or of one that is put together of constants only; None if it is not one."""
    if not depth:
        return None
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return _together([left, right], "", depth)
        case ast.JoinedStr(values=values):
            return _together(values, "", depth)
        case ast.FormattedValue(value=value, format_spec=None):
            return _constant_text(value, depth - 1)
        case ast.Call(
            func=ast.Attribute(value=value, attr="join"), args=[ast.List(elts=parts) | ast.Tuple(elts=parts)]
        ):
            between = _constant_text(value, depth - 1)
            return None if between is None else _together(parts, between, depth)
        case ast.Subscript(value=value, slice=ast.Slice(lower=None, upper=None, step=ast.UnaryOp(op=ast.USub()))):
            forwards = _constant_text(value, depth - 1)
            return None if forwards is None else forwards[::-1]
    return None


def _together(nodes: Sequence[ast.expr], between: str, depth: int) -> str | None:
    texts = [_constant_text(node, depth - 1) for node in nodes[:_MOST_TERMS]]
    known = [text for text in texts if text is not None]
    return between.join(known) if len(known) == len(nodes) else None
