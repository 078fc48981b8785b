"""The notation of models as text, read into records; each format turns the records into what it writes.

    y[2,3,4] = Add(x[2,3,4], b:const[4])       operators by the format's names, `domain.Op` for those of a domain
    p[2] = Pow(q[2], e:const[]{2.0})           elements in braces; ints alone are integers, others float32
    z[2,3] = ADD(x, y[3], adj_y=True)          attributes: the format reads their values
    v[2] = FULLY_CONNECTED(x[2,3], w[2,3], )   an absent operand is empty
    y[*] = Abs(x[*])                           unranked
    s:variable[2,3]                            a line may be a value alone

A value is `name`, then its kind (`:const`, `:variable`, `:overridable`) and `:dtype` in any order, then its dims (ints,
symbols, `?`) and its elements. It is described where it is met first; later its name is enough.

A line `subgraph NAME:` begins another subgraph, `subgraph NAME(INPUTS) -> OUTPUTS:` declares its inputs (values,
described there) and outputs (names); either part may be left out. Text before the first such line is the subgraph
`main`. Values of subgraphs do not see each other. Blank lines and lines that begin with # are nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from numpy.typing import NDArray

Element = float | bool | str
Kind = Literal["input", "constant", "variable", "overridable"]

_KINDS: Mapping[str, Kind] = {"const": "constant", "variable": "variable", "overridable": "overridable"}
_HEADER = re.compile(r"subgraph (?P<name>\w+)(?:\((?P<inputs>.*)\))?(?:\s*->\s*(?P<outputs>.*?))?\s*:")
_LINE = re.compile(r"(?:(?P<results>[^=()]+?)\s*=\s*)?(?P<op>[\w.]+)\((?P<operands>.*)\)")
_VALUE = re.compile(r"(?P<name>[\w/]+)(?P<flags>(?::\w+)*)\s*(?:\[(?P<dims>[^\]]*)\])?\s*(?:\{(?P<elements>.*)\})?")
_ATTRIBUTE = re.compile(r"\w+=")


@dataclass(frozen=True, slots=True)
class Value:
    """One value as a text describes it."""

    name: str
    kind: Kind
    dtype: str
    dims: tuple[int | str | None, ...] | None
    """Sizes, symbols, None for an unknown size; None as a whole for an unranked value."""
    elements: tuple[Element, ...] | None
    """The name of a size is a str too."""
    has_dims: bool
    """Whether the text has dims, or elements that they follow from."""


@dataclass(frozen=True, slots=True)
class Line:
    """One operator as a text writes it; None stands for an absent operand or result."""

    op: str
    operands: tuple[str | None, ...]
    results: tuple[str | None, ...]
    attributes: Mapping[str, str]


@dataclass(slots=True)
class Block:
    """One subgraph as a text writes it."""

    name: str
    values: dict[str, Value] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    declared_inputs: list[str] = field(default_factory=list)
    declared_outputs: list[str] | None = None

    @property
    def made(self) -> list[str]:
        """The results of its operators."""
        return [name for line in self.lines for name in line.results if name is not None]

    @property
    def read(self) -> set[str]:
        """The operands of its operators."""
        return {name for line in self.lines for name in line.operands if name is not None}

    @property
    def inputs(self) -> list[str]:
        """What the header declares, then what is neither made nor held by the file, in the order of the text."""
        made = {*self.made}
        met = [it for it in self.values.values() if it.kind == "input" and it.elements is None]
        return list(dict.fromkeys([*self.declared_inputs, *(it.name for it in met if it.name not in made)]))

    @property
    def outputs(self) -> list[str]:
        """What the header declares, or every result that no operator of the subgraph reads."""
        if self.declared_outputs is not None:
            return self.declared_outputs
        read = self.read
        return [name for name in self.made if name not in read]


def read(text: str, *, integers: str) -> list[Block]:
    """Return the subgraphs of a text; `integers` is the element type of ints that have none.

    Raises ValueError where the text is not in the notation.
    """
    blocks: list[Block] = []
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if (header := _HEADER.fullmatch(line)) is not None:
            blocks.append(_block(header, integers))
            continue
        if not blocks:
            blocks.append(Block("main"))
        _read_line(line, blocks[-1], integers)
    return blocks


def constant(name: str, array: NDArray[Any]) -> str:
    """Return the text of a constant with the type, the sizes and the elements of an array."""
    elements = ",".join(map(repr, array.ravel().tolist()))
    return f"{name}:const:{array.dtype.name}[{','.join(map(str, array.shape))}]{{{elements}}}"


def _block(header: re.Match[str], integers: str) -> Block:
    block = Block(header["name"])
    block.declared_inputs = [_value(part, block.values, integers) for part in _split(header["inputs"] or "")]
    block.declared_outputs = None if header["outputs"] is None else _split(header["outputs"])
    return block


def _read_line(text: str, block: Block, integers: str) -> None:
    match = _LINE.fullmatch(text)
    if match is None:
        _value(text, block.values, integers)
        return
    parts = _split(match["operands"])
    attributes = dict(part.split("=", 1) for part in parts if _ATTRIBUTE.match(part))
    operands, results = (
        tuple(_value(part, block.values, integers) if part else None for part in written)
        for written in ([part for part in parts if not _ATTRIBUTE.match(part)], _split(match["results"] or ""))
    )
    block.lines.append(Line(match["op"], operands, results, attributes))


def _split(text: str) -> list[str]:
    """Cut at the commas that stand outside of brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for sign in text:
        if sign in "'\"" and quote in ("", sign):
            quote = "" if quote else sign
        if not quote:
            depth += (sign in "[{(") - (sign in "]})")
        if sign == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts] if text.strip() else []


def _value(text: str, known: dict[str, Value], integers: str) -> str:
    match = _VALUE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no value")
    name = match["name"]
    if text == name and name in known:
        return name
    described = _described(match, integers)
    if known.setdefault(name, described) != described:
        raise ValueError(f"{text!r}: {name!r} was described otherwise before")
    return name


def _described(match: re.Match[str], integers: str) -> Value:
    flags = {*filter(None, match["flags"].split(":"))}
    elements = None if match["elements"] is None else tuple(map(_element, _split(match["elements"])))
    integer = elements is not None and all(type(element) is int for element in elements)
    dtype = next(iter(flags - _KINDS.keys()), integers if integer else "float32")
    kind: Kind = next((_KINDS[flag] for flag in flags & _KINDS.keys()), "input")
    dims: tuple[int | str | None, ...] | None = None
    if match["dims"] is not None and match["dims"] != "*":
        dims = tuple(map(_dim, _split(match["dims"])))
    elif match["dims"] is None and elements is not None:
        dims = (len(elements),)
    has_dims = match["dims"] is not None or elements is not None
    return Value(match["name"], kind, dtype, dims, elements, has_dims)


def _element(text: str) -> Element:
    """Read a literal; a name that is none, a size's, stays text."""
    if text.isidentifier() and text not in {"True", "False"}:
        return text
    element: Element = ast.literal_eval(text)
    return element


def _dim(text: str) -> int | str | None:
    return int(text) if text.isdigit() else None if text == "?" else text
