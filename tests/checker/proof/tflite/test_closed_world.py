"""What only a second TFLite file has is on one list, in full, or it is not proved: each attack beside a sibling.

The attack leaves what is computed as it is, and LiteRT refuses it, or its process ends, where it takes the first file
and the sibling, which is proved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from models.builders.tflite.text import model as tflite
from tests.support.faults.tflite.planted import packed, unpacked
from tests.support.needs import by_release
from tests.support.proving import prove
from tests.support.runtimes.litert_groups import KERNELS, Job, run

KINDS, CODES = schema.TensorType, schema.BuiltinOperator
Change = Callable[[Any], None]
"""Changes a model of LiteRT's object API, which has no types."""

ADD = "y[2,3] = ADD(x[2,3], k:const[1,3]{1.0,2.0,3.0})"
DEEP = ",".join("1" * 7)
"""Seven unit axes."""


def bytes_of(data: bytes) -> np.ndarray:
    return np.frombuffer(data, np.uint8)


def buffer(model: Any, data: bytes) -> int:  # noqa: ANN401 - the object API has no types
    made = schema.BufferT()
    made.data = bytes_of(data)
    model.buffers.append(made)
    return len(model.buffers) - 1


def unused(data: bytes | None = None, **fields: object) -> Change:
    """Add a tensor that nobody reads."""

    def changed(model: Any) -> None:  # noqa: ANN401 - the object API has no types
        made = schema.TensorT()
        made.name, made.shape, made.type = b"unused", np.int32([3]), KINDS.FLOAT32
        made.buffer = 0 if data is None else buffer(model, data)
        for name, value in fields.items():
            setattr(made, name, value)
        model.subgraphs[0].tensors.append(made)

    return changed


def code(number: int, version: int = 1) -> Change:
    """Add the code of an operator that nobody has."""

    def changed(model: Any) -> None:  # noqa: ANN401 - the object API has no types
        made = schema.OperatorCodeT()
        made.builtinCode, made.deprecatedBuiltinCode, made.version = number, min(number, 127), version
        model.operatorCodes.append(made)

    return changed


def scaled(scales: Sequence[float], zeros: Sequence[int], axis: int) -> schema.QuantizationParametersT:
    made = schema.QuantizationParametersT()
    made.scale, made.zeroPoint, made.quantizedDimension = np.float32(scales), np.int64(zeros), axis
    return made


def blockwise() -> schema.QuantizationParametersT:
    made = schema.QuantizationParametersT()
    made.detailsType = schema.QuantizationDetails.BlockwiseQuantization
    return made


def tensor(model: Any, name: str) -> Any:  # noqa: ANN401 - the object API has no types
    return next(each for each in model.subgraphs[0].tensors if each.name == name.encode())


def on_buffer(name: str, data: bytes) -> Change:
    def changed(model: Any) -> None:  # noqa: ANN401 - the object API has no types
        tensor(model, name).buffer = buffer(model, data)

    return changed


def on_the_buffer_of(name: str, other: str) -> Change:
    def changed(model: Any) -> None:  # noqa: ANN401 - the object API has no types
        tensor(model, name).buffer = tensor(model, other).buffer

    return changed


def field(name: str, value: object) -> Change:
    return lambda model: setattr(model, name, value)


def subgraph(model: Any) -> None:  # noqa: ANN401 - the object API has no types
    model.subgraphs.append(schema.SubGraphT())


class Attack(NamedTuple):
    """Two files that are no pair: the first, what makes the second of it or its text, and the sibling of that."""

    before: str
    after: str | Change
    sibling: str | Change

    def files(self, folder: Path) -> tuple[Path, Path, Path]:
        found = []
        for name, made in (("before", self.before), ("after", self.after), ("sibling", self.sibling)):
            path = folder / f"{name}.tflite"
            if isinstance(made, str):
                path.write_bytes(tflite(made))
            else:
                model = unpacked(tflite(self.before))
                made(model)
                path.write_bytes(packed(model))
            found.append(path)
        return found[0], found[1], found[2]


def lifted(shape: str, operator: str, back: str) -> str:
    """`h = operator(lifted x)` at a rank, and the result without the unit axes."""
    sizes = shape.strip("[]")
    return (
        f"l{shape} = RESHAPE(x[2,3], t:const:int32{{{sizes}}})\n{operator}\n"
        f"y{back} = RESHAPE(h, b:const:int32{{{back.strip('[]')}}})"
    )


def dead(operator: str) -> str:
    """A model beside which an operator stands that nobody needs."""
    return f"{ADD}\n{operator}"


def without_output(text: str) -> Change:
    """The model of a text, but with the one output of the first file alone."""

    def changed(model: Any) -> None:  # noqa: ANN401 - the object API has no types
        made = unpacked(tflite(dead(text)))
        made.subgraphs[0].outputs = made.subgraphs[0].outputs[:1]
        vars(model).update(vars(made))

    return changed


LOAD: Mapping[str, Attack] = {
    "a schema that no runtime reads": Attack(ADD, field("version", 4), field("description", b"the same")),
    "a code behind the last operator": Attack(ADD, code(210), code(CODES.RESHAPE)),
    "a code that stands for others": Attack(ADD, code(127), code(CODES.ADD)),
    "a code of an operator that runtimes have not": Attack(ADD, code(CODES.STABLEHLO_CBRT), code(CODES.TILE, 2)),
    "a code of a version that runtimes have not": Attack(ADD, code(CODES.RESHAPE, 2), code(CODES.RESHAPE)),
    "a custom operator without a name": Attack(ADD, code(CODES.CUSTOM), code(CODES.SHAPE)),
    "a type that is none": Attack(ADD, unused(type=25), unused(type=KINDS.COMPLEX128)),
    "a negative size": Attack(ADD, unused(shape=np.int32([-5])), unused(shape=np.int32([0]))),
    "more elements than are counted": Attack(
        ADD, unused(shape=np.int32([2**31 - 1] * 3)), unused(shape=np.int32([2**31 - 1]))
    ),
    "a constant that is too short": Attack(ADD, unused(bytes(8)), unused(bytes(12))),
    "a constant without bytes": Attack(ADD, unused(b""), unused(b"", shape=np.int32([0]))),
    "a constant of half bytes that is too short": Attack(
        ADD, unused(bytes(1), type=KINDS.INT4), unused(bytes(2), type=KINDS.INT4)
    ),
    "scales of an axis that is not there": Attack(
        ADD, unused(quantization=scaled([1, 2, 3], [0] * 3, 1)), unused(quantization=scaled([1, 2, 3], [0] * 3, 0))
    ),
    "fewer scales than indices": Attack(
        ADD, unused(quantization=scaled([1, 2], [0] * 2, 0)), unused(quantization=scaled([1], [0], 0))
    ),
    "fewer zero points than scales": Attack(
        ADD, unused(quantization=scaled([1, 2, 3], [0], 0)), unused(quantization=scaled([1], [3], 0))
    ),
    "scales by blocks that are not there": Attack(
        ADD, unused(quantization=blockwise()), unused(quantization=scaled([0.5], [0], 0))
    ),
    "a subgraph without a tensor": Attack(ADD, subgraph, field("description", b"the same")),
    "an input on a buffer without bytes": Attack(ADD, on_buffer("x", b""), unused()),
    "a result on a buffer without bytes": Attack(ADD, on_buffer("y", b""), unused()),
    "a result on a constant's buffer": Attack(
        ADD.replace("[1,3]{1.0,2.0,3.0}", "[2,3]{1.0,2.0,3.0,4.0,5.0,6.0}"), on_the_buffer_of("y", "k"), unused()
    ),
    "a broadcast over nine axes": Attack(
        ADD.replace("[1,3]", "[3]"),
        lifted(f"[{DEEP},2,3]", f"h[{DEEP},2,3] = SUB(l, k:const[3]{{1.0,2.0,3.0}})", "[2,3]").replace("SUB", "ADD"),
        lifted("[1,1,2,3]", "h[1,1,2,3] = ADD(l, k:const[3]{1.0,2.0,3.0})", "[2,3]"),
    ),
    "a matrix product over six axes": Attack(
        "y[2,4] = BATCH_MATMUL(x[2,3], k:const[3,4])",
        lifted("[1,1,1,1,2,3]", "h[1,1,1,1,2,4] = BATCH_MATMUL(l, k:const[3,4])", "[2,4]"),
        "l[3,4] = RESHAPE(k:const[3,4], t:const:int32{3,4})\ny[2,4] = BATCH_MATMUL(x[2,3], l)",
    ),
    "a choice over nine axes": Attack(
        f"y[{DEEP},2,3] = SELECT(c:bool[], a[{DEEP},2,3], b[{DEEP},2,3])",
        f"y[{DEEP},2,3] = SELECT_V2(c:bool[], a[{DEEP},2,3], b[{DEEP},2,3])",
        field("description", b"the same"),
    ),
    "a SQUEEZE of nine axes": Attack(
        f"h[{DEEP},2,3] = NEG(x[{DEEP},2,3])\ny[2,3] = RESHAPE(h, t:const:int32{{2,3}})",
        f"h[{DEEP},2,3] = NEG(x[{DEEP},2,3])\ny[2,3] = SQUEEZE(h, squeeze_dims=[0,1,2,3,4,5,6])",
        f"h[{DEEP},2,3] = NEG(x[{DEEP},2,3])\nl[{DEEP},1,2,3] = EXPAND_DIMS(h, t:const:int32[]{{0}})\n"
        f"y[2,3] = RESHAPE(l, u:const:int32{{2,3}})",
    ),
    "options of a RESHAPE of nine sizes": Attack(
        f"y[{DEEP},2,3] = RESHAPE(x[2,3], t:const:int32{{{DEEP},2,3}})",
        f"y[{DEEP},2,3] = RESHAPE(x[2,3], t:const:int32{{{DEEP},2,3}}, new_shape=[{DEEP},2,3])",
        f"y[{DEEP},2,3] = RESHAPE(x[2,3], t:const:int32{{{DEEP},2,3}}, new_shape=[2,3])",
    ),
    "repeats of int16": Attack(
        ADD,
        without_output("d[2,3] = TILE(k, r:const:int16[2]{2,1})"),
        without_output("d[2,3] = TILE(k, r:const:int32[2]{2,1})"),
    ),
    "a SLICE beyond the end": Attack(
        ADD,
        without_output("d[1,3] = SLICE(m:const[2,3], b:const:int32[2]{2,0}, s:const:int32[2]{1,3})"),
        without_output("d[1,1,3] = RESHAPE(k, r:const:int32[3]{1,1,3})"),
    ),
    "a RESHAPE of a constant to a size below -1": Attack(
        "y[3,2] = ADD(x[3,2], k:const[3,2]{1.0,2.0,3.0,4.0,5.0,6.0})",
        "k[3,2] = RESHAPE(m:const[2,3]{1.0,2.0,3.0,4.0,5.0,6.0}, t:const:int32[2]{-7,2})\ny[3,2] = ADD(x[3,2], k)",
        "k[3,2] = RESHAPE(m:const[2,3]{1.0,2.0,3.0,4.0,5.0,6.0}, t:const:int32[2]{-1,2})\ny[3,2] = ADD(x[3,2], k)",
    ),
    "a RANGE that leads away": Attack(
        ADD,
        without_output("d:int32[0] = RANGE(a:const:int32[]{0}, b:const:int32[]{3}, c:const:int32[]{-1})"),
        without_output("d:int32[2] = SHAPE(x, out_type=INT32)"),
    ),
    "a PACK of one count that packs another": Attack(
        ADD,
        without_output("d:int32[2] = PACK(a:const:int32[]{0}, b:const:int32[]{3}, axis=0, values_count=3)"),
        without_output("d:int32[4] = CONCATENATION(a:const:int32[2]{0,1}, a, axis=0)"),
    ),
    "a copy by an operator that LiteRT has no kernel for": Attack(
        "y[2,3] = BROADCAST_TO(x[1,3], t:const:int32[2]{2,3})",
        "y[2,3] = STABLEHLO_BROADCAST_IN_DIM(x[1,3], broadcast_dimensions=[0,1])",
        "y[2,3] = TILE(x[1,3], t:const:int32[2]{2,1})",
    ),
}


RUN_BEFORE = ("a broadcast over nine axes", "a choice over nine axes", "a SLICE beyond the end")
"""What older releases of LiteRT run."""


def proved(before: Path, after: Path) -> bool:
    return prove(before, after, tflite=True).proved


def _feeds(path: Path) -> tuple[np.ndarray, ...]:
    main = unpacked(path.read_bytes()).subgraphs[0]
    shapes = [(main.tensors[at].shape, main.tensors[at].type) for at in main.inputs]
    return tuple(np.ones(shape, bool if kind == KINDS.BOOL else np.float32) for shape, kind in shapes)


@pytest.mark.parametrize("what", by_release(LOAD, dict.fromkeys(RUN_BEFORE, "ai-edge-litert>=2.3")))
def test_what_litert_refuses_is_not_proved_and_its_sibling_is(what: str, tmp_path: Path) -> None:
    before, after, sibling = LOAD[what].files(tmp_path)
    assert not proved(before, after)
    assert proved(before, sibling)
    feeds = _feeds(before)
    jobs = [[Job(path.read_bytes(), kernels, feeds) for kernels in KERNELS] for path in (before, after, sibling)]
    first, second, third = run(jobs)
    taken = [at for at, ran in enumerate(first) if ran.fine]
    assert taken
    assert not all(second[at].fine for at in taken)
    assert all(third[at].fine for at in taken)


def metadata(name: bytes, data: bytes) -> Change:
    def changed(model: Any) -> None:  # noqa: ANN401 - the object API has no types
        made = schema.MetadataT()
        made.name, made.buffer = name, buffer(model, data)
        model.metadata = [*(model.metadata or []), made]

    return changed


def both(*changes: Change) -> Change:
    def changed(model: Any) -> None:  # noqa: ANN401 - the object API has no types
        for change in changes:
            change(model)

    return changed


def renamed_graph(model: Any) -> None:  # noqa: ANN401 - the object API has no types
    model.subgraphs[0].name = b"another"


def custom_options(model: Any) -> None:  # noqa: ANN401 - the object API has no types
    model.subgraphs[0].operators[0].customOptions = bytes_of(b"more")


def mutating(model: Any) -> None:  # noqa: ANN401 - the object API has no types
    model.subgraphs[0].operators[0].mutatingVariableInputs = [True]


def custom_code(model: Any) -> None:  # noqa: ANN401 - the object API has no types
    code(CODES.CUSTOM)(model)
    model.operatorCodes[-1].customCode = b"Own"


LIFT = "l[1,2,3] = RESHAPE(x[2,3], t:const:int32{1,2,3})\ny[1,2,3] = NEG(l)"
CLOSED: Mapping[str, tuple[str, Change]] = {
    "what delegates read": (ADD, metadata(b"reduced_precision_support", b"fp16")),
    "what callers read": (ADD, metadata(b"min_runtime_version", b"1.5")),
    "the name of a subgraph": (ADD, renamed_graph),
    "a custom operator that nobody has": (ADD, custom_code),
    "a signature of another number of axes": (ADD, unused(shapeSignature=np.int32([-1, 3]))),
    "a sparse tensor": (ADD, unused(sparsity=schema.SparsityParametersT())),
    "options that a RESHAPE has not": (LIFT, custom_options),
    "operands that a RESHAPE does not change": (LIFT, mutating),
}


@pytest.mark.parametrize("what", CLOSED)
def test_a_part_that_the_first_file_has_not_is_not_proved(what: str, tmp_path: Path) -> None:
    """Whatever it does: no runtime need show it. In both files it is no difference."""
    text, change = CLOSED[what]
    paths = [tmp_path / f"{name}.tflite" for name in ("before", "after", "described")]
    for path, changes in zip(paths, ((), (change,), (change, field("description", b"more"))), strict=True):
        made = unpacked(tflite(text))
        both(*changes)(made)
        path.write_bytes(packed(made))
    assert not proved(paths[0], paths[1])
    assert proved(paths[1], paths[2])


def test_the_rewriter_may_add_its_note(tmp_path: Path) -> None:
    before, after = tmp_path / "before.tflite", tmp_path / "after.tflite"
    before.write_bytes(tflite(ADD))
    model = unpacked(before.read_bytes())
    metadata(b"graphfix.assumes", b"N = 3")(model)
    after.write_bytes(packed(model))
    assert proved(before, after)


UNREAD = (b"keep_stablehlo_constant", b"model_control_dependencies")
STATE = "r[2] = RANDOM_UNIFORM(s:const:int32[1]{2})\ny[2] = ADD(r, x[2])"


def without(text: str, name: bytes, tmp_path: Path) -> tuple[Path, Path]:
    """Write a file with a metadata entry, and the same without it."""
    before, after = tmp_path / "before.tflite", tmp_path / "after.tflite"
    model = unpacked(tflite(text))
    metadata(b"min_runtime_version", b"1.5")(model)
    after.write_bytes(packed(model))
    metadata(name, bytes([1, 1, 0]))(model)
    before.write_bytes(packed(model))
    return before, after


@pytest.mark.parametrize("name", UNREAD)
def test_the_rewriter_may_leave_out_what_no_result_depends_on(name: bytes, tmp_path: Path) -> None:
    before, after = without(ADD, name, tmp_path)
    assert proved(before, after)
    assert not proved(after, before)


@pytest.mark.parametrize("name", [b"reduced_precision_support", b"TFLITE_METADATA", b"keep_stablehlo_constants"])
def test_no_other_entry_may_be_left_out(name: bytes, tmp_path: Path) -> None:
    assert not proved(*without(ADD, name, tmp_path))


@pytest.mark.parametrize("text", [STATE, "v:variable[2,3]\ny[2,3] = ADD(v, x[3])", "y[2] = CUSTOM.Own(x[2])"])
def test_the_order_of_operators_that_keep_a_state_may_not_be_left_out(text: str, tmp_path: Path) -> None:
    assert not proved(*without(text, b"model_control_dependencies", tmp_path))
    assert proved(*without(text, b"keep_stablehlo_constant", tmp_path))


def test_an_entry_that_is_kept_holds_what_it_held(tmp_path: Path) -> None:
    before, after = without(ADD, b"keep_stablehlo_constant", tmp_path)
    model = unpacked(after.read_bytes())
    model.buffers[model.metadata[0].buffer].data = bytes_of(b"9.9")
    after.write_bytes(packed(model))
    assert not proved(before, after)


def test_a_result_of_unstated_rank_may_be_stated(tmp_path: Path) -> None:
    text = "m[] = REDUCE_MAX(x[2,3], a:const:int32[2]{0,1}, keep_dims=False)\ny[2,3] = SUB(x, m)"
    before, after = tmp_path / "before.tflite", tmp_path / "after.tflite"
    before.write_bytes(tflite(text, has_rank=False))
    model = unpacked(before.read_bytes())
    tensor(model, "m").hasRank = True
    after.write_bytes(packed(model))
    assert proved(before, after)
    tensor(model, "m").shape = np.int32([1])  # no kernel makes that
    after.write_bytes(packed(model))
    assert not proved(before, after)


@pytest.mark.parametrize("front", [True, False], ids=["in front", "behind"])
def test_of_a_buffer_with_bytes_and_an_offset_the_bytes_count(front: bool, tmp_path: Path) -> None:
    """As in LiteRT: other bytes at the offset are no difference, other bytes in front of it are one."""
    before, after = tmp_path / "before.tflite", tmp_path / "after.tflite"
    before.write_bytes(tflite(ADD))
    model = unpacked(before.read_bytes())
    held = model.buffers[tensor(model, "k").buffer]
    held.offset, held.size = 8, 12
    if front:
        held.data = bytes_of(np.float32([3, 2, 1]).tobytes())
    after.write_bytes(packed(model))
    assert proved(before, after) is not front
    feeds = _feeds(before)
    (one, two) = run([[Job(path.read_bytes(), KERNELS[0], feeds)] for path in (before, after)])
    assert (one[0].outputs[0].tobytes() == two[0].outputs[0].tobytes()) is not front
