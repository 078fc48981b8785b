"""One-operator TFLite models as text, for every builtin operator of which LiteRT has a kernel: a table, read.

Inputs are made constants, and put behind views, elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from tests.support.places import ROOT

TABLE = ROOT / "tests" / "data" / "tflite_operators.txt"
"""Its first lines say how it is read."""
_TYPES = {
    "f": "float32", "h": "float16", "d": "float64", "i": "int32", "l": "int64", "b": "bool", "q": "int8",
    "u": "uint8", "s": "int16", "w": "uint32", "v": "uint16", "x": "uint64", "S": "string", "c": "complex64",
    "g": "bfloat16",
}  # fmt: skip


class Text(NamedTuple):
    """A model: the operator it is there for, the letter of its element type, its text, and scales by tensor."""

    op: str
    letter: str
    text: str
    scales: Mapping[str, tuple[float, int]]

    @property
    def scaled(self) -> bool:
        """Whether quantized types have scales."""
        return not self.letter.endswith("!")


@cache
def texts() -> tuple[Text, ...]:
    """Every model, in the order of the table."""
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    return tuple(text for line in lines if line and line[0] != "#" for text in _of_line(line))


def _of_line(line: str) -> Iterator[Text]:
    ops, types, text, *scales = line.split(" | ")
    for op in ops.split():
        for letter in types.split():
            yield Text(op, letter, _text(text, op, letter), dict(map(_scale, (scales or [""])[0].split())))


def _scale(text: str) -> tuple[str, tuple[float, int]]:
    name, _, numbers = text.partition("=")
    scale, zero = numbers.split("/")
    return name, (float(scale), int(zero))


def _text(text: str, op: str, letter: str) -> str:
    marks = {"{op}": op, "{t}": _TYPES[letter[0]], "{n}": "2," if op.startswith("UNI") else ""}
    for mark, value in marks.items():
        text = text.replace(mark, value)
    return "\n".join(part.strip() for part in text.split(";"))
