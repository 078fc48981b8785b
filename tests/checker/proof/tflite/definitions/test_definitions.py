"""Operators that are written in others, exactly: one wrong constant, operand or operator, and nothing is proved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from graphfix.checker.proof.tflite.definitions.maker import OPERATORS
from graphfix.runtimes.litert.evaluation import KERNELS
from graphfix.runtimes.process import Child
from models.builders.tflite.text import model as tflite
from tests.support.proving import prove

if TYPE_CHECKING:
    from pathlib import Path

    from graphfix.checker.proof import Proof

TYPES = "in_data_type=FLOAT32, out_data_type=INT32"
CUT = """
    a[2,3] = MINIMUM(h:const[]{62.0}, x[2,3])
    b[2,3] = MAXIMUM(l:const[]{-65.5}, a)
    y:int8[2,3] = QUANTIZE(b)
    """
WHOLE = f"""
    p:bool[2,3] = GREATER_EQUAL(x[2,3], z:const[1,1]{{0.0}})
    a[2,3] = ABS(x)
    f[2,3] = FLOOR(a)
    n[2,3] = NEG(f)
    s[2,3] = SELECT_V2(p, f, n)
    y:int32[2,3] = CAST(s, {TYPES})
    """
TRUE = "y:bool[2,3] = NOT_EQUAL(x[2,3], z:const[]{0.0})"
ONE = "y[2,3] = SELECT_V2(x:bool[2,3], a:const[]{1.0}, b:const[]{0.0})"
PAIR = "subgraph main(a:int32[2,3], b:int32[2,3]):"
MENDED = f"""{PAIR}
    q:int32[2,3] = DIV(a, b)
    m:int32[2,3] = MUL(q, b)
    r:int32[2,3] = SUB(a, m)
    n:bool[2,3] = LESS(b, z:const:int32[1,1]{{0}})
    u:bool[2,3] = GREATER(r, z)
    v:bool[2,3] = LESS(r, z)
    w:bool[2,3] = SELECT_V2(n, u, v)
    s:int32[2,3] = INSTEAD
    y:int32[2,3] = SELECT_V2(w, s, ELSE)
    """
DIVIDED = MENDED.replace("INSTEAD", "SUB(q, o:const:int32[1,1]{1})").replace("ELSE", "q")
REMAINDER = MENDED.replace("INSTEAD", "ADD(r, b)").replace("ELSE", "r")
MENDING = (
    ("{0}", "{1}"),
    ("GREATER(r", "LESS(r"),
    ("SELECT_V2(n, u, v)", "SELECT_V2(n, v, u)"),
    ("MUL(q, b)", "MUL(q, a)"),
    ("DIV(a, b)", "DIV(b, a)"),
)
CHOSEN = """
    r:int32[3,1] = RESHAPE(i:int32[3], s:const:int32[2]{3,1}, new_shape=[3,1])
    e:bool[3,4] = EQUAL(r, c:const:int32[1,4]{0,1,2,3})
    y[3,4] = SELECT_V2(e, a:const[1,1]{5.0}, b:const[1,1]{2.0})
    """
CASES = {
    "ONE_HOT": (
        "y[3,4] = ONE_HOT(i:int32[3], d:const:int32[]{4}, a:const[]{5.0}, b:const[]{2.0}, axis=-1)",
        CHOSEN,
        (("{0,1,2,3}", "{0,1,3,2}"), ("{5.0}", "{6.0}"), ("EQUAL", "NOT_EQUAL"), ("{2.0}", "{5.0}")),
    ),
    "FLOOR_DIV": (
        f"{PAIR}\ny:int32[2,3] = FLOOR_DIV(a, b)",
        DIVIDED,
        (*MENDING, ("{1}", "{2}"), ("w, s, q", "w, q, s")),
    ),
    "FLOOR_MOD": (f"{PAIR}\ny:int32[2,3] = FLOOR_MOD(a, b)", REMAINDER, (*MENDING, ("ADD(r, b)", "SUB(r, b)"))),
    "QUANTIZE": (
        "y:int8[2,3] = QUANTIZE(x[2,3])",
        CUT,
        (
            ("{62.0}", "{61.5}"),
            ("{-65.5}", "{-65.0}"),
            ("MINIMUM(h", "MAXIMUM(h"),
            ("MAXIMUM(l", "MINIMUM(l"),
            ("QUANTIZE(b)", "QUANTIZE(a)"),
        ),
    ),
    "CAST to int32": (
        f"y:int32[2,3] = CAST(x[2,3], {TYPES})",
        WHOLE,
        (
            ("{0.0}", "{0.5}"),
            ("SELECT_V2(p, f, n)", "SELECT_V2(p, n, f)"),
            ("FLOOR(a)", "ROUND(a)"),
            ("NEG(f)", "NEG(a)"),
            ("ABS(x)", "RELU(x)"),
        ),
    ),
    "CAST to bool": (
        "y:bool[2,3] = CAST(x[2,3], in_data_type=FLOAT32, out_data_type=BOOL)",
        TRUE,
        (("{0.0}", "{1.0}"), ("NOT_EQUAL", "EQUAL"), ("NOT_EQUAL", "GREATER")),
    ),
    "CAST from bool": (
        "y[2,3] = CAST(x:bool[2,3], in_data_type=BOOL, out_data_type=FLOAT32)",
        ONE,
        (("{1.0}", "{2.0}"), ("{0.0}", "{-0.0}"), ("a:const[]{1.0}, b:const[]{0.0}", "b:const[]{0.0}, a:const[]{1.0}")),
    ),
}


def asked(folder: Path, before: str, after: str) -> Proof:
    paths = folder / "before.tflite", folder / "after.tflite"
    for path, text in zip(paths, (before, after), strict=True):
        path.write_bytes(tflite(text))
    return prove(*paths, tflite=True)


@pytest.mark.parametrize("name", CASES)
def test_the_definition_is_proved(name: str, tmp_path: Path) -> None:
    before, after, _ = CASES[name]
    assert asked(tmp_path, before, after).status == "proved"


@pytest.mark.parametrize(("name", "fault"), [(name, fault) for name in CASES for fault in CASES[name][2]])
def test_another_one_is_not(name: str, fault: tuple[str, str], tmp_path: Path) -> None:
    before, after, _ = CASES[name]
    assert after.replace(*fault) != after
    assert asked(tmp_path, before, after.replace(*fault)).status == "not proved"


@pytest.mark.parametrize("name", ["CAST to int32", "QUANTIZE"])
def test_an_operator_of_other_parameters_is_not(name: str, tmp_path: Path) -> None:
    before, after, _ = CASES[name]
    other = {"CAST to int32": ("y:int32", "y:int16"), "QUANTIZE": ("y:int8", "y:int16")}[name]
    assert asked(tmp_path, before.replace(*other), after).status == "not proved"


CALLS = {
    **{name: f"y[2,3] = {name}(x[2,3])" for name in ("EXP", "ABS", "TANH", "FLOOR", "NEG", "SQRT", "LOGISTIC")},
    **{name: f"y[2,3] = {name}(x[2,3], k:const[])" for name in ("MUL", "ADD", "SUB", "DIV", "MAXIMUM", "MINIMUM")},
    **{
        name: f"y:bool[2,3] = {name}(x[2,3], k:const[])"
        for name in ("GREATER_EQUAL", "NOT_EQUAL", "LESS", "GREATER", "EQUAL")
    },
    **{name: f"y[2,3] = {name}(x:complex64[2,3])" for name in ("REAL", "IMAG")},
    "SLICE": "y[1,2] = SLICE(x[2,3], b:const:int32[2]{0,0}, s:const:int32[2]{1,2})",
    "PAD": "y[3,3] = PAD(x[2,3], p:const:int32[2,2]{1,0,0,0})",
    "BATCH_MATMUL": "y[1,2,4] = BATCH_MATMUL(x[1,2,3], w:const[1,4,3], adj_y=True)",
    "CONCATENATION": "y[4,3] = CONCATENATION(x[2,3], z[2,3], axis=0)",
    "SELECT_V2": "y[2,3] = SELECT_V2(c:bool[2,3], x[2,3], k:const[])",
}


@pytest.mark.parametrize("kernels", KERNELS)
def test_every_kernel_set_has_the_operators_of_definitions(kernels: str, tmp_path: Path) -> None:
    """The reference kernels have no CEIL: what is proved would not load there."""
    assert CALLS.keys() == OPERATORS.keys()
    path = tmp_path / "m.tflite"
    with Child() as child:
        for name, text in CALLS.items():
            path.write_bytes(tflite(f"{text[:-1]}, version=1)"))
            assert child.load_tflite(path, kernels).outputs, name
