"""Mutation operators: small changes of one expression that a test should notice."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARISONS = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
ARITHMETIC = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Mod: "*",
    ast.Pow: "*",
}
CALLS = {
    "min": "max",
    "max": "min",
    "all": "any",
    "any": "all",
    "sorted": "list",
    "sum": "len",
    "amax": "amin",
    "mean": "sum",
    "argmax": "argmin",
    "log": "exp",
}


@dataclass(frozen=True)
class Mutant:
    """One change of the source: bytes from `start` to `end` become `replacement`."""

    path: str
    line: int
    function: str
    start: int
    end: int
    replacement: str
    before: str
    """Whole lines that are changed, without indentation."""
    after: str
    """These lines with the change."""

    @property
    def key(self) -> str:
        """Name that does not depend on line numbers, for the list of equivalent mutants.

        It has whole lines, because a function can contain a number or True several times.
        """
        return f"{self.path}::{self.function}: {self.before} -> {self.after}"

    def apply(self, root: Path) -> None:
        """Write the mutated source below `root`."""
        path = root / self.path
        source = path.read_bytes()
        mutated = source[: self.start] + self.replacement.encode() + source[self.end :]
        path.write_bytes(mutated)


def make_mutant(
    path: str,
    function: str,
    source: bytes,
    start: int,
    end: int,
    replacement: str,
) -> Mutant:
    """Mutant of a file that replaces the bytes of its source from `start` to `end`."""
    line = source.count(b"\n", 0, start) + 1
    line_start = source.rfind(b"\n", 0, start) + 1
    line_end = source.find(b"\n", end)
    before = source[line_start:line_end]
    after = source[line_start:start] + replacement.encode() + source[end:line_end]
    before_text = " ".join(before.decode().split())
    after_text = " ".join(after.decode().split())
    return Mutant(path, line, function, start, end, replacement, before_text, after_text)


def mutants_of(path: Path, root: Path) -> Iterator[Mutant]:
    """All mutants of one file, in the order of the source."""
    source = path.read_text(encoding="utf-8")
    finder = _Finder(source, path.relative_to(root).as_posix())
    finder.visit(ast.parse(source))
    yield from sorted(finder.mutants, key=lambda mutant: (mutant.start, mutant.replacement))


class _Finder(ast.NodeVisitor):
    """Collect mutants of expressions in functions; messages, annotations and logs are left out."""

    def __init__(self, source: str, path: str) -> None:
        self.source = source.encode()
        self.path = path
        self.mutants: list[Mutant] = []
        self.functions: list[str] = []
        self.line_starts = [0]
        for line in self.source.split(b"\n"):
            self.line_starts.append(self.line_starts[-1] + len(line) + 1)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.functions.append(node.name)
        for statement in node.body:
            if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                self.visit(statement)
        self.functions.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.functions.append(node.name)
        for default in node.args.defaults + node.args.kw_defaults:
            if default is not None:
                self.visit(default)
        for statement in node.body:
            self.visit(statement)
        self.functions.pop()

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Messages of errors are no behaviour that a mutant should change."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Texts are left out."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """Assertions state assumptions; a mutated one is often equivalent."""

    def visit_Expr(self, node: ast.Expr) -> None:
        is_text = isinstance(node.value, ast.Constant)
        is_log = "logger." in ast.unparse(node.value)[:7]
        if not is_text and not is_log:
            self.generic_visit(node)
            if isinstance(node.value, ast.Call) and self.functions:
                self._replace(node, "pass")

    def visit_Compare(self, node: ast.Compare) -> None:
        if len(node.ops) == 1:
            operator = COMPARISONS[type(node.ops[0])]
            self._replace_between(node.left, node.comparators[0], operator)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        is_text = isinstance(node.left, (ast.JoinedStr, ast.List, ast.Tuple))
        is_text = is_text or isinstance(getattr(node.left, "value", None), str)
        if type(node.op) in ARITHMETIC and not is_text:
            self._replace_between(node.left, node.right, ARITHMETIC[type(node.op)])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        operator = "or" if isinstance(node.op, ast.And) else "and"
        self._replace_between(node.values[0], node.values[1], operator)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._replace(node, f"bool({ast.unparse(node.operand)})")
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._replace(node.test, f"not ({ast.unparse(node.test)})")
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" not in ast.unparse(node.test):
            self._replace(node.test, f"not ({ast.unparse(node.test)})")
            self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if not self.functions:
            return
        if isinstance(node.value, bool):
            self._replace(node, str(not node.value))
        elif isinstance(node.value, (int, float)):
            self._replace(node, repr(node.value + 1))

    def visit_Call(self, node: ast.Call) -> None:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in CALLS and self.functions:
            end = self._offset(node.func.end_lineno, node.func.end_col_offset)
            self._add(end - len(name.encode()), end, CALLS[name])
        self.generic_visit(node)

    def _offset(self, line: int, column: int) -> int:
        return self.line_starts[line - 1] + column

    def _replace(self, node: ast.AST, replacement: str) -> None:
        start = self._offset(node.lineno, node.col_offset)
        end = self._offset(node.end_lineno, node.end_col_offset)
        self._add(start, end, replacement)

    def _replace_between(self, left: ast.expr, right: ast.expr, operator: str) -> None:
        """Replace the operator between two operands, and keep the parentheses around them."""
        start = self._offset(left.end_lineno, left.end_col_offset)
        end = self._offset(right.lineno, right.col_offset)
        between = self.source[start:end].decode()
        stripped = between.strip(" \n()")
        if stripped and "#" not in between:
            place = start + len(between[: between.index(stripped)].encode())
            self._add(place, place + len(stripped.encode()), operator)

    def _add(self, start: int, end: int, replacement: str) -> None:
        if not self.functions:
            return
        function = ".".join(self.functions)
        mutant = make_mutant(self.path, function, self.source, start, end, replacement)
        self.mutants.append(mutant)
