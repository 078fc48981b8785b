"""What LiteRT goes by beside terms: which subgraph, which tensor, whose options. Each pair differs, as LiteRT shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from models.builders.tflite.text import Quantized, Signature, pack, tree
from tests.support.proving import prove
from tests.support.runtimes.litert_groups import KERNELS, Job, run

Model = Any
"""A model of LiteRT's object API, which has no types."""
Pair = Callable[[], tuple[Model, Model]]

HANDLE = "h:resource[] = VAR_HANDLE(container='', shared_name='v')"
COUNTING = f"{HANDLE}\nr[2] = READ_VARIABLE(h)\ns[2] = ADD(r, c:const[2]{{1.0,2.0}})\nASSIGN_VARIABLE(h, s)"
TURNS = (
    "i2:int32[], y[2], z[2] = WHILE(i:int32[], x[2], w[2], cond=test, body=step)\n"
    "subgraph test:\nb:bool[] = LESS(i:int32[], k:const:int32[]{3})\nd[2] = ADD(x[2], w[2])\n"
    "subgraph step:\nj:int32[] = ADD(i:int32[], o:const:int32[]{1})\na[2] = ADD(x[2], w[2])\n"
    "b[2] = RESHAPE(x, s:const:int32[1]{2})\nsubgraph other:\nj:int32[] = ADD(i:int32[], o:const:int32[]{1})\n"
    "a[2] = SUB(x[2], w[2])\nb[2] = ABS(x)"
)
BRANCHES = (
    "q[2] = RESHAPE(x[2], s:const:int32[1]{{2}})\ny[2] = IF(c:bool[], q, then={}, else=no)\n"
    "subgraph yes:\nt[2] = NEG(x[2])\nsubgraph copy:\nt[2] = NEG(x[2])\nsubgraph no:\nt[2] = ABS(x[2])"
)
NINE = np.ones(9, np.int32)


def named(graph: Model, name: str) -> int:
    return next(at for at, tensor in enumerate(graph.tensors) if tensor.name == name)


def called_once(other: str) -> Model:
    return tree(
        f"CALL_ONCE(init=first)\nCALL_ONCE(init=one)\nCALL_ONCE(init={other})\n{HANDLE}\nr[2] = READ_VARIABLE(h)\n"
        f"y[2] = ADD(r, x[2])\nsubgraph first:\n{HANDLE}\nASSIGN_VARIABLE(h, c:const[2]{{1.0,2.0}})\n"
        f"subgraph one:\n{COUNTING}\nsubgraph copy:\n{COUNTING}",
        outputs=["y"],
    )


def spoiled(model: Model, at: int) -> Model:
    """Make the subgraph's operator a RESHAPE with options of nine sizes, which LiteRT refuses when it loads a file."""
    operator = model.subgraphs[at].operators[0]
    codes = [code.builtinCode for code in model.operatorCodes]
    operator.opcodeIndex = codes.index(schema.BuiltinOperator.RESHAPE)
    operator.builtinOptionsType, operator.builtinOptions = schema.BuiltinOptions.ReshapeOptions, reshape_options()
    return model


def reshape_options() -> Model:
    made = schema.ReshapeOptionsT()
    made.newShape = NINE
    return made


def without_if(change: bool) -> Model:
    model = tree(
        "q[2] = RESHAPE(x[2], s:const:int32[1]{2})\ny[2] = ABS(q)\nz[2] = IF(c:bool[], x, then=yes, else=yes)\n"
        "subgraph yes:\nt[2] = NEG(x[2])",
        outputs=["y"],
    )
    if change:
        model.subgraphs[0].operators.pop()
        spoiled(model, 1)
    return model


def turning(last: str, body: int | None = None) -> Model:
    """A loop whose body returns `last`, one name for all of the body's tensors, with options of two kinds if asked."""
    model = tree(TURNS)
    model.subgraphs[1].outputs = model.subgraphs[1].outputs[:1]
    for graph, name in zip(model.subgraphs[2:], (last, "b"), strict=True):
        graph.outputs = np.int32([named(graph, each) for each in ("j", "a", name)])
        for tensor in graph.tensors:
            tensor.name = "t"
    if body is not None:
        operator, newer = model.subgraphs[0].operators[0], schema.StablehloWhileOptionsT()
        operator.builtinOptions.bodySubgraphIndex = body
        newer.condSubgraphIndex, newer.bodySubgraphIndex = 1, 2
        operator.builtinOptions2Type, operator.builtinOptions2 = schema.BuiltinOptions2.StablehloWhileOptions, newer
    return model


def gathered() -> Model:
    """A GATHER with the options of a PACK, whose axis LiteRT does not read."""
    model = tree(
        "g:int32[2] = GATHER(c:const:int32[2,2]{1,2,3,4}, i:const:int32[]{1})\ny:int32[2] = ADD(x:int32[2], g)"
    )
    operator, options = model.subgraphs[0].operators[0], schema.PackOptionsT()
    options.axis = 1
    operator.builtinOptionsType, operator.builtinOptions = schema.BuiltinOptions.PackOptions, options
    return model


def signed(shape: Sequence[int], text: str) -> Model:
    """The input `x` is stored with another shape than its signature says, which LiteRT takes."""
    model = tree(f"{text}\ny[2,3] = ADD(r, b:const[2,3]{{1.0,2.0,3.0,4.0,5.0,6.0}})")
    graph = model.subgraphs[0]
    tensor = graph.tensors[named(graph, "x")]
    tensor.shape, tensor.shapeSignature = np.int32(shape), np.int32([2, 3])
    return model


def weighted(operator: str, *, computed: bool) -> Model:
    """Floats and weights of int8, which are a constant or what a RESHAPE makes of one."""
    scales = {name: Quantized(0.5, 0) for name in ("w", "l")}
    if computed:
        weights = "l:int8[3,3] = RESHAPE(w:const:int8[1,3,3], k:const:int32[2]{3,3})\n"
        return tree(weights + operator.format("l:int8[3,3]"), quantization=scales)
    return tree(operator.format("w:const:int8[3,3]"), quantization=scales)


PRODUCT = "y[2,3,3] = BATCH_MATMUL(x[2,3,3], {})"
CONNECTED = "y[2,3] = FULLY_CONNECTED(x[2,3], {}, )"


def key_of_signature(key: bytes | None) -> Model:
    model = tree("y[2] = ABS(x[2])", signatures={"s": Signature()})
    model.signatureDefs[0].signatureKey = key
    return model


def two_inputs(second: int) -> Model:
    """Two inputs of one name, which are one tensor or two."""
    model = tree("y[2] = ADD(x[2], z[2])")
    graph = model.subgraphs[0]
    graph.tensors[1].name = graph.tensors[0].name
    graph.inputs, graph.operators[0].inputs = np.int32([0, second]), np.int32([1, 1] if second else [0, 0])
    return model


PAIRS: Mapping[str, Pair] = {
    "a subgraph that is called once, or a copy of it": lambda: (called_once("one"), called_once("copy")),
    "a copy of a body, and the body cannot be loaded": lambda: (
        tree(BRANCHES.format("yes")),
        spoiled(tree(BRANCHES.format("copy")), 1),
    ),
    "no operator runs a body, which cannot be loaded": lambda: (without_if(change=False), without_if(change=True)),
    "a body returns its input as it stands": lambda: (turning("b"), turning("x")),
    "options of two kinds": lambda: (turning("b", 2), turning("b", 3)),
    "options of another operator": lambda: (
        gathered(),
        tree("y:int32[2] = ADD(x:int32[2], g:const:int32[2]{2,4})"),
    ),
    "a signature of other sizes": lambda: (
        signed([1, 3], "r[2,3] = ABS(x[2,3])"),
        signed([1, 3], "m[2,3] = RESHAPE(x[2,3], t:const:int32[2]{2,3})\nr[2,3] = ABS(m)"),
    ),
    "a signature of another rank": lambda: (
        signed([3], "r[2,3] = ABS(x[2,3])"),
        signed([3], "m[2,3] = RESHAPE(x[2,3], t:const:int32[2]{2,3})\nr[2,3] = ABS(m)"),
    ),
    "a product with weights that are computed": lambda: (
        weighted(PRODUCT, computed=False),
        weighted(PRODUCT, computed=True),
    ),
    "a product with weights that were computed": lambda: (
        weighted(PRODUCT, computed=True),
        weighted(PRODUCT, computed=False),
    ),
    "weights that were computed": lambda: (weighted(CONNECTED, computed=True), weighted(CONNECTED, computed=False)),
    "a signature without a key": lambda: (key_of_signature(b""), key_of_signature(None)),
}
"""Pairs of which LiteRT refuses the second file, or returns something else."""


def saved(path: Path, model: Model) -> Path:
    path.write_bytes(pack(model))
    return path


def feeds(model: Model) -> tuple[np.ndarray, ...]:
    kinds = {schema.TensorType.BOOL: bool, schema.TensorType.INT32: np.int32}
    graph = model.subgraphs[0]
    tensors = [graph.tensors[at] for at in graph.inputs]
    return tuple(
        (np.arange(np.prod(each.shape)).reshape(each.shape) / 7 + at).astype(kinds.get(each.type, np.float32))
        for at, each in enumerate(tensors)
    )


@pytest.mark.parametrize("what", PAIRS)
def test_files_that_litert_tells_apart_are_not_proved(what: str, tmp_path: Path) -> None:
    models = PAIRS[what]()
    before, after = (saved(tmp_path / f"{at}.tflite", model) for at, model in enumerate(models))
    assert not prove(before, after, tflite=True).proved
    given = feeds(models[0])
    first, second = run([[Job(path.read_bytes(), kernels, given) for kernels in KERNELS] for path in (before, after)])
    pairs = [(one, two) for one, two in zip(first, second, strict=True) if one.fine]
    assert pairs
    assert not all(two.fine and same(one.outputs, two.outputs) for one, two in pairs)


def same(one: Sequence[np.ndarray], two: Sequence[np.ndarray]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_inputs_that_are_one_tensor_are_so_in_both_files(tmp_path: Path) -> None:
    one, two = (saved(tmp_path / f"{at}.tflite", two_inputs(at)) for at in (0, 1))
    assert not prove(two, one, tflite=True).proved
    sizes = np.ones(3, np.float32), np.ones(2, np.float32)
    apart, together = run([[Job(path.read_bytes(), KERNELS[1], sizes)] for path in (two, one)])
    assert apart[0].fine
    assert not together[0].fine


def test_a_body_in_its_place_is_proved(tmp_path: Path) -> None:
    """Of each pair the first file, with another description."""
    for at, (what, pair) in enumerate(PAIRS.items()):
        if what in ("options of two kinds", "options of another operator"):
            continue
        before, model = saved(tmp_path / f"{at}.tflite", pair()[0]), pair()[0]
        model.description = "the same"
        assert prove(before, saved(tmp_path / f"{at}_.tflite", model), tflite=True).reason is None, what


def test_a_stride_of_nothing_is_a_term(tmp_path: Path) -> None:
    text = "y[2] = STRIDED_SLICE(x[4], b:const:int32[1]{0}, e:const:int32[1]{4}, s:const:int32[1]{0}, begin_mask="
    before, after = (saved(tmp_path / f"{mask}.tflite", tree(f"{text}{mask})")) for mask in (0, 1))
    assert not prove(before, after, tflite=True).proved


def test_a_condition_that_an_if_lacks_is_no_traceback(tmp_path: Path) -> None:
    lacking = without_if(change=False)
    lacking.subgraphs[0].operators[-1].inputs = []
    path = saved(tmp_path / "lacking.tflite", lacking)
    assert not prove(path, saved(tmp_path / "whole.tflite", without_if(change=False)), tflite=True).proved


def test_a_pool_of_a_scalar_is_no_traceback(tmp_path: Path) -> None:
    text = "y[1,1,1,1] = MAX_POOL_2D(x[{}], stride_w=1, stride_h=1, filter_width=1, filter_height=1)"
    before, after = (saved(tmp_path / f"{at}.tflite", tree(text.format(dims))) for at, dims in enumerate(("", "1")))
    assert not prove(before, after, tflite=True).proved


def test_paddings_of_floats_are_no_traceback(tmp_path: Path) -> None:
    """A free size and a float make no size."""
    text = "y[?,?] = PAD(x[?,?], p:const:float32[2,2]{{{}.0,0.0,0.0,1.0}})\nz[?,?] = NEG(y)"
    before, after = (saved(tmp_path / f"{front}.tflite", tree(text.format(front))) for front in (1, 2))
    assert not prove(before, after, tflite=True).proved
