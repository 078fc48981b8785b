"""Pairs of TFLite models that differ, as little as possible, in ways that look like a broadcast written otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from graphfix.checker.proof import Proof
from models.builders.tflite.text import Signature
from models.builders.tflite.text import model as tflite
from tests.support.faults.tflite.planted import packed, unpacked
from tests.support.proving import prove

KINDS, CODES = schema.TensorType, schema.BuiltinOperator
Change = Callable[[Any], None]
"""Changes a model of LiteRT's object API, which has no types."""


class Pair(NamedTuple):
    """A model, and what makes another one of it."""

    text: str
    change: Change
    signatures: Mapping[str, Signature] | None = None
    shape: Change = lambda _: None
    """What is done to both."""

    def files(self, folder: Path) -> tuple[Path, Path]:
        before, after = folder / "before.tflite", folder / "after.tflite"
        model = unpacked(tflite(self.text, signatures=self.signatures))
        self.shape(model)
        before.write_bytes(packed(model))
        self.change(model)
        after.write_bytes(packed(model))
        return before, after


def proof(before: Path, after: Path) -> Proof:
    return prove(before, after, tflite=True)


def tensor(name: str, **fields: object) -> Change:
    def changed(model: Any) -> None:  # noqa: ANN401 - the object API has no types
        for each in model.subgraphs[0].tensors:
            if each.name == name.encode():
                for field, value in fields.items():
                    setattr(each, field, value)

    return changed


def elements(name: str, numbers: Sequence[int], dtype: type, shape: Sequence[int]) -> Change:
    """Give a constant other elements."""

    def changed(model: Any) -> None:  # noqa: ANN401 - the object API has no types
        for each in model.subgraphs[0].tensors:
            if each.name == name.encode():
                data = np.frombuffer(np.asarray(numbers, dtype).tobytes(), np.uint8)
                model.buffers[each.buffer].data = data
                each.shape = np.asarray(shape, np.int32)
                each.type = KINDS.INT64 if dtype is np.int64 else KINDS.INT32

    return changed


def option(at: int, **fields: object) -> Change:
    def changed(model: Any) -> None:  # noqa: ANN401 - the object API has no types
        for field, value in fields.items():
            setattr(model.subgraphs[0].operators[at].builtinOptions, field, value)

    return changed


def version(number: int, code: int = 0) -> Change:
    return lambda model: setattr(model.operatorCodes[code], "version", number)


def _scaled(axis: int) -> Change:
    def changed(model: Any) -> None:  # noqa: ANN401 - the object API has no types
        made = schema.QuantizationParametersT()
        made.scale, made.zeroPoint = np.float32([0.5, 0.25]), np.int64([0, 0])
        made.quantizedDimension = axis
        model.subgraphs[0].tensors[0].quantization = made

    return changed


def _scaled_once(model: Any) -> None:  # noqa: ANN401 - the object API has no types
    made = schema.QuantizationParametersT()
    made.scale, made.zeroPoint = np.float32([0.5]), np.int64([0])
    tensor("y", quantization=made)(model)


def _exchanged(model: Any) -> None:  # noqa: ANN401 - the object API has no types
    model.subgraphs[1:] = model.subgraphs[:0:-1]


LIFTED = "l[1,2,3] = RESHAPE(x[2,3], t:const:int32{1,2,3})\ny[1,2,3] = NEG(l)"
CAST = "l[1,2,3] = RESHAPE(x[2,3], t:const:int32{1,2,3})\ny:int32[1,2,3] = CAST(l)"
SHAPES = "s:int32[2] = SHAPE(x[N,3], out_type=INT32)\ny:int32[1] = GATHER(s, i:const:int32{1})"
CUT = """
s:int32[2] = SHAPE(x[N,3], out_type=INT32)
y:int32[1] = STRIDED_SLICE(s, b:const:int32{1}, e:const:int32{2}, d:const:int32{1})
"""
WRITE = "v:resource[] = VAR_HANDLE(container='', shared_name='n')\nASSIGN_VARIABLE(v, k:const[]{2.0})"


def called(operator: str) -> str:
    """A main graph that runs subgraph 1 by an operator; subgraph 2 does something else."""
    return f"y[] = {operator}(x[], subgraph=one)\nsubgraph one:\nq[] = NEG(p[])\nsubgraph two:\nq[] = ABS(p[])"


def _effect(model: Any) -> None:  # noqa: ANN401 - the object API has no types
    """The assignment of the first branch is done in any case."""
    main, body = model.subgraphs[0], model.subgraphs[1]
    for name in ("v", "k"):
        at = next(index for index, each in enumerate(body.tensors) if each.name == name.encode())
        main.tensors.append(body.tensors[at])
    handle, write = body.operators[:2]
    del body.operators[:2]
    handle.outputs = np.int32([len(main.tensors) - 2])
    write.inputs = np.int32([len(main.tensors) - 2, len(main.tensors) - 1])
    main.operators[:0] = [handle, write]


PAIRS: Mapping[str, Pair] = {
    # --- what a RESHAPE and the like read ---
    "a target of int64, which gives way to the option": Pair(LIFTED, elements("t", [1, 2, 3], np.int64, [3])),
    "a target that is no vector": Pair(LIFTED, elements("t", [1, 2, 3], np.int32, [3, 1])),
    "a result of another type, whose bits are read anew": Pair(LIFTED, tensor("l", type=KINDS.INT32)),
    "an operand of another type, behind a view": Pair(CAST, tensor("l", type=KINDS.INT32)),
    "several axes at once": Pair(
        "y[1,2,3] = EXPAND_DIMS(x[2,3], t:const:int32{0})",
        elements("t", [0, 0], np.int32, [2]),
    ),
    "repeats that are no vector": Pair(
        "y[3] = TILE(x[1], t:const:int32{3})",
        elements("t", [3], np.int32, []),
    ),
    "an old way to say scalar": Pair(
        "y[0,1] = RESHAPE(x[0], new_shape=[0,1])",
        option(0, newShape=[0]),
    ),
    # --- numbers ---
    "a shape of another type than the option says": Pair(SHAPES, option(0, outType=KINDS.INT64)),
    "an index of another axis": Pair(SHAPES, elements("i", [0], np.int32, [1])),
    "an index from the end": Pair(SHAPES, elements("i", [-1], np.int32, [1])),
    "a gathered number of another type": Pair(SHAPES, tensor("y", type=KINDS.INT64)),
    "the first axis of a shape, by a mask": Pair(CUT, option(1, beginMask=1, endMask=1)),
    "a mask of an axis that is not there": Pair(CUT, option(1, beginMask=2), shape=elements("b", [0], np.int32, [1])),
    "bounds of int64": Pair(CUT, elements("b", [1], np.int64, [1])),
    "a bound that is a scalar": Pair(CUT, elements("b", [1], np.int32, [])),
    # --- what makes a file load ---
    "a version of a view that runtimes have not": Pair(LIFTED, version(9)),
    "a version of an operator that runtimes have not": Pair(LIFTED, version(99, 1)),
    "another version that runtimes have": Pair("y[2,3] = ADD(x[2,3], x)", version(2)),
    "a version that nothing asks for": Pair(LIFTED, lambda model: model.operatorCodes.append(_code(CODES.ABS, 99))),
    "a constant that is variable": Pair(LIFTED, tensor("t", isVariable=True)),
    "a result that is variable": Pair(LIFTED, tensor("l", isVariable=True)),
    "a constant of too few bytes": Pair("y[2,3] = NEG(x[2,3])\nk:const[2]{1.0,2.0}", tensor("k", shape=np.int32([9]))),
    # --- quantization ---
    "another scale between two moves": Pair(
        "l:int8[6,1] = RESHAPE(x:int8[6], t:const:int32{6,1})\ny:int8[6,1] = RESHAPE(l, t)",
        tensor("l", quantization=None),
    ),
    "numbers that are scaled": Pair(
        "s:int32[2] = SHAPE(x[2,3], out_type=INT32)\ny:int32[2] = MUL(s, k:const:int32{2,2})",
        _scaled_once,
    ),
    "scales of another axis": Pair(
        "y[2,2] = DEQUANTIZE(x:int8[2,2])",
        _scaled(1),
        shape=_scaled(0),
    ),
    # --- what is stored and read ---
    "another stored shape of a choice between single elements": Pair(
        "s[1] = SELECT_V2(c:bool[1], x[1], x)\ny:int32[N] = SHAPE(s, out_type=INT32)",
        tensor("s", shape=np.int32([1, 1])),
    ),
    "another shape that an input has at first": Pair("y[N] = NEG(x[N])", tensor("x", shape=np.int32([5]))),
    "another shape that a custom operator gives": Pair(
        "y[N,3] = CUSTOM.Own(x[2,3])",
        tensor("y", shape=np.int32([2, 3]), shapeSignature=np.int32([2, 3])),
    ),
    # --- bodies ---
    "a called subgraph that does something else": Pair(called("CALL"), _exchanged),
    "another subgraph that is run once": Pair(
        f"CALL_ONCE(init=one)\ny[] = NEG(x[])\nsubgraph one:\n{WRITE}\nsubgraph two:\nz:const[]",
        option(0, initSubgraphIndex=2),
    ),
    "a branch's assignment that is done in any case": Pair(
        f"""
        y[] = IF(c:bool[], x[], then=one, else=two)
        subgraph one:
        {WRITE}
        q[] = NEG(p[])
        subgraph two:
        q[] = ABS(p[])
        """,
        _effect,
    ),
    # --- callers ---
    "a signature that names a tensor inside": Pair(
        "h[] = NEG(x[])\ny[] = ABS(h)",
        lambda model: setattr(model.subgraphs[0].operators[0], "inputs", np.int32([0])) or _renumbered(model),
        signatures={"serving": Signature("main", {"x": "x"}, {"y": "h"})},
    ),
}


def _code(number: int, version: int) -> Any:  # noqa: ANN401 - the object API has no types
    made = schema.OperatorCodeT()
    made.builtinCode = made.deprecatedBuiltinCode = number
    made.version = version
    return made


def _renumbered(model: Any) -> None:  # noqa: ANN401 - the object API has no types
    """The tensors 1 and 2 change places: the signature's number means another one."""
    main = model.subgraphs[0]
    main.tensors[1], main.tensors[2] = main.tensors[2], main.tensors[1]
    main.outputs = np.int32([1])
    main.operators[0].outputs = main.operators[1].inputs = np.int32([2])
    main.operators[1].outputs = np.int32([1])


@pytest.mark.parametrize("what", PAIRS)
def test_models_that_differ_are_not_proved(what: str, tmp_path: Path) -> None:
    before, after = PAIRS[what].files(tmp_path)
    assert before.read_bytes() != after.read_bytes()
    assert proof(before, after).status == "not proved"


@pytest.mark.parametrize("what", [what for what in PAIRS if "signature" not in what])
def test_a_model_is_proved_equal_to_itself_described(what: str, tmp_path: Path) -> None:
    """So that no pair is told apart because its first model is not read at all."""
    described: Change = lambda model: setattr(model, "description", b"the same")  # noqa: E731 - one change of many
    before, after = PAIRS[what]._replace(change=described).files(tmp_path)
    assert proof(before, after).reason is None
