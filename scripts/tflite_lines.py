"""The lines of a TFLite text: values, operators and subgraphs as they are written; the notation is tflite_text's."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tflite_parts import Element, numbers

_HEADER = re.compile(r"subgraph (?P<name>\w+)(?:\((?P<inputs>.*)\))?(?:\s*->\s*(?P<outputs>.*?))?\s*:")
_LINE = re.compile(r"(?:(?P<results>[^=()]+?)\s*=\s*)?(?P<op>[\w.]+)\((?P<operands>.*)\)")
_VALUE = re.compile(r"(?P<name>[\w/]+)(?P<flags>(?::\w+)*)\s*(?:\[(?P<dims>[^\]]*)\])?\s*(?:\{(?P<elements>.*)\})?")


@dataclass(frozen=True, slots=True)
class Told:
    """One value as a text describes it."""

    name: str
    dtype: str
    dims: tuple[int, ...] | None
    elements: tuple[Element, ...] | None
    variable: bool

    @property
    def given(self) -> bool:
        """Whether the file holds it: a constant or a variable."""
        return self.variable or self.elements is not None


@dataclass(frozen=True, slots=True)
class Line:
    """One operator as a text writes it."""

    op: str
    operands: tuple[str | None, ...]
    results: tuple[str, ...]
    attributes: Mapping[str, str]


@dataclass(slots=True)
class Block:
    """One subgraph as a text writes it."""

    name: str
    values: dict[str, Told] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    stated_inputs: list[str] = field(default_factory=list)
    stated_outputs: list[str] | None = None

    @property
    def made(self) -> list[str]:
        """The results of its operators."""
        return [name for line in self.lines for name in line.results]

    @property
    def inputs(self) -> list[str]:
        """What the header states, then what is neither made nor given, in the order of the text."""
        made = {*self.made}
        met = (name for name, told in self.values.items() if name not in made and not told.given)
        return list(dict.fromkeys([*self.stated_inputs, *met]))

    @property
    def outputs(self) -> list[str]:
        """What the header states, or every result that nothing of the subgraph reads."""
        if self.stated_outputs is not None:
            return self.stated_outputs
        read = {name for line in self.lines for name in line.operands}
        return [name for name in self.made if name not in read]


def read(text: str) -> list[Block]:
    """Give the subgraphs of a text in the house's notation; raise ValueError where it is not in it."""
    blocks: list[Block] = []
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if (header := _HEADER.fullmatch(line)) is not None:
            blocks.append(_headed(header))
            continue
        if not blocks:
            blocks.append(Block("main"))
        _read_line(line, blocks[-1])
    return blocks


def _headed(header: re.Match[str]) -> Block:
    block = Block(header["name"])
    block.stated_inputs = [_value(part, block.values) for part in _split(header["inputs"] or "")]
    block.stated_outputs = None if header["outputs"] is None else _split(header["outputs"])
    return block


def _read_line(text: str, block: Block) -> None:
    match = _LINE.fullmatch(text)
    if match is None:
        _value(text, block.values)  # a value of its own: a variable, a tensor that nothing reads
        return
    parts = _split(match["operands"])
    attributes = dict(part.split("=", 1) for part in parts if re.match(r"\w+=", part))
    operands = tuple(_value(part, block.values) if part else None for part in parts if not re.match(r"\w+=", part))
    results = tuple(_value(part, block.values) for part in _split(match["results"] or ""))
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


def _value(text: str, known: dict[str, Told]) -> str:
    match = _VALUE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no value")
    name = match["name"]
    if text == name and name in known:
        return name
    told = _told(match)
    if known.setdefault(name, told) != told:
        raise ValueError(f"{text!r}: {name!r} was described otherwise before")
    return name


def _told(match: re.Match[str]) -> Told:
    name, flags = match["name"], {*filter(None, match["flags"].split(":"))}
    elements: tuple[Element, ...] | None = None
    if match["elements"] is not None:
        elements = tuple(ast.literal_eval(part) for part in _split(match["elements"]))
    dtype = next(iter(flags - {"const", "variable"}), _default_dtype(elements))
    dims = _dims(match["dims"], elements, name)
    if elements is None and "const" in flags:
        elements = tuple(numbers(dtype, math.prod(dims or ())))
    if elements is not None and (dims is None or len(elements) != math.prod(dims)):
        raise ValueError(f"{name!r}: {len(elements)} elements do not fill {dims}")
    return Told(name, dtype, dims, elements, "variable" in flags)


def _default_dtype(elements: tuple[Element, ...] | None) -> str:
    return "int32" if elements and all(type(element) is int for element in elements) else "float32"


def _dims(text: str | None, elements: tuple[Element, ...] | None, name: str) -> tuple[int, ...] | None:
    if text == "*":
        return None
    if text is None and elements is None:
        raise ValueError(f"{name!r}: no dims; write [*] for a tensor without a shape")
    if text is None:
        return (len(elements or ()),)
    return tuple(int(part) if part.isdigit() else -1 for part in _split(text))
