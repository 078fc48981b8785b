"""List the uses of Linux features that macOS or Windows lacks in the code, and the guard of each use.

    python scripts/linux_assumptions.py [FOLDER ...]

The folders are graphfix/ and rewrites/ by default. Each line of the output contains the place, the use, the systems
without it, and its guard. Status 0: each use has a guard. Status 1: a use has no guard, or a row of `ELSEWHERE` or
`HARMLESS` matches no use.

Three kinds of uses are found in the syntax trees:

- a name of the standard library that another system lacks, according to typeshed, which mypy contains;
- a name of psutil that another system lacks (`PSUTIL`), an argument of a function that works on some systems only
  (`KEYWORDS`), and a function that does something else on another system (`MEANINGS`, `TEXT_MODE`);
- a text that is the path of a file or folder of Linux (`/proc`, `/sys`, `/dev`).

A guard is one of these:

- a condition around the use: `if hasattr(module, name)`, or `hasattr(module, name) and ...`;
- an earlier `if not hasattr(module, name)` in the same function, which returns or raises;
- a `try` around the use that catches the exception that the other system raises;
- a row of `ELSEWHERE`: another function makes the use unreachable on the other system;
- a row of `HARMLESS`.

`hasattr` with another name of the same module counts if the same systems lack that name.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import mypy

ROOT = Path(__file__).resolve().parents[1]
STUBS = Path(mypy.__file__).parent / "typeshed" / "stdlib"
PYTHON = (3, 11)
"""The lowest version of Python that graphfix supports."""
SYSTEMS = {"darwin": "macOS", "win32": "Windows"}
PSUTIL = {
    **dict.fromkeys(("RLIMIT_DATA", "RLIM_INFINITY", "rlimit"), ("macOS", "Windows")),
    "cpu_affinity": ("macOS",),
    **dict.fromkeys(("num_fds", "uids", "gids", "terminal"), ("Windows",)),
}
"""Names of psutil, and the systems that lack them."""
MEANINGS = {
    "select.select": ("Windows",),  # works only for sockets
    "os.kill": ("Windows",),  # ends the process, whichever signal is sent
    "os.symlink": ("Windows",),  # needs a privilege
}
"""Functions that each system has, and the systems on which they do something else."""
TEXT_MODE = "os.open without O_BINARY"
"""The use in which a file is opened so that Windows translates its line ends."""
KEYWORDS = dict.fromkeys(
    ("preexec_fn", "pass_fds", "process_group", "start_new_session", "dir_fd", "src_dir_fd", "dst_dir_fd"), ("Windows",)
)
"""Arguments of functions of subprocess and os, and the systems on which they fail or do nothing."""
PLACES = re.compile(r"/(?:proc|sys|dev)(?:/|$)")
"""The beginning of a text that is the path of a file or folder of Linux."""

ELSEWHERE: Mapping[tuple[str, str], tuple[str, str]] = {
    ("graphfix/batch/process/worker.py", "os.fork"): ("graphfix/batch/jobs/scratch.py", "locked"),
    ("graphfix/batch/process/worker.py", "os.getsid"): ("graphfix/batch/jobs/scratch.py", "locked"),
    ("graphfix/batch/process/worker.py", "select.POLLHUP"): ("graphfix/batch/jobs/scratch.py", "locked"),
    ("graphfix/batch/process/worker.py", "select.poll"): ("graphfix/batch/jobs/scratch.py", "locked"),
    ("graphfix/batch/process/sessions.py", "os.getsid"): ("graphfix/batch/jobs/scratch.py", "locked"),
    ("graphfix/batch/process/sessions.py", "os.killpg"): ("graphfix/batch/jobs/scratch.py", "locked"),
    ("graphfix/batch/process/sessions.py", "signal.SIGKILL"): ("graphfix/batch/jobs/scratch.py", "locked"),
    ("graphfix/batch/jobs/scratch.py", "import fcntl"): ("graphfix/batch/jobs/scratch.py", "locked"),
    ("graphfix/batch/jobs/scratch.py", "fcntl.LOCK_EX"): ("graphfix/batch/jobs/scratch.py", "locked"),
    ("graphfix/batch/jobs/scratch.py", "fcntl.LOCK_NB"): ("graphfix/batch/jobs/scratch.py", "locked"),
    ("graphfix/batch/jobs/scratch.py", "fcntl.flock"): ("graphfix/batch/jobs/scratch.py", "locked"),
    ("graphfix/batch/jobs/scratch.py", TEXT_MODE): ("graphfix/batch/jobs/scratch.py", "locked"),
    ("graphfix/batch/process/sessions.py", "os.kill"): ("graphfix/batch/jobs/scratch.py", "locked"),
    ("graphfix/runtimes/pipes.py", "start_new_session="): ("graphfix/batch/jobs/scratch.py", "locked"),
    ("graphfix/runtimes/memory.py", "/proc"): ("graphfix/runtimes/memory.py", "limit_files"),
    ("graphfix/runtimes/memory.py", "/sys/fs/cgroup"): ("graphfix/runtimes/memory.py", "limit_files"),
}
"""A use (file, name), and the function (file, name) that makes it unreachable or harmless if the system lacks it.

The function must raise GraphfixError behind a `hasattr`, or catch OSError.
"""
HARMLESS: Mapping[tuple[str, str], str] = {
    ("graphfix/cli/terminal.py", TEXT_MODE): "the null device",
    ("graphfix/cli/standard_streams.py", TEXT_MODE): "the null device",
    ("graphfix/results/files/regular_files.py", "/dev/fd"): "compared with a path; nothing is opened",
    ("graphfix/results/files/regular_files.py", r"/proc/\d+(/task/\d+)?/fd"): "compared with a path; nothing is opened",
}
"""A use (file, name) that does no harm if the system lacks it, with the reason."""


@dataclass(frozen=True, order=True)
class Use:
    """A use of something that a system lacks: its place, its name, the systems without it, and its guard."""

    file: str
    line: int
    name: str
    systems: tuple[str, ...]
    guard: str = field(default="", compare=False)
    """Empty if the use has no guard."""

    def __str__(self) -> str:
        """Return the line that the script prints for the use."""
        guard = self.guard or "NO GUARD"
        return f"{self.file}:{self.line}: {self.name} (not on {' and '.join(self.systems)}): {guard}"


# --- what the standard library lacks on another system ----------------------------------------------------------------


@cache
def lacking(module: str) -> Mapping[str, tuple[str, ...]]:
    """Return the names of a standard library module that a system lacks, each with the systems that lack it.

    Methods and attributes of classes are included by their own names. The name `""` stands for the whole module.
    """
    paths = [STUBS / f"{module.replace('.', '/')}{end}" for end in (".pyi", "/__init__.pyi")]
    stub = next((path for path in paths if path.is_file()), None)
    if stub is None:
        return {}
    body = ast.parse(stub.read_text(encoding="utf-8")).body
    linux = set(_names(body, "linux"))
    found: dict[str, list[str]] = {}
    for system, shown in SYSTEMS.items():
        names = set(_names(body, system))
        for name in linux - names:
            found.setdefault(name, []).append(shown)
        if not {name for name in names if not name.startswith("_") and name != "sys"} & linux and linux:
            found.setdefault("", []).append(shown)
    return {name: tuple(systems) for name, systems in found.items()}


def _names(body: Sequence[ast.stmt], system: str) -> Iterator[str]:
    """Yield the names that a stub defines for a system, names inside classes included."""
    for statement in body:
        match statement:
            case ast.If(test=test, body=then, orelse=otherwise):
                yield from _names(then if _holds(test, system) else otherwise, system)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name, body=inner):
                yield name
                yield from _names(inner, system)
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Assign(targets=targets):
                yield from (target.id for target in targets if isinstance(target, ast.Name))


def _holds(test: ast.expr, system: str) -> bool:
    """Return the truth of a condition of a stub, which compares the system or the version of Python."""
    names = {"sys": _Sys(system, PYTHON), "TYPE_CHECKING": True, "MYPY": False}
    return bool(eval(compile(ast.Expression(test), "a stub", "eval"), {"__builtins__": {}}, names))  # noqa: S307 -- typeshed


@dataclass(frozen=True)
class _Sys:
    """The names of the module `sys` that stubs use in conditions."""

    platform: str
    version_info: tuple[int, int]


# --- the uses ---------------------------------------------------------------------------------------------------------


def uses(path: Path, root: Path = ROOT) -> list[Use]:
    """Return the uses of a file in order, each with its guard. `root` is the folder to which paths are relative."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for parent in ast.walk(tree):
        for child in ast.iter_child_nodes(parent):
            child.parent = parent  # type: ignore[attr-defined]
    modules = _imported(tree)
    name = path.relative_to(root).as_posix()
    found = {
        Use(name, node.lineno, use, systems, _guard(node, use, systems, modules) or _elsewhere(name, use, root))
        for node, use, systems in _found(tree, modules)
    }
    return sorted(found)


def _imported(tree: ast.AST) -> dict[str, str]:
    """Return the modules that a file imports as modules, by their name in the file."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    return {alias.asname or alias.name: alias.name for node in imports for alias in node.names}


Found = tuple[ast.AST, str, tuple[str, ...]]
"""A node, the name of the use, and the systems without it."""


def _found(tree: ast.AST, modules: Mapping[str, str]) -> Iterator[Found]:
    """Yield each use in a syntax tree. `modules` are the imported modules by their name in the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield from _attributes(node, modules)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from _imports(node)
        elif isinstance(node, ast.Call):
            yield from _calls(node)
        elif isinstance(node, ast.Constant) and not isinstance(_parent(node), ast.Expr):  # a docstring is not a use
            text = node.value
            if isinstance(text, str) and PLACES.match(text):
                yield node, text, ("Windows",) if text.startswith("/dev") else tuple(SYSTEMS.values())


def _attributes(node: ast.Attribute, modules: Mapping[str, str]) -> Iterator[Found]:
    """Yield the use `module.name`, or `.name` of any value if a class of an imported module has that name."""
    if isinstance(node.value, ast.Name) and node.value.id in modules:
        module = modules[node.value.id]
        use = f"{module}.{node.attr}"
        systems = MEANINGS.get(use) or _table(module).get(node.attr)
        if systems:
            yield node, use, systems
        return
    for module in sorted({*modules.values()} & {"mmap", "os", "psutil", "socket"}):
        table = _table(module)
        if node.attr in table and (module == "psutil" or node.attr in _methods(module)):
            yield node, f"{module}: .{node.attr}", table[node.attr]


def _imports(node: ast.Import | ast.ImportFrom) -> Iterator[Found]:
    """Yield modules that a system lacks, and names that are imported from a module."""
    for alias in node.names:
        if isinstance(node, ast.Import) and "" in lacking(alias.name):
            yield node, f"import {alias.name}", lacking(alias.name)[""]
        elif isinstance(node, ast.ImportFrom) and alias.name in lacking(node.module or ""):
            yield node, f"{node.module}.{alias.name}", lacking(node.module or "")[alias.name]


def _calls(node: ast.Call) -> Iterator[Found]:
    """Yield arguments that work on some systems only, and calls of os.open without O_BINARY."""
    for keyword in node.keywords:
        if keyword.arg in KEYWORDS:
            yield keyword.value, f"{keyword.arg}=", KEYWORDS[keyword.arg]
    if ast.unparse(node.func) == "os.open" and "BINARY" not in ast.unparse(node):
        yield node, TEXT_MODE, ("Windows",)


def _table(module: str) -> Mapping[str, tuple[str, ...]]:
    """Return the names of a module that a system lacks, each with the systems that lack it."""
    return PSUTIL if module == "psutil" else lacking(module)


@cache
def _methods(module: str) -> frozenset[str]:
    """Return the names that classes of a module define."""
    stub = next(path for end in (".pyi", "/__init__.pyi") if (path := STUBS / f"{module}{end}").is_file())
    classes = [node for node in ast.parse(stub.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef)]
    return frozenset(name for each in classes for name in _names(each.body, "linux"))


# --- the guards -------------------------------------------------------------------------------------------------------


def _parent(node: ast.AST) -> ast.AST | None:
    """Return the parent of a node of the syntax tree, or None for the root."""
    return getattr(node, "parent", None)


def _guard(node: ast.AST, use: str, systems: tuple[str, ...], modules: Mapping[str, str]) -> str:
    """Return the guard of a use in its own file; an empty text if there is no guard."""
    asked = _Asked(re.split(r"[.: ]", use)[0], systems, modules)
    inside, outer = node, _parent(node)
    while outer is not None:
        guard = _condition(inside, outer, asked) or _caught(inside, outer, use) or _left_before(inside, outer, asked)
        if guard:
            return guard
        inside, outer = outer, _parent(outer)
    return ""


def _condition(inside: ast.AST, outer: ast.AST, asked: _Asked) -> str:
    """Return the condition in `outer` that makes sure that the name exists in the part `inside`.

    The result is an empty text if there is no such condition.
    """
    match outer:
        case ast.If(test=test, body=body, orelse=otherwise):
            found = (inside in body and asked.shows(test, True)) or (inside in otherwise and asked.shows(test, False))
        case ast.IfExp(test=test, body=body, orelse=otherwise):
            found = (inside is body and asked.shows(test, True)) or (inside is otherwise and asked.shows(test, False))
        case ast.BoolOp(op=op, values=values) if inside in values:
            before = values[: values.index(inside)]
            return next(
                (f"behind {ast.unparse(each)}" for each in before if asked.shows(each, isinstance(op, ast.And))), ""
            )
        case _:
            return ""
    return f"if {ast.unparse(test)}" if found else ""


def _caught(inside: ast.AST, outer: ast.AST, use: str) -> str:
    """Return the exception that `outer` catches if it is a `try` around the use, or an empty text.

    The exception must be the one that the use raises on the other system.
    """
    if not (isinstance(outer, ast.Try) and inside in outer.body):
        return ""
    types = [node for each in outer.handlers if each.type for node in ast.walk(each.type)]
    caught = {node.id for node in types if isinstance(node, ast.Name)}
    raised = "OSError" if use.startswith("/") else "ImportError" if use.startswith("import ") else "AttributeError"
    return f"except {raised}" if raised in caught else ""


def _left_before(inside: ast.AST, outer: ast.AST, asked: _Asked) -> str:
    """Return an earlier condition under which the function returns or raises, because the name does not exist.

    The result is empty if there is no such condition before `inside` in a block of `outer`.
    """
    for statement in _statements_before(inside, outer):
        leaves = isinstance(statement, ast.If) and isinstance(statement.body[-1], ast.Return | ast.Raise)
        if leaves and asked.shows(statement.test, False):
            ends = ast.unparse(statement.body[-1]).split("(")[0]
            return f"behind `if {ast.unparse(statement.test)}: {ends}`"
    return ""


def _statements_before(inside: ast.AST, outer: ast.AST) -> list[ast.stmt]:
    """Return the statements before `inside` in the block of `outer` that contains it."""
    for block in ("body", "orelse", "finalbody"):
        statements = getattr(outer, block, None)
        if isinstance(statements, list) and inside in statements:
            return statements[: statements.index(inside)]
    return []


@dataclass(frozen=True)
class _Asked:
    """A use of a module's name that some systems lack: the module, these systems, and the imported modules of the file.

    `shows` decides whether a condition makes sure that the name exists.
    """

    module: str
    systems: tuple[str, ...]
    modules: Mapping[str, str]

    def shows(self, test: ast.expr, truth: bool) -> bool:
        """Return whether the name certainly exists if the value of the condition `test` is `truth`."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.shows(operand, not truth)
            case ast.BoolOp(op=op, values=values):
                return truth == isinstance(op, ast.And) and any(self.shows(each, truth) for each in values)
            case ast.Call(func=ast.Name(id="hasattr"), args=[ast.Name(id=owner), ast.Constant(value=str(name))]):
                symbols = {*_table(self.module).get(name, ())}
                return truth and self.modules.get(owner) == self.module and {*self.systems} <= symbols
        return False


def _elsewhere(file: str, use: str, root: Path) -> str:
    """Return the guard that `ELSEWHERE` or `HARMLESS` lists for a use; an empty text if there is none."""
    if (file, use) in HARMLESS:
        return HARMLESS[file, use]
    where = ELSEWHERE.get((file, use))
    return f"{where[0]}: {where[1]}" if where and _refuses(root / where[0], where[1]) else ""


def _refuses(path: Path, function: str) -> bool:
    """Return whether a function raises GraphfixError behind `hasattr`, or catches OSError."""
    if not path.is_file():
        return False
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name == function:
            text = ast.unparse(node)
            return bool(re.search(r"if not hasattr\(.*\):\n\s+raise GraphfixError", text) or "except OSError" in text)
    return False


def main(folders: Sequence[str] = (), root: Path = ROOT) -> int:
    """Print all uses in the folders of `root`, and return the exit status.

    Without folders, the folders are graphfix/ and rewrites/, and rows of the tables that match no use are printed too.
    """
    paths = [path for folder in folders or ("graphfix", "rewrites") for path in sorted((root / folder).rglob("*.py"))]
    found = [use for path in paths for use in uses(path, root)]
    print(*found, sep="\n", end="\n" if found else "")
    unguarded = [use for use in found if not use.guard]
    names = {(use.file, use.name) for use in found}
    rows = [] if folders else [*ELSEWHERE, *HARMLESS]
    stale = [f"a row of this script: {file}: {use} is not used" for file, use in rows if (file, use) not in names]
    print(*stale, sep="\n", end="\n" if stale else "")
    print(f"{len(found)} uses in {len(paths)} files, {len(unguarded)} without a guard")
    return int(bool(unguarded or stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
