"""What a course itself has for a topic: stub and reference solution, also as students shorten them.

Only a course's own files are parsed here, never a submission's.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

_WITH_BODY = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def forms(content: bytes) -> Iterator[bytes]:
    """The file as it is, and without docstrings, without type hints, and without both."""
    yield content
    for docstrings, hints in ((False, True), (True, False), (False, False)):
        try:
            tree = ast.parse(content)
        except (SyntaxError, ValueError):
            return
        if not docstrings:
            _drop_docstrings(tree)
        yield ast.unparse(tree if hints else ast.fix_missing_locations(_WithoutHints().visit(tree))).encode()


def _drop_docstrings(tree: ast.AST) -> None:
    for node in ast.walk(tree):
        if isinstance(node, _WITH_BODY) and ast.get_docstring(node, clean=False) is not None:
            rest = node.body[1:]
            node.body = rest or ([] if isinstance(node, ast.Module) else [ast.Pass()])


class _WithoutHints(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        return node if node.value is None else ast.Assign(targets=[node.target], value=node.value)
