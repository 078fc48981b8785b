"""Facts about LiteRT's kernels that an edit goes by: chains that become lookup tables, buffers, chosen operands."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from graphfix.graph.broadcast import align_anyhow
from graphfix.graph.litert import lookup_tables
from graphfix.graph.litert.buffers import _is_used_after
from graphfix.graph.litert.kernels import other_kernel
from graphfix.graph.litert.lookup_tables import chain_of, changes_table, decides
from graphfix.graph.view import Node
from models.builders.tflite.text import model
from tests.support import engine
from tests.support.notation import node
from tests.support.tflite.shared_buffers import SHARING, TWINS, USED, WRITING, pair, twin


def node_of(data: bytes, result: str) -> Node:
    """The node whose first result has a name."""
    nodes: list[Node] = engine.load(data).graphs[0].nodes
    return next(node for node in nodes if node.results and node.results[0] and node.results[0].name == result)


def reason(data: bytes, result: str, at: int, *, stretched: bool = False) -> str:
    """Why operand `at` of a node is not lifted or stretched; empty where it is."""
    node = node_of(data, result)
    alignment = align_anyhow(node)
    assert alignment is not None
    operand = next(each for each in alignment.operands if each.index == at)
    return other_kernel(node, alignment, operand, stretched=stretched) or ""


# --- chains -----------------------------------------------------------------------------------------------------------

HEAD = "subgraph main(x:int8[2,3], n[2,3], u[*], b:int8[2,3]):\n"
MANY = "\n".join(f"v{at}[2,3] = NEG({f'v{at - 1}' if at else 'f'})" for at in range(8))
ELEVEN = "\n".join(f"v{at}[2,3] = NEG({f'v{at - 1}' if at else 'f'})" for at in range(9))
# text -> the node that is asked, and the operators of its chain
CHAINS = {
    "from 8 bits to 8 bits": (
        "f[2,3] = DEQUANTIZE(x)\ng[2,3] = ADD(f, k:const[1]{0.5})\ny:int8[2,3] = QUANTIZE(g)",
        "g",
        "DEQUANTIZE ADD QUANTIZE",
    ),
    "the first node of it": (
        "f[2,3] = DEQUANTIZE(x)\ng[2,3] = ADD(f, k:const[1]{0.5})\ny:int8[2,3] = QUANTIZE(g)",
        "f",
        "DEQUANTIZE ADD QUANTIZE",
    ),
    "the last node of it": (
        "f[2,3] = DEQUANTIZE(x)\ng[2,3] = ADD(f, k:const[1]{0.5})\ny:int8[2,3] = QUANTIZE(g)",
        "y",
        "DEQUANTIZE ADD QUANTIZE",
    ),
    "8 bits inside": (
        "f[2,3] = DEQUANTIZE(x)\ny:int8[2,3] = QUANTIZE(f)\nz:int8[2,3] = ADD(y, k:const:int8[1]{5})",
        "z",
        "DEQUANTIZE QUANTIZE ADD",
    ),
    "back to no 8 bits": ("f[2,3] = DEQUANTIZE(x)\ng[2,3] = ADD(f, k:const[1]{0.5})", "g", ""),
    "behind the last 8 bits": (
        "f[2,3] = DEQUANTIZE(x)\ny:int8[2,3] = QUANTIZE(f)\nz[2,3] = DEQUANTIZE(y)",
        "f",
        "DEQUANTIZE QUANTIZE",
    ),
    "from floats": ("g[2,3] = ADD(n, k:const[1]{0.5})\ny:int8[2,3] = QUANTIZE(g)", "g", ""),
    "a value that something else reads": (
        "f[2,3] = DEQUANTIZE(x)\ng[2,3] = NEG(f)\nh[2,3] = ABS(f)\ny:int8[2,3] = QUANTIZE(g)",
        "g",
        "",
    ),
    "a value of two operands": (
        "f[2,3] = DEQUANTIZE(x)\ng[2,3] = ADD(f, n)\ny:int8[2,3] = QUANTIZE(g)",
        "g",
        "",
    ),
    "a constant of more elements": (
        "f[2,3] = DEQUANTIZE(x)\ng[2,3] = ADD(f, k:const[3])\ny:int8[2,3] = QUANTIZE(g)",
        "g",
        "",
    ),
    "the operand of the chain again": ("a:int8[2,3] = TANH(x)\ny:int8[2,3] = ADD(a, x)", "y", "TANH ADD"),
    "another operand of 8 bits": ("a:int8[2,3] = TANH(x)\ny:int8[2,3] = ADD(a, b)", "y", ""),
    "an operator of no elements": (
        "f[2,3] = DEQUANTIZE(x)\ng[3,2] = RESHAPE(f, s:const:int32[2]{3,2})\ny:int8[3,2] = QUANTIZE(g)",
        "g",
        "",
    ),
    "behind an operator of no elements": (
        (
            "r:int8[3,2] = RESHAPE(x, s:const:int32[2]{3,2})\nf[3,2] = DEQUANTIZE(r)\ng[3,2] = NEG(f)\n"
            "y:int8[3,2] = QUANTIZE(g)"
        ),
        "g",
        "DEQUANTIZE NEG QUANTIZE",
    ),
    "behind an operand that is no 8 bits": (
        "g[2,3] = NEG(n)\nh:int8[2,3] = QUANTIZE(g)\ny:int8[2,3] = ADD(h, k:const:int8[1]{5})",
        "g",
        "",
    ),
    "ten nodes": (
        f"f[2,3] = DEQUANTIZE(x)\n{MANY}\ny:int8[2,3] = QUANTIZE(v7)",
        "y",
        " ".join(["DEQUANTIZE", *["NEG"] * 8, "QUANTIZE"]),
    ),
    "eleven nodes": (f"f[2,3] = DEQUANTIZE(x)\n{ELEVEN}\ny:int8[2,3] = QUANTIZE(v8)", "y", ""),
}


@pytest.mark.parametrize("name", CHAINS)
def test_the_nodes_that_may_be_one_lookup_table(name: str) -> None:
    text, asked, expected = CHAINS[name]
    assert " ".join(node.op for node in chain_of(node_of(model(HEAD + text), asked))) == expected


def test_an_output_ends_a_chain() -> None:
    text = "f[2,3] = DEQUANTIZE(x)\ng[2,3] = NEG(f)\ny:int8[2,3] = QUANTIZE(g)"
    assert len(chain_of(node_of(model(HEAD + text), "g"))) == 3
    assert not chain_of(node_of(model(HEAD + text, outputs=["g", "y"]), "g"))


@pytest.mark.parametrize(
    "op", "ABS CEIL COS ELU EXP FLOOR GELU HARD_SWISH LOG LOGISTIC NEG RELU RELU6 RELU_0_TO_1 RELU_N1_TO_1 ROUND RSQRT"
    " SIGN SIN SQRT SQUARE TANH".split()
)  # fmt: skip
def test_an_operator_of_one_operand_is_part_of_a_chain(op: str) -> None:
    text = f"{HEAD}f[2,3] = DEQUANTIZE(x)\ng[2,3] = {op}(f)\ny:int8[2,3] = QUANTIZE(g)"
    assert [node.op for node in chain_of(node_of(model(text), "f"))] == ["DEQUANTIZE", op, "QUANTIZE"]


@pytest.mark.parametrize("op", ["ADD", "SUB", "MUL", "DIV", "POW", "PRELU", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE"])
def test_an_operator_beside_a_constant_is_part_of_a_chain(op: str) -> None:
    text = f"{HEAD}f[2,3] = DEQUANTIZE(x)\ng[2,3] = {op}(f, k:const[1]{{0.5}})\ny:int8[2,3] = QUANTIZE(g)"
    assert [node.op for node in chain_of(node_of(model(text), "f"))] == ["DEQUANTIZE", op, "QUANTIZE"]


FLOATS = "f[2,3] = DEQUANTIZE(x)\ng[{1}2,3] = {0}(f, k:const[{1}1]{{{{0.5}}}})\ny:int8[{1}2,3] = QUANTIZE(g)"
BYTES = "a:int8[2,3] = TANH(x)\ny:int8[{1}2,3] = {0}(a, k:const:int8[{1}1]{{{{5}}}})"
# text -> whether the results depend on whether XNNPACK makes a table of the chain
DECIDING = {
    "a constant of as many axes": (FLOATS, "ADD", "", False),
    "a constant of exactly as many axes": (FLOATS.replace("[{1}1]", "[1,1]"), "ADD", "", False),
    "a constant of more axes": (FLOATS, "ADD", "1,1,", True),
    "a constant beside a rank that is not known": (
        "y:int8[*] = ADD(z:int8[*], k:const:int8[1]{{{{5}}}})",
        "",
        "",
        True,
    ),
    "MAXIMUM": (FLOATS, "MAXIMUM", "", True),
    "MINIMUM": (FLOATS, "MINIMUM", "", True),
    "ADD of 8 bits": (BYTES, "ADD", "1,1,", True),
    "SUB of 8 bits": (BYTES, "SUB", "1,1,", True),
    "MUL of 8 bits": (BYTES, "MUL", "1,1,", True),
    "MAXIMUM of 8 bits": (BYTES, "MAXIMUM", "1,1,", False),
    "ADD of 8 bits and a constant of as many axes": (BYTES, "ADD", "", False),
}


@pytest.mark.parametrize("name", DECIDING)
def test_a_chain_decides_where_a_table_returns_something_else(name: str) -> None:
    text, op, more, expected = DECIDING[name]
    data = model(HEAD + text.format(op, more).replace("{{", "{").replace("}}", "}"))
    assert decides(chain_of(node_of(data, "y"))) is expected


SELECTED_INSIDE = "f[2,3] = DEQUANTIZE(x)\ng[2,3] = MAXIMUM(f, k:const[1]{0.5})\ny:int8[2,3] = QUANTIZE(g)"
RANK_LOST = "y:int8[1,1,2,3] = ADD(x, k:const:int8[1,1,1,1]{5})"
# text, the node, what it reads as operand 0 instead -> whether it may be in another table, or have another rank there
CHANGED = {
    "the same operand": (SELECTED_INSIDE, "g", "f", False),
    "an operand outside of the chain": (SELECTED_INSIDE, "g", "n", True),
    "outside of a chain that decides nothing": (SELECTED_INSIDE.replace("MAXIMUM", "ADD"), "g", "n", False),
    "into a chain": (
        f"{SELECTED_INSIDE}\nh[2,3] = MINIMUM(n, l:const[1]{{0.5}})\nz:int8[2,3] = QUANTIZE(h)",
        "h",
        "f",
        True,
    ),
    "an operand of another rank": (RANK_LOST, "y", "m", True),
    "an operand of the same rank": (RANK_LOST, "y", "o", False),
}


@pytest.mark.parametrize("name", CHANGED)
def test_other_operands_may_change_the_table(name: str) -> None:
    text, asked, read, expected = CHANGED[name]
    head = "subgraph main(x:int8[2,3], n[2,3], m:int8[1,2,3], o:int8[2,3]):\n"
    more = "\np:int8[1,2,3] = NEG(m)\nq:int8[2,3] = NEG(o)"
    node = node_of(model(head + text + more), asked)
    graph = node.graph
    every = [*graph.inputs, *(value for each in graph.nodes for value in each.results if value is not None)]
    value = next(each for each in every if each.name == read)
    assert changes_table(node, node.reading((value, *node.operands[1:]))) is expected


# --- buffers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sharing", SHARING)
@pytest.mark.parametrize("writing", [name for name in WRITING if name != "twice"])
def test_an_operand_in_another_buffer_that_is_read_later_is_left(sharing: str, writing: str) -> None:
    data = pair(SHARING[sharing], "", WRITING[writing])[0]
    assert "into the buffer of 't'" in reason(data, "y", int(writing[-1]))


@pytest.mark.parametrize("name", TWINS)
def test_an_operand_of_which_nothing_is_lost_is_lifted(name: str) -> None:
    data = twin(name)[0]
    node = node_of(data, "y")
    at = next(at for at, value in enumerate(node.operands) if value is not None and value.name == "t")
    assert reason(data, "y", at) == ""


RESHAPED = "\nb[6] = RESHAPE(y[1,2,3], f:const:int32[1]{6})\nd[6] = MUL(b, e:const[1]{2.0})\n"
READ_LATER = "z[1,2,3] = NEG(y[1,2,3])\nw[6] = EXP(d[6])"
# (the node that makes t, what follows y, what is lost)
BELOW = {
    "a result that is reshaped, written into, and read later": (RESHAPED + READ_LATER, "y"),
    "reshaped twice": (
        (
            "\nb[6] = RESHAPE(y[1,2,3], f:const:int32[1]{6})\nc[3,2] = RESHAPE(b, f2:const:int32[2]{3,2})\n"
            "d[3,2] = MUL(c, e:const[1]{2.0})\nz[1,2,3] = NEG(y[1,2,3])\nw[3,2] = EXP(d)"
        ),
        "y",
    ),
    "read before it is written into": (
        (
            "\nz[1,2,3] = NEG(y[1,2,3])\nb[6] = RESHAPE(y[1,2,3], f:const:int32[1]{6})\n"
            "d[6] = MUL(b, e:const[1]{2.0})\nw[6] = EXP(d)"
        ),
        "",
    ),
    "reshaped alone": (
        "\nb[6] = RESHAPE(y[1,2,3], f:const:int32[1]{6})\nd[6] = MUL(b, e:const[1]{2.0})\nw[6] = EXP(d)",
        "",
    ),
    "written by no operator that reuses a buffer": (RESHAPED.replace("MUL", "MAXIMUM") + READ_LATER, ""),
    "written by SOFTMAX": (
        RESHAPED.replace("MUL(b, e:const[1]{2.0})", "SOFTMAX(b, beta=1.0)") + READ_LATER,
        "y",
    ),
    "an output of the writer": (RESHAPED + "z[1,2,3] = NEG(y[1,2,3])", ""),
    "read twice": (RESHAPED + READ_LATER + "\nv[6] = ABS(b)", ""),
    "a larger result": (
        (
            "\nb[6] = RESHAPE(y[1,2,3], f:const:int32[1]{6})\nd[2,6] = MUL(b, e:const[2,1]{2.0,3.0})\n"
            "z[1,2,3] = NEG(y[1,2,3])\nw[2,6] = EXP(d)"
        ),
        "",
    ),
}


@pytest.mark.parametrize("name", BELOW)
def test_a_result_that_would_be_lost_below_is_a_reason(name: str) -> None:
    after, lost = BELOW[name]
    made = "t[2,3] = NEG(r[2,3])"  # in its own buffer
    data = pair(made, "", WRITING["ADD 0"], after)[0]
    assert reason(data, "y", 0).partition("into the buffer of ")[2].partition(",")[0] == (f"'{lost}'" if lost else "")


@pytest.mark.parametrize(("used", "is_left"), [("w9[6] = NEG(v)", True), ("", False)])
def test_a_value_may_be_read_later_through_a_reshape(used: str, is_left: bool) -> None:
    before = "v[6] = RESHAPE(t[2,3], s9:const:int32[1]{6})"
    data = pair(SHARING["ADD"], "", WRITING["ADD 0"], f"{used}\n{USED}" if used else USED, before if used else "")[0]
    assert ("into the buffer of 't'" in reason(data, "y", 0)) is is_left


def test_an_output_is_in_no_shared_buffer() -> None:
    for outputs in (["y"], ["t"]):
        text = "r[2,3] = SUB(x[2,3], o[2,3])\nt[2,3] = ADD(r, c:const[1]{2.0})\ny[1,2,3] = ADD(t, q[1,2,3])\n"
        data = model(f"{text}z[2,3] = NEG(t)\nw[1,2,3] = EXP(y)", outputs=[*outputs, "z", "w"])
        assert reason(data, "y", 0) == ""


# --- chosen operands --------------------------------------------------------------------------------------------------

# (node, operand, whether it is stretched) -> the beginning of the reason
CHOSEN = {
    "stretched along the innermost axis": ("y[2,3] = MAXIMUM(x[2,1], n[2,3])", 0, True, "XNNPACK returns another"),
    "stretched along another axis": ("y[2,3] = MAXIMUM(x[1,3], n[2,3])", 0, True, ""),
    "stretched beside a last axis of 1": ("y[2,1] = MINIMUM(x[1,1], n[2,1])", 0, True, "XNNPACK returns another"),
    "stretched beside a free last axis": ("y[2,?] = MINIMUM(x[1,?], n[2,?])", 0, True, "XNNPACK returns another"),
    "of half precision": (
        "y:float16[2,3] = MAXIMUM(x:float16[2,1], n:float16[2,3])",
        0,
        True,
        "XNNPACK returns another",
    ),
    "of one free size": ("a[?] = NEG(x[?])\ny[?] = MAXIMUM(x, a)", 0, True, ""),
    "of integers": ("y:int32[2,3] = MAXIMUM(x:int32[2,1], n:int32[2,3])", 0, True, ""),
    "another operator": ("y[2,3] = ADD(x[2,1], n[2,3])", 0, True, ""),
    "beside a constant of one element with more axes": (
        "y[1,1,3] = MAXIMUM(x[3], k:const[1,1,1]{0.5})",
        0,
        False,
        "XNNPACK returns another",
    ),
    "beside a constant of one element with as many axes": ("y[3] = MAXIMUM(x[3], k:const[1]{0.5})", 0, False, ""),
    "beside a constant of more elements": ("y[1,2,3] = MAXIMUM(x[3], k:const[1,2,1])", 0, False, ""),
    "the constant of one element": ("y[2,3] = MAXIMUM(x[2,3], k:const[1]{0.5})", 1, False, ""),
    "no rank": ("y[*] = MAXIMUM(x[*], n[2,3])", 0, True, "XNNPACK returns another"),
}


@pytest.mark.parametrize("name", CHOSEN)
def test_an_operand_that_xnnpack_would_not_choose_any_more_is_left(name: str) -> None:
    text, at, stretched, expected = CHOSEN[name]
    found = reason(model(text), "y", at, stretched=stretched)
    assert found.startswith(expected) if expected else not found


TABLED = "a:int8[2,3] = TANH(x:int8[2,3])\ny:int8[1,2,3] = ADD(a, k:const:int8[1,1,1]{5})\nz:int8[1,2,3] = NEG(y)"


def test_a_rank_that_kernel_sets_do_not_agree_on_is_a_reason() -> None:
    assert "drops the rank" in reason(model(TABLED), "y", 0)


def test_the_second_result_of_a_node_is_in_no_operands_buffer() -> None:
    text = (
        "u[2,3], t[2,3] = SPLIT(k:const:int32[]{0}, r[4,3], num_splits=2)\ny[1,2,3] = ADD(t, q[1,2,3])\n"
        "z[2,3] = NEG(t)\nv[2,3] = NEG(u)\nw[1,2,3] = EXP(y)"
    )
    assert reason(model(text), "y", 0) == ""


@pytest.mark.parametrize(
    ("readers", "used"),
    [([], False), ([7], True), ([3], False), ([-1], True), ([0], False), ([4], True), ([3, 9], True)],
    ids=["none", "a later one", "an earlier one", "a new one", "the first", "the next", "an earlier and a later one"],
)
def test_what_reads_a_buffer_later_is_known_by_its_place(readers: list[int], used: bool) -> None:
    node: Any = SimpleNamespace(index=4)
    each = [SimpleNamespace(index=at, results=(), op="NEG") for at in readers]
    value: Any = SimpleNamespace(reads=[(reader, 0) for reader in [node, *each]])
    assert _is_used_after(value, node) == used


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y[2,3] = tflite.ADD(x[2,3], k:const[1])", False),
        ("y[1,2,3] = tflite.ADD(x[2,3], k:const[1,1,1])", True),
        ("y[2,3] = tflite.ADD(x[2,3], k:const[1,1])", False),
        ("y[*] = tflite.ADD(x[*], k:const[1])", True),
        ("y[*] = tflite.ADD(x[*], k[1])", False),
        ("y[1,2,3] = tflite.ADD(x[2,3], k[1,1,1])", False),
        ("y[1,2,3] = tflite.ADD(x[2,3], k:const[1,2,1])", False),
        ("y[1,1,1] = tflite.ADD(a:const[1], k:const[1,1,1])", False),
        ("y[2,3] = tflite.SELECT_V2(c:const:bool[1], x[2,3], k:const[1,1,1])", True),
        ("y[2,3] = tflite.SELECT_V2(c:const:bool[1,1,1], x[2,3], k:const[1])", True),
        ("y[2,3] = tflite.SELECT_V2(c[3], x[1,2,3], k:const[1,1])", True),
    ],
)
def test_a_constant_of_one_element_outranks_an_operand_of_fewer_axes(text: str, expected: bool) -> None:
    assert lookup_tables.outranks(node(text)) == expected
