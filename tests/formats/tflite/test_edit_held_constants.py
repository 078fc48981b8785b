"""Restated constants of TFLite: one of the file that holds the same bytes is read, and found without a search."""

from __future__ import annotations

import pytest

from graphfix.formats.tflite.file.container import Container
from models.builders.tflite.text import model
from tests.support import engine
from tests.support.tflite.fixing import fixed


def added(*lines: str) -> list[str]:
    """The nodes of a model after `compact`."""
    return fixed("\n".join(lines), target="compact").view


def test_a_constant_of_the_file_with_the_same_bytes_is_read() -> None:
    lines = ("y[2,4] = ADD(x[2,4], c:const[1,4]{1,2,3,4})", "z[2,4] = ADD(y, e:const[4]{1,2,3,4})")
    assert added(*lines) == ["y[2,4] = ADD(x[2,4], e[4])", "z[2,4] = ADD(y[2,4], e[4])"]


def test_of_several_the_first_of_the_file_is_read() -> None:
    lines = (
        "w[2,4] = ADD(x[2,4], d:const[4]{1,2,3,4})",
        "y[2,4] = ADD(w, c:const[1,4]{1,2,3,4})",
        "z[2,4] = ADD(y, e:const[4]{1,2,3,4})",
    )
    assert added(*lines)[1] == "y[2,4] = ADD(w[2,4], d[4])"


def test_what_is_dequantized_already_is_read() -> None:
    lines = (
        "e[4] = DEQUANTIZE(k:const:float16[4]{1,2,3,4})",
        "d[1,4] = DEQUANTIZE(c:const:float16[1,4]{1,2,3,4})",
        "y[2,4] = ADD(x[2,4], d)",
        "z[4] = NEG(e)",
    )
    assert added(*lines) == ["e[4] = DEQUANTIZE(k[4])", "y[2,4] = ADD(x[2,4], e[4])", "z[4] = NEG(e[4])"]


@pytest.mark.parametrize(
    ("restated", "held", "kind"),
    [
        pytest.param("{1,2,3,4}", "{1,2,3,5}", "", id="other bytes"),
        pytest.param("{1,2,3,4}", "{1,2,3,4}", ":int8", id="a quantization of its own"),
    ],
)
def test_a_constant_that_is_not_the_same_is_not_read(restated: str, held: str, kind: str) -> None:
    constant = f":const{kind}"
    lines = (
        f"y{kind}[2,4] = ADD(x{kind}[2,4], c{constant}[1,4]{restated})",
        f"z{kind}[2,4] = ADD(y, e{constant}[4]{held})",
    )
    assert added(*lines)[0] == "y[2,4] = ADD(x[2,4], c_restated[4])"


def reads(count: int, monkeypatch: pytest.MonkeyPatch) -> dict[int, int]:
    """By buffer: how often it is read, of as many constants that are restated, and held ones of their new dims."""
    lines = []
    for at in range(count):
        numbers = f"{at % 100},{at // 100}"
        lines += [
            f"y{at}[2,4] = ADD({f'z{at - 1}' if at else 'x[2,4]'}, c{at}:const[1,4]{{{numbers},1,2}})",
            f"z{at}[2,4] = ADD(y{at}, e{at}:const[4]{{{numbers},3,4}})",
        ]
    file = model("\n".join(lines))
    counts: dict[int, int] = {}
    original = Container.data

    def data(container: Container, buffer: int) -> bytes:
        counts[buffer] = counts.get(buffer, 0) + 1
        return original(container, buffer)

    monkeypatch.setattr(Container, "data", data)
    engine.fix(engine.load(file), target="compact")
    monkeypatch.undo()
    return counts


def test_a_constant_is_read_as_often_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = reads(10, monkeypatch), reads(80, monkeypatch)
    assert len(many) >= 160
    assert max(many.values()) == max(few.values())
