"""Write the page of the public Python names from their signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import graphfix
from documentation.command_line import help_text
from graphfix.batch import batch_files
from graphfix.cli.parser import commands_of, parser
from graphfix.results.field_texts import annotated
from graphfix.tosa import tosa_file

OF_A_VIEW = {
    "Graph": ("path", "nodes", "inputs", "outputs"),
    "Node": ("name", "op", "domain", "operands", "results", "attributes"),
    "Value": ("name", "shape", "dtype", "kind"),
}
"""The members of the view's classes that users' programs may read. All other members are for the engine."""
EXAMPLE = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
BEGINNING = """# Python

The functions are those of the command line, and take its options as keywords. `import graphfix` loads no format and no
runtime; a name is imported when it is asked for. Every example on this page is run by a test. Those that
name `models/` read models of the repository, so run them in the root of a clone.

```python
import graphfix

outcome = graphfix.fix("models/encoder.onnx", target="ranks")
print(graphfix.verify("models/encoder.onnx", outcome.model).status)
outcome.model.save("ranks.onnx")
```

[graphfix in Python](../guides/python.md) shows what a model may be, sizes, notebooks and the pass of onnx-ir. A
*Source* is any of the forms there; `graphfix.api.typing` has this type and the others of the signatures.

A *shape* in an outcome is a tuple: an int is a size, a text the name of a free size, None a size that is not known;
in place of a shape None says that not even the rank is known. Sizes count elements, `bytes` counts bytes, `seconds`
seconds. What can't be done raises `GraphfixError`, whose text is the one line that the command line would print.
"""


def page() -> str:
    """Return the page as Markdown."""
    functions = [name for name in graphfix.__all__ if inspect.isfunction(getattr(graphfix, name))]
    records = [name for name in graphfix.__all__ if name not in functions]
    parts = [BEGINNING]
    for name in sorted(functions, key=_place):
        parts += _function(f"graphfix.{name}", getattr(graphfix, name))
    parts += _function("graphfix.tosa.tosa_file", tosa_file)
    parts += _function("graphfix.batch.batch_files", batch_files)
    parts += _keywords([*(getattr(graphfix, name) for name in functions), tosa_file, batch_files])
    parts += _model()
    for name in records:
        if name not in OF_A_VIEW and name != "Model":
            parts += _record(f"graphfix.{name}", getattr(graphfix, name))
    for name, members in OF_A_VIEW.items():
        parts.append(
            f"## graphfix.{name}\n\nPart of `Model.graphs`. Its members for programs: `{'`, `'.join(members)}`.\n"
        )
    return "\n".join(parts)


def _place(name: str) -> int:
    """Return the line number of a function in its source file.

    The page lists functions in the order of the source, in which `load` comes before functions that need a model.
    """
    return inspect.getsourcelines(getattr(graphfix, name))[1]


def _function(name: str, function: Callable[..., object]) -> Iterator[str]:
    """Yield the section of a function: its signature and its docstring."""
    signature = inspect.signature(function)
    arguments = ["*" if part is None else _argument(part) for part in _parts(signature)]
    lines = "".join(f"    {argument},\n" for argument in arguments)
    yield f"## {name}\n\n```python-signature\n{name}(\n{lines}) -> {signature.return_annotation}\n```\n"
    yield _text(function)


def _parts(signature: inspect.Signature) -> Iterator[inspect.Parameter | None]:
    """Yield the parameters of a signature, and None before the first keyword-only parameter."""
    star = False
    for part in signature.parameters.values():
        if part.kind is inspect.Parameter.KEYWORD_ONLY and not star:
            star = True
            yield None
        yield part


def _argument(part: inspect.Parameter) -> str:
    """Return a parameter with its type and its default value, as in a signature."""
    if part.default is inspect.Parameter.empty:
        return f"{part.name}: {part.annotation}"
    default = "{}" if not part.default and hasattr(part.default, "keys") else repr(part.default)
    return f"{part.name}: {part.annotation} = {default}"


def _keywords(functions: list[Callable[..., object]]) -> Iterator[str]:
    """Yield a table of the functions' keywords that are also options, with each option's help."""
    keywords = {name: None for function in functions for name in inspect.signature(function).parameters}
    yield "## Keywords\n\nA keyword means the same in every function, and what its option means on the command line.\n"
    yield "| keyword | option | |\n| --- | --- | --- |"
    options = _options()
    for name in keywords:
        if name in options:
            yield f"| `{name}` | [`{options[name][0]}`](command-line.md) | {options[name][1]} |"
    yield ""


def _options() -> dict[str, tuple[str, str]]:
    """Return for each keyword the option of the command line with the same meaning, and the option's help."""
    found = {}
    for command in reversed(commands_of(parser()).values()):
        for action in command._actions:  # noqa: SLF001
            if action.option_strings and action.help:
                # the value that a switch sets, if it is not True
                value = "" if action.const in (None, True) else f"`{action.const!r}`: "
                found[action.dest] = (action.option_strings[-1], value + help_text(action).replace("; repeatable", ""))
    return found


def _text(documented: object) -> str:
    """Return a docstring as Markdown, with its examples as blocks of code."""
    text = inspect.getdoc(documented) or ""
    return EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", text) + "\n"


def _model() -> Iterator[str]:
    """Yield the section of `Model`, with a table of its members."""
    yield f"## graphfix.Model\n\n{_text(graphfix.Model)}"
    yield "| member | |\n| --- | --- |"
    for name, member in vars(graphfix.Model).items():
        if not name.startswith("_"):
            called = "" if isinstance(member, property) else _called(member)
            yield f"| `{name}{called}` | {_line(inspect.getdoc(member) or '')} |"
    yield ""


def _called(function: Callable[..., object]) -> str:
    """Return the parameters of a method in parentheses, without `self`."""
    names = [part.name for part in inspect.signature(function).parameters.values() if part.name != "self"]
    return f"({', '.join(names)})"


def _record(name: str, record: type[Any]) -> Iterator[str]:
    """Yield the section of a class, with a table of its fields."""
    yield f"## {name}\n\n{_text(record)}"
    rows = [f"| `{field}` | `{kind}` | {about} |" for field, kind, about in _fields(record)]
    if rows:
        yield "| field | type | |\n| --- | --- | --- |\n" + "\n".join(rows) + "\n"


def _fields(record: type[Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the type and the docstring of each field of a class, as they are in the source."""
    module = inspect.getmodule(record)
    assert isinstance(module, ModuleType)  # noqa: S101 -- a class of this project has one
    for name, annotation, text in annotated(inspect.getsource(module), record.__name__):
        yield name, re.sub(r"^Final\[(.*)\]$", r"\1", annotation).replace("|", r"\|"), _line(text)


def _line(text: str) -> str:
    """Return the text on one line, for a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", r"\|")
