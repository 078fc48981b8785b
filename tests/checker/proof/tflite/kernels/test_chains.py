"""What a chain that XNNPACK may make one lookup table of consists of, and which values a file lets LiteRT overwrite."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from graphfix.checker.files.tflite.file import read
from graphfix.checker.proof.core.result import UnprovedError
from graphfix.checker.proof.tflite.kernels.lookup_tables import Chain, chains
from graphfix.checker.proof.tflite.kernels.shared_buffers import check_buffers
from models.builders.tflite.text import Quantized, model
from tests.support.tflite.shared_buffers import LATER, LIFTING, SHARING, TWINS, USED, WRITING, pair, twin

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "subgraph main(x:int8[2,3], n[2,3], m:int8[2,3]):\n"
TABLE = "f[2,3] = DEQUANTIZE(x)\ng[2,3] = ADD(f, k:const[1]{0.5})\ny:int8[2,3] = QUANTIZE(g)"


def chain(folder: Path, data: bytes, name: str) -> Chain | None:
    (folder / "m.tflite").write_bytes(data)
    with ExitStack() as stack:
        graph = read(folder / "m.tflite", stack)[0].subgraphs[0]
        at = next(at for at, tensor in enumerate(graph.tensors) if tensor.name == name)
        return chains(graph).get(at)


# text -> the value that is asked, the operators of its chain
CHAINS = {
    "the first node": (TABLE, "f", "DEQUANTIZE, ADD, QUANTIZE"),
    "the node inside": (TABLE, "g", "DEQUANTIZE, ADD, QUANTIZE"),
    "the last node": (TABLE, "y", "DEQUANTIZE, ADD, QUANTIZE"),
    "one node of 8 bits": ("y:int8[2,3] = TANH(x)", "y", "TANH"),
    "back to no 8 bits": ("f[2,3] = DEQUANTIZE(x)\ng[2,3] = ADD(f, k:const[1]{0.5})", "g", ""),
    "behind the last 8 bits": (f"{TABLE}\nz[2,3] = DEQUANTIZE(y)", "z", ""),
    "up to the last 8 bits": (f"{TABLE}\nz[2,3] = DEQUANTIZE(y)", "g", "DEQUANTIZE, ADD, QUANTIZE"),
    "from floats": ("g[2,3] = ADD(n, k:const[1]{0.5})\ny:int8[2,3] = QUANTIZE(g)", "g", ""),
    "a value with two readers": (
        "f[2,3] = DEQUANTIZE(x)\ng[2,3] = NEG(f)\nh[2,3] = ABS(f)\ny:int8[2,3] = QUANTIZE(g)",
        "g",
        "",
    ),
    "a value that is read twice by one node": (
        "f[2,3] = DEQUANTIZE(x)\ng[2,3] = MUL(f, f)\ny:int8[2,3] = QUANTIZE(g)",
        "g",
        "DEQUANTIZE, MUL, QUANTIZE",
    ),
    "two operands": ("f[2,3] = DEQUANTIZE(x)\ng[2,3] = ADD(f, n)\ny:int8[2,3] = QUANTIZE(g)", "g", ""),
    "two operands of 8 bits": ("y:int8[2,3] = ADD(x, m)", "y", ""),
    "the operand of the chain again": (
        "a:int8[2,3] = TANH(x)\ny:int8[2,3] = ADD(a, x)",
        "y",
        "TANH, ADD",
    ),
    "a constant of more elements": (
        "f[2,3] = DEQUANTIZE(x)\ng[2,3] = ADD(f, k:const[3])\ny:int8[2,3] = QUANTIZE(g)",
        "g",
        "",
    ),
    "an operator of no elements": (
        "f[2,3] = DEQUANTIZE(x)\ng[3,2] = RESHAPE(f, s:const:int32[2]{3,2})\ny:int8[3,2] = QUANTIZE(g)",
        "g",
        "",
    ),
    "PRELU": (
        "f[2,3] = DEQUANTIZE(x)\ng[2,3] = PRELU(f, k:const[1]{0.5})\ny:int8[2,3] = QUANTIZE(g)",
        "g",
        "DEQUANTIZE, PRELU, QUANTIZE",
    ),
    "a model without 8 bits": ("g[2,3] = NEG(n)\nh[2,3] = ABS(g)", "g", ""),
}


@pytest.mark.parametrize("name", CHAINS)
def test_the_operators_that_may_be_one_table(name: str, tmp_path: Path) -> None:
    text, asked, expected = CHAINS[name]
    head = HEAD.replace(":int8", "") if "without" in name else HEAD
    found = chain(tmp_path, model(head + text), asked)
    assert ("" if found is None else str(found)) == expected


def test_an_output_ends_a_chain(tmp_path: Path) -> None:
    text = f"{HEAD}f[2,3] = DEQUANTIZE(x)\na:int8[2,3] = QUANTIZE(f)\ny:int8[2,3] = TANH(a)"
    inner, outer = (chain(tmp_path, model(text, outputs=given), "a") for given in (["y"], ["a", "y"]))
    assert inner is not None
    assert outer is not None
    assert (str(inner), inner.is_output) == ("DEQUANTIZE, QUANTIZE, TANH", True)
    assert (str(outer), outer.is_output) == ("DEQUANTIZE, QUANTIZE", True)
    read_on = chain(tmp_path, model(f"{text}\nz:int8[3,2] = RESHAPE(y, s:const:int32[2]{{3,2}})"), "a")
    assert read_on is not None
    assert not read_on.is_output


def test_a_chain_says_what_is_around_it(tmp_path: Path) -> None:
    alone = chain(
        tmp_path, model(f"{HEAD}a:int8[2,3] = TANH(x)\ny:int8[3,2] = RESHAPE(a, s:const:int32[2]{{3,2}})"), "a"
    )
    moved = f"{HEAD}r:int8[2,3] = RESHAPE(x, t:const:int32[2]{{2,3}})\n"
    behind = chain(
        tmp_path, model(f"{moved}a:int8[2,3] = TANH(r)\ny:int8[3,2] = RESHAPE(a, s:const:int32[2]{{3,2}})"), "a"
    )
    other = chain(
        tmp_path, model(f"{HEAD}a:int8[2,3] = TANH(x)\ny:int8[2,3,1] = EXPAND_DIMS(a, s:const:int32[]{{2}})"), "a"
    )
    assert alone is not None
    assert behind is not None
    assert other is not None
    assert len({alone, behind, other}) == 3
    assert not alone.made_by
    assert len(behind.made_by) == len(alone.read_by) == 1


# the node between DEQUANTIZE and QUANTIZE -> whether no element can become infinite or NaN
FINITE = {
    **{
        f"{op}(f)": True
        for op in "ABS CEIL FLOOR LOGISTIC NEG RELU RELU6 RELU_0_TO_1 RELU_N1_TO_1 ROUND SIGN TANH SQUARE".split()
    },
    **{f"{op}(f)": False for op in "EXP LOG SQRT RSQRT COS ELU".split()},
    **{f"{op}(f, k:const[1]{{2.0}})": True for op in "ADD SUB MUL MAXIMUM MINIMUM SQUARED_DIFFERENCE".split()},
    "DIV(f, k:const[1]{2.0})": False,
    "ADD(f, k:const[1]{3e38})": False,
    "MUL(f, k:const[1]{1e37})": False,
    "MUL(f, k:const[1]{1e36})": True,
    "SQUARED_DIFFERENCE(f, k:const[1]{2e19})": False,
    "SQUARED_DIFFERENCE(f, k:const[1]{5e18})": True,
    "MAXIMUM(f, k:const[1]{nan})": False,
    "MAXIMUM(f, k:const[1]{inf})": False,
}


@pytest.mark.parametrize("node", FINITE)
def test_a_chain_is_finite_where_no_element_can_overflow(node: str, tmp_path: Path) -> None:
    text = f"{HEAD}f[2,3] = DEQUANTIZE(x)\ng[2,3] = {node}\ny:int8[2,3] = QUANTIZE(g)"
    found = chain(tmp_path, model(text, quantization={"x": Quantized(0.1, 3)}), "g")
    assert found is not None
    assert found.is_finite is FINITE[node]


@pytest.mark.parametrize(("op", "finite"), [("NEG", True), ("CEIL", False), ("FLOOR", False), ("ROUND", False)])
def test_a_number_that_is_rounded_away_from_0_can_overflow_later(op: str, finite: bool, tmp_path: Path) -> None:
    squares = "\n".join(f"v{at + 1}[2,3] = SQUARE(v{at})" for at in range(8))
    text = f"{HEAD}f[2,3] = DEQUANTIZE(x)\ng[2,3] = MUL(f, k:const[1]{{0.047}})\nv0[2,3] = {op}(g)\n{squares}\n"
    found = chain(tmp_path, model(f"{text}y:int8[2,3] = QUANTIZE(v8)", quantization={"x": Quantized(0.1, 3)}), "g")
    assert found is not None
    assert found.is_finite is finite  # elements are at most 1.2 before they are rounded: 1.2**256 fits, 2**256 does not


# --- buffers ----------------------------------------------------------------------------------------------------------


def overwritten(folder: Path, data: bytes) -> str:
    """What the check of a file says; empty where no value is lost."""
    (folder / "m.tflite").write_bytes(data)
    with ExitStack() as stack:
        try:
            check_buffers(read(folder / "m.tflite", stack)[0])
        except UnprovedError as error:
            return str(error)
    return ""


@pytest.mark.alike(2)
@pytest.mark.parametrize("writing", WRITING)
@pytest.mark.parametrize("sharing", SHARING)
def test_a_value_in_another_buffer_that_is_read_later_is_lost(sharing: str, writing: str, tmp_path: Path) -> None:
    for lifting in LIFTING.values():
        plain, lifted = pair(SHARING[sharing], lifting, WRITING[writing])
        assert overwritten(tmp_path, plain) == ""
        assert "into the buffer of 't'" in overwritten(tmp_path, lifted)


@pytest.mark.parametrize("name", TWINS)
def test_a_value_that_is_kept_is_not(name: str, tmp_path: Path) -> None:
    assert [overwritten(tmp_path, data) for data in twin(name)] == ["", ""]


KEPT = {
    "read through a RESHAPE later": (f"v[6] = RESHAPE(t[2,3], s9:const:int32[1]{{6}})\nw9[6] = NEG(v)\n{USED}", True),
    "read through a RESHAPE that is an output": (f"v[6] = RESHAPE(t[2,3], s9:const:int32[1]{{6}})\n{USED}", True),
    "read later": (f"{LATER}\n{USED}", True),
    "read no more": (USED, False),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_value_is_lost_where_anything_reads_it_later(name: str, tmp_path: Path) -> None:
    after, is_lost = KEPT[name]
    lifted = pair(SHARING["ADD"], LIFTING["RESHAPE"], WRITING["ADD 0"], after)[1]
    assert bool(overwritten(tmp_path, lifted)) is is_lost


OPEN = (
    "r[N,3] = SUB(x[N,3], o[N,3])\nt[N,3] = ADD(r, c:const[1]{2.0})\na[M,3] = RESHAPE(t, s:const:int32[2]{-1,3})\n"
    "y[2,3] = ADD(a, q[2,3])\nz[N,3] = NEG(t)\nw[4,3] = CONCATENATION(y, y, axis=0)"
)
CLOSED = OPEN.replace("[N,3]", "[4,3]").replace("a[M,3]", "a[4,3]")
TWICE = f"{CLOSED.replace('[4,3]', '[2,3]')}\nn[2,3] = ABS(a)"
EARLY = (
    "r[2,3] = SUB(x[2,3], o[2,3])\nt[2,3] = ADD(r, c:const[1]{2.0})\nv[6] = RESHAPE(t, s6:const:int32[1]{6})\n"
    "a[1,2,3] = RESHAPE(t, s:const:int32[3]{1,2,3})\ny[1,2,3] = ADD(a, q[1,2,3])\nz[6] = NEG(v)\n"
    "w[1,2,6] = CONCATENATION(y, y, axis=-1)"
)
ITSELF = EARLY.replace("q[1,2,3]", "t").replace("v[6] = RESHAPE(t", "v[6] = RESHAPE(x").replace("z[6] = NEG(v)\n", "")
# text, outputs -> whether t is lost
BUFFERS: dict[str, tuple[str, list[str], bool]] = {
    "a size that is open may be that of the result": (OPEN, ["z", "w"], True),
    "another number of elements": (CLOSED, ["z", "w"], False),
    "as many elements": (CLOSED.replace("[4,3]", "[2,3]"), ["z", "w"], True),
    "what the operator reads is read twice": (TWICE, ["z", "w", "n"], False),
    "a value in its buffer is read later": (EARLY, ["z", "w"], True),
    "an output in its place, which has a buffer of its own, is read later": (EARLY, ["z", "w", "v"], False),
    "the operator itself is the last to read it": (ITSELF, ["w", "v"], False),
}


@pytest.mark.parametrize("name", BUFFERS)
def test_what_litert_asks_before_it_shares_a_buffer(name: str, tmp_path: Path) -> None:
    text, outputs, is_lost = BUFFERS[name]
    assert ("into the buffer of 't'" in overwritten(tmp_path, model(text, outputs=outputs))) is is_lost


def test_operators_without_results_write_into_no_buffer(tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(model(EARLY, outputs=["z", "w"]))
    with ExitStack() as stack:
        whole = read(tmp_path / "m.tflite", stack)[0]
        graph = whole.subgraphs[0]
        cut = [each._replace(outputs=()) if each.name == "ADD" else each for each in graph.operators]
        check_buffers(replace(whole, subgraphs=(replace(graph, operators=tuple(cut)),)))
