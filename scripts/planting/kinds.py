"""Kinds of faults: find every place of a Python module where a fault can be planted, with the text before and after.

Places are found in the syntax tree, and the file's own text is edited, so nothing else of a module changes.

These places are skipped, because a fault there changes no result, or only the wording of a message:

- docstrings, annotations, decorators, `if TYPE_CHECKING`, `__repr__` and its like, f-strings, the arguments of `raise`;
- `strict=` of `zip`: it guards against mistakes of this project alone;
- a constant whose name says that it is a limit (`LIMITS`), and `<` or `<=` beside it: a nearby number serves as well;
- a cached result that is looked up (names with `cache` or `memo`), since it is computed again otherwise;
- questions about the operating system: `sys.platform`, `os.name`, `os.cpu_count()`, and `hasattr` of a module;
- a number of which only is asked whether it is 0, as in `if attributes.get("keepdims", 1)`: 2 for 1;
- the defaults of a function without a body, which a protocol has;
- a call that gives a file, memory or a process back (`RELEASES`), and flags of such calls (`FLAGS`);
- how long a call waits (`timeout=`): another second serves as well;
- the condition `new` beside others: what a new term is given, one that is known is given once more;
- swapped arguments of a function whose arguments may be swapped (`SYMMETRICAL`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

SAYING = frozenset({"__repr__", "__str__", "_repr_html_", "__format__"})
"""Methods that make text for people."""
LIMITS = re.compile(r"\b_?[A-Z_]*(LIMIT|BUDGET|CACHE|SECONDS|TIMEOUT|BYTES|CHUNK|PERIOD|PATIENCE|MEGA|GIGA|PIECE)")
CACHES = re.compile(r"cache|memo", re.IGNORECASE)
SYSTEM = re.compile(r"sys\.platform|os\.name|os\.cpu_count|hasattr\((os|sys|signal|socket|resource|mmap|fcntl)\b")
RELEASES = re.compile(r"\b(close|flush|release\w*|forget\w*|kill|terminate|join|collect|unlink|rmtree|sleep|cleanup)\(")
FLAGS = frozenset("strict maxsize missing_ok exist_ok ignore_errors daemon copy timeout".split())
SYMMETRICAL = frozenset("same same_shape min max gcd lcm union clashing add mul maximum minimum broadcast".split()) | {
    "_same_bytes", "isinstance", "print", "suppress", "zip",
}  # fmt: skip
COMPARED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}  # fmt: skip
"""Each comparison as it is written, and what is planted in its place."""
SWAPPED_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
SWAPPED_OPERATORS = (ast.Sub, ast.FloorDiv, ast.Mod, ast.Div)
MOST_NUMBER = 16
"""Integers above are masks, sizes of files and the like."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Fault:
    """One fault: the bytes from `start` to `end` of a module become `after`."""

    kind: str
    line: int
    start: int
    end: int
    before: str
    after: str
    in_function: bool
    """Whether the line runs when a function is called; any other line runs when the module is imported."""

    def planted(self, source: bytes) -> bytes:
        """Return the module with the fault."""
        return source[: self.start] + self.after.encode() + source[self.end :]


def faults(source: bytes) -> list[Fault]:
    """Return every fault that can be planted in a module, in the order of the text; `is_another` checks one."""
    tree = ast.parse(source)
    found = set(_Finder(source, tree).found_in(tree))
    return sorted(found, key=lambda fault: (fault.start, fault.end, fault.kind, fault.after))


def is_another(fault: Fault, source: bytes) -> bool:
    """Return whether a module with the fault is still Python, and another program."""
    try:
        return ast.dump(ast.parse(fault.planted(source))) != ast.dump(ast.parse(source))
    except SyntaxError:
        return False


class _Finder:
    """Finds the faults of one module."""

    def __init__(self, source: bytes, tree: ast.Module) -> None:
        self.source = source
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.asked_if_0 = frozenset(_asked_if_0(tree))
        self.rules: dict[type[ast.AST], Callable[..., Iterator[tuple[str, ast.AST | tuple[int, int], str]]]] = {
            ast.Compare: self.compare, ast.BoolOp: self.junction, ast.If: self.branch, ast.IfExp: self.choice,
            ast.comprehension: self.filter, ast.Constant: self.constant, ast.Call: self.call, ast.Set: self.elements,
            ast.BinOp: self.arithmetic, ast.Dict: self.entries, ast.Expr: self.statement, ast.Subscript: self.index,
            ast.AugAssign: self.statement,
        }  # fmt: skip

    def found_in(self, node: ast.AST, *, in_function: bool = False) -> Iterator[Fault]:
        """Yield the faults of a node and of all nodes in it."""
        rule = self.rules.get(type(node))
        for kind, place, after in rule(node) if rule is not None else ():
            start, end = place if isinstance(place, tuple) else self.span(place)
            line = 1 + self.source.count(b"\n", 0, start)
            yield Fault(kind, line, start, end, self.source[start:end].decode(), after, in_function)
        for child in _children(node, self.text):
            yield from self.found_in(child, in_function=in_function or isinstance(node, _FUNCTIONS))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Return where the text of a node begins and ends, in bytes."""
        return (
            self.starts[node.lineno - 1] + node.col_offset,  # type: ignore[attr-defined]
            self.starts[node.end_lineno - 1] + node.end_col_offset,  # type: ignore[attr-defined]
        )

    def text(self, node: ast.AST) -> str:
        """Return the text of a node."""
        start, end = self.span(node)
        return self.source[start:end].decode()

    # --- a rule for each kind of node: the fault's kind, its place, the text after ------------------------------------

    def compare(self, node: ast.Compare) -> Iterator[tuple[str, tuple[int, int], str]]:
        """`a < b` becomes `a <= b`, `a is None` becomes `a is not None`."""
        for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            before, after = COMPARED[type(operator)]
            if before in {"<", "<=", ">", ">="} and (LIMITS.search(self.text(left)) or LIMITS.search(self.text(right))):
                continue
            start, end = self.span(left)[1], self.span(right)[0]
            match = re.search(rb"\s+".join(re.escape(word.encode()) for word in before.split()), self.source[start:end])
            if match is not None:
                yield "comparison", (start + match.start(), start + match.end()), after

    def junction(self, node: ast.BoolOp) -> Iterator[tuple[str, ast.AST, str]]:
        """`a and b` becomes `a or b`, and `a` alone."""
        if SYSTEM.search(self.text(node)):
            return
        other = " or " if isinstance(node.op, ast.And) else " and "
        texts = [f"({self.text(value)})" for value in node.values]
        yield "and/or", node, f"({other.join(texts)})"
        same = " and " if isinstance(node.op, ast.And) else " or "
        for at in [at for at, text in enumerate(texts) if text != "(new)"]:
            yield "condition dropped", node, f"({same.join(texts[:at] + texts[at + 1 :])})"

    def branch(self, node: ast.If) -> Iterator[tuple[str, ast.AST, str]]:
        """A condition is negated; a guard that returns, raises or goes on is dropped."""
        text = self.text(node.test)
        if SYSTEM.search(text):
            return
        leaves = isinstance(node.body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break) and not node.orelse
        if leaves and not (CACHES.search(text) or CACHES.search(self.text(node.body[-1]))):
            yield "guard dropped", node.test, "False"
        if not leaves:
            yield "condition negated", node.test, f"not ({text})"

    def choice(self, node: ast.IfExp) -> Iterator[tuple[str, ast.AST, str]]:
        """`a if c else b` becomes `a` alone, and `b` alone."""
        if not SYSTEM.search(self.text(node.test)):
            yield "choice dropped", node, f"({self.text(node.body)})"
            yield "choice dropped", node, f"({self.text(node.orelse)})"

    def filter(self, node: ast.comprehension) -> Iterator[tuple[str, ast.AST, str]]:
        """`for a in b if c` takes every `a`."""
        for test in node.ifs:
            yield "filter dropped", test, "True"

    def constant(self, node: ast.Constant) -> Iterator[tuple[str, ast.AST, str]]:
        """Small integers are one more or less; True and False are swapped."""
        if isinstance(node.value, bool):
            yield "True/False", node, str(not node.value)
        elif type(node.value) is int and node.value <= MOST_NUMBER and self.text(node).isdigit():
            if (node.lineno, node.col_offset) not in self.asked_if_0:
                yield "one more", node, str(node.value + 1)
            if node.value:
                yield "one less", node, str(node.value - 1)

    def call(self, node: ast.Call) -> Iterator[tuple[str, ast.AST | tuple[int, int], str]]:
        """`min` becomes `max`; two arguments of one form are swapped; a word of `"a b".split()` is dropped."""
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if isinstance(node.func, ast.Name) and name in SWAPPED_NAMES:
            yield f"{name} swapped", node.func, SWAPPED_NAMES[name]
        if name not in SYMMETRICAL:
            for one, two in zip(node.args, node.args[1:], strict=False):
                if type(one) is type(two) and isinstance(one, ast.Name | ast.Attribute | ast.Subscript):
                    place = self.span(one)[0], self.span(two)[1]
                    yield "arguments swapped", place, f"{self.text(two)}, {self.text(one)}"
        given = getattr(node.func, "value", None)
        if name == "split" and not node.args and isinstance(given, ast.Constant) and isinstance(given.value, str):
            words = given.value.split()
            for at in range(len(words) if len(words) > 1 else 0):
                yield "name dropped", given, repr(" ".join(words[:at] + words[at + 1 :]))

    def arithmetic(self, node: ast.BinOp) -> Iterator[tuple[str, ast.AST, str]]:
        """`a - b` becomes `b - a` and `a + b`; `a // b` becomes `b // a`."""
        texts = any(
            isinstance(each, ast.Constant | ast.JoinedStr) and not _is_number(each) for each in (node.left, node.right)
        )
        if texts or not isinstance(node.op, SWAPPED_OPERATORS):
            return
        sign = {ast.Sub: "-", ast.FloorDiv: "//", ast.Mod: "%", ast.Div: "/"}[type(node.op)]
        left, right = self.text(node.left), self.text(node.right)
        yield "operands swapped", node, f"(({right}) {sign} ({left}))"
        if isinstance(node.op, ast.Sub):
            yield "sign swapped", node, f"(({left}) + ({right}))"

    def elements(self, node: ast.Set) -> Iterator[tuple[str, ast.AST, str]]:
        """A set of constants or names loses one element."""
        texts = [self.text(each) for each in node.elts]
        for at in range(len(texts) if len(texts) > 1 else 0):
            yield "element dropped", node.elts[at], texts[at - 1 if at else 1]

    def entries(self, node: ast.Dict) -> Iterator[tuple[str, tuple[int, int], str]]:
        """A table loses one entry."""
        for at, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            if key is not None and len(node.keys) > 1:
                end = self.span(value)[1]
                while self.source[end : end + 1] == b")":
                    end += 1
                follows = self.source[end : end + 1] == b","
                if follows or at + 1 == len(node.keys):
                    yield "entry dropped", (self.span(key)[0], end + follows), ""

    def statement(self, node: ast.Expr | ast.AugAssign) -> Iterator[tuple[str, ast.AST, str]]:
        """A call for its effect, or `a += b`, is dropped."""
        calls = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and not RELEASES.search(self.text(node))
        if calls or isinstance(node, ast.AugAssign):
            yield "statement dropped", node, "pass"

    def index(self, node: ast.Subscript) -> Iterator[tuple[str, ast.AST, str]]:
        """`a[0]` becomes `a[1]` and back; `a[-1]` becomes `a[0]`."""
        text = self.text(node.slice)
        if text in {"0", "1", "-1"}:
            yield "other index", node.slice, {"0": "1", "1": "0", "-1": "0"}[text]


def _asked_if_0(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """Yield the places of numbers, not 0, that are the default of a `get` whose result serves as a condition."""
    for node in ast.walk(tree):
        conditions = [node.test] if isinstance(node, ast.If | ast.IfExp | ast.While) else []
        conditions += [node.operand] if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) else []
        conditions += node.ifs if isinstance(node, ast.comprehension) else []
        for each in conditions:
            if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute) and each.func.attr == "get":
                yield from (
                    (given.lineno, given.col_offset) for given in each.args[1:] if _is_number(given) and given.value
                )


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _is_text_or_dots(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _children(node: ast.AST, text: Callable[[ast.AST], str]) -> Iterator[ast.AST]:
    """Yield the nodes in a node, without those in which no fault is planted."""
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "exc", "type_params"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_skipped(child, text):
                yield child


def _is_skipped(node: ast.AST, text: Callable[[ast.AST], str]) -> bool:
    """Return whether no fault is planted in a node; the reasons stand at the top of this module."""
    if isinstance(node, ast.JoinedStr):
        return True
    if isinstance(node, ast.FunctionDef):
        return node.name in SAYING or all(_is_text_or_dots(each) for each in node.body)
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in text(node.test) or "__name__" in text(node.test)
    if isinstance(node, ast.keyword):
        return node.arg in FLAGS
    if isinstance(node, ast.Assign | ast.AnnAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        return isinstance(target, ast.Name) and target.id.isupper() and bool(LIMITS.search(target.id))
    return isinstance(node, ast.Import | ast.ImportFrom)
