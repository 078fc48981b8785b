"""Check whether a TFLite model can carry out an edit; every edit is checked before anything is changed."""

from __future__ import annotations

from functools import cache
from math import prod

from graphfix import operators
from graphfix.formats.neutral.editing import NOT_KNOWN
from graphfix.formats.tflite.edit.inline import decide
from graphfix.formats.tflite.edit.new_nodes import NodeBuilder
from graphfix.formats.tflite.edit.new_records import COPYING
from graphfix.formats.tflite.edit.operands import (
    DEQUANTIZE,
    NOT_TILED,
    depends_on_place,
    dequantized,
    lifts,
    stretched_source,
    tiles,
    tiles_lifted,
)
from graphfix.formats.tflite.edit.state import State
from graphfix.formats.tflite.file.reader import MalformedError
from graphfix.formats.tflite.file.records import Operator
from graphfix.formats.tflite.file.schema import BYTE, TENSOR_TYPES, UNSHAPED, item_bytes
from graphfix.formats.tflite.file.tables import read_scales
from graphfix.graph.edits import (
    Bypass,
    Canonicalize,
    DropMetadata,
    Edit,
    Evaluate,
    Fold,
    Inline,
    Lift,
    New,
    Refused,
    Replace,
    Restate,
    StateShape,
    Stretch,
    Upgrade,
)
from graphfix.graph.operand_replacement import becomes_square
from graphfix.graph.view import Node, Value
from graphfix.operators.row import TFLITE
from graphfix.shapes.dim import Shape
from graphfix.shapes.shape import same_shape, with_axes

DENSIFY, PRODUCT = "DENSIFY", "BATCH_MATMUL"
QUANTIZED = frozenset({"int8", "int4"})
"""The element types of weights that a float32 operand may be multiplied by."""
INTEGERS = frozenset({"int4", "int8", "uint8", "int16", "int32"})
"""The element types that a scale and a zero point can quantize, so that an element represents another number."""


def check(state: State, node: Node, edit: Edit) -> None:
    """Raise Refused if the edit of this node can't be carried out; the message completes "left alone because"."""
    builder = state.builders[node.graph]
    index, operator = builder.subgraph.index, builder.subgraph.operator(node.index)
    container = state.container
    why = container.blocker or container.subgraph_blocker(index) or container.operator_blocker(operator)
    if why is not None:
        raise Refused(why)
    match edit:
        case Lift() | Stretch() | Bypass() | Restate():
            _check_operand(state, builder, node, edit)
        case Canonicalize():
            _check_repeated(node.operand(0))
            tiled = tiles_lifted(state, node.operand(0), edit.to)  # If the ranks differ, the operand is lifted first.
            _check_repeating_operator(state, node.operand(0), edit.to, tiled=tiled)
        case Fold() | Evaluate() | Replace():
            _check_node(state, builder, node, edit)
        case Upgrade() | Inline():
            _check_branch(state, builder, operator, edit)
        case DropMetadata() if edit.name not in node.graph.metadata:
            raise Refused(f"the file has no metadata entry {edit.name!r}")
        case StateShape():
            _check_stated(state.builders[edit.value.graph], edit.value)


def _check_stated(builder: NodeBuilder, value: Value) -> None:
    """Raise Refused if the value has no shape that could be stated, or if its table in the file can't be rewritten."""
    if value in value.graph.without_rank and not value.shape.ranked:
        raise Refused(f"the rank of '{value.name}' is not known")
    why = builder.container.tensor_blocker(builder.subgraph.tensor(value))
    if why is not None:
        raise Refused(why)


def _check_operand(state: State, builder: NodeBuilder, node: Node, edit: Lift | Stretch | Bypass | Restate) -> None:
    """Raise Refused if an edit of one operand can't be carried out."""
    value = node.operand(edit.operand)
    match edit:
        case Lift():
            _check_lift(state, builder, value)
            _check_lifting_operator(state, value, edit)
        case Stretch():
            _check_stretch(state, builder, node, edit)
        case Bypass():
            _check_behind(state, builder, value, edit.source)
        case Restate():
            _check_restate(state, builder, value, edit.to)


def _check_branch(state: State, builder: NodeBuilder, operator: Operator, edit: Upgrade | Inline) -> None:
    """Raise Refused for an Upgrade, which TFLite does not have, and for an Inline that can't be carried out."""
    if isinstance(edit, Upgrade):
        raise Refused("TFLite has no operator sets, and its bodies are subgraphs")
    _check_insertion(state)
    if builder.subgraph.index:
        raise Refused("it is in a subgraph beside the main one")
    decide(state.container, operator, edit)


def _check_node(state: State, builder: NodeBuilder, node: Node, edit: Fold | Evaluate | Replace) -> None:
    """Raise Refused if a fold, an evaluation or a replacement of this node can't be carried out."""
    if not isinstance(edit, Replace) and any(result in node.graph.outputs for result in node.results):
        raise Refused("its result is an output of the graph")
    if not isinstance(edit, Replace) or any(isinstance(source, New) for source in edit.node.operands):
        _check_insertion(state)
    if isinstance(edit, Evaluate):
        _check_known(state, builder, node)
    if isinstance(edit, Fold):
        _check_bypass(state, builder, node, node.operand(edit.operand))
    if isinstance(edit, Replace):
        _check_rank(node, edit.node)
        _check_scales(node, edit.node)


def _check_scales(node: Node, last: New) -> None:
    """Raise Refused if a new node in front of the last one would compute with quantized numbers.

    A plan does not contain the scale of such a node's result. RESHAPE and SLICE only copy elements, so they are
    accepted if the operand has one scale, which the result then has too.
    """
    pending = [source for source in last.operands if isinstance(source, New)]
    while pending:
        new = pending.pop()
        pending += [source for source in new.operands if isinstance(source, New)]
        values = [node.operand(source) if isinstance(source, int) else source for source in new.operands]
        for value in values:
            if not isinstance(value, Value) or value.dtype not in INTEGERS or value.dtype != new.dtype:
                continue
            if value.scales > 1 or (value.scales and new.op not in COPYING):
                raise Refused(f"'{value.name}' is quantized, and no scale is known for what {new.op} makes of it")


def _check_rank(node: Node, new: New) -> None:
    """Raise Refused if the new operator broadcasts, and its result has a higher rank than its kernel can broadcast.

    The kernel accepts such a rank for operands of equal shape, so the old operator may have had it.
    """
    row = operators.row(TFLITE, new.op, new.version)
    limit = row.max_rank if row is not None else None
    shapes = [node.operand(source).shape for source in new.operands if isinstance(source, int)]
    if limit is not None and new.shape.rank > limit and not all(same_shape(shapes[0], shape) for shape in shapes):
        raise Refused(f"the runtime broadcasts {new.op} up to rank {limit}, and the result has rank {new.shape.rank}")


def _check_behind(state: State, builder: NodeBuilder, value: Value, source: Value) -> None:
    """Raise Refused if an operand can't read `source` instead of `value`."""
    _check_lasting(builder, source)
    if not _same_scales(state, builder, source, value):
        raise Refused(f"'{source.name}' and '{value.name}' have other scales or zero points")
    if source.kind == "constant" and 0 in (source.shape.axes or ()):
        raise Refused(f"LiteRT refuses the constant '{source.name}', which has no elements, where it takes its copy")


def _check_restate(state: State, builder: NodeBuilder, value: Value, to: Shape) -> None:
    """Raise Refused if a constant, or the result of a DEQUANTIZE of a constant, can't have another shape."""
    stored_constant = dequantized(value) or value
    _check_lift(state, builder, stored_constant)
    if stored_constant is not value:
        _check_insertion(state)
    if stored_constant.scales > 1:
        raise Refused(f"'{stored_constant.name}' has a scale for each index of an axis")
    if (
        stored_constant is not value
        and depends_on_place(stored_constant)
        and prod(stored_constant.shape.numbers) != prod(to.numbers)
    ):
        raise Refused(
            f"the last bit of what DEQUANTIZE makes of '{stored_constant.name}' may depend on an element's place"
        )


def _check_lasting(builder: NodeBuilder, source: Value) -> None:
    """Raise Refused if `source` is a variable, because an operator may write to it before the node reads it."""
    if builder.subgraph.tensor(source).variable:
        raise Refused(f"'{source.name}' is a variable, which may be written before it is read here")


def _check_bypass(state: State, builder: NodeBuilder, node: Node, value: Value) -> None:
    """Raise Refused if the readers of this node's results can't read its operand `value` instead."""
    _check_lasting(builder, value)
    for result in node.results:
        if result is not None and not _same_scales(state, builder, value, result):
            raise Refused(f"'{value.name}' and '{result.name}' have other scales or zero points")
    readers = {reader.op for result in node.results if result is not None for reader, _ in result.reads}
    if value.kind == "constant" and 0 in (value.shape.axes or ()):
        raise Refused(f"LiteRT refuses the constant '{value.name}', which has no elements, where it takes its copy")
    if value.kind == "constant" and DEQUANTIZE in readers:
        raise Refused("XNNPACK leaves the result of a DEQUANTIZE unset that reads a constant")
    if any(becomes_square(reader, {at: value}) for result in node.results if result for reader, at in result.reads):
        raise Refused("XNNPACK rounds the product of a value with itself otherwise than that with its copy")


def _same_scales(state: State, builder: NodeBuilder, one: Value, two: Value) -> bool:
    """Return whether two tensors are quantized alike, so that a kernel may copy the stored numbers.

    Raises Refused if the tables of a quantization are cut short.
    """
    ours, theirs = (builder.subgraph.tensor(value).quantization for value in (one, two))
    flat = state.container.flat
    try:
        return ours == theirs or read_scales(flat, ours) == read_scales(flat, theirs)
    except MalformedError as error:
        raise Refused(f"a quantization is cut short: {error}") from error


def _check_known(state: State, builder: NodeBuilder, node: Node) -> None:
    """Raise Refused if the first result of a node can't be replaced by a constant.

    The result must be known before the run, and must not be too large. Its sizes in LiteRT must be those of the view.
    """
    result = node.results[0]
    if result is None:
        raise Refused("it has no result")
    if not state.is_known(node):
        raise Refused(NOT_KNOWN)
    known_sizes = [
        size for size in result.shape.dims if isinstance(size, int)
    ]  # A size that is not a number counts as 1; if that is wrong, the comparison of sizes below refuses the edit.
    size = prod(known_sizes) * item_bytes(builder.subgraph.tensor(result).type)
    if node.op != DENSIFY and size > state.expand_limit:
        raise Refused(f"the constant would take {size} bytes, more than --max-expand-bytes")
    if len(state.evaluator.elements(builder.subgraph.tensors[result])) != size:
        raise Refused(f"LiteRT computes other sizes than {result.shape}")


def _check_insertion(state: State) -> None:
    """Raise Refused if no operator may be inserted into this file."""
    if state.container.insertion_blocker is not None:
        raise Refused(state.container.insertion_blocker)


def _check_lift(state: State, builder: NodeBuilder, value: Value) -> None:
    """Raise Refused if no tensor with other axes can be made from the value.

    A lifted constant is a second tensor on the constant's buffer. A lifted result is the result of a new node.
    """
    record = builder.subgraph.tensor(value)
    why = state.container.tensor_blocker(record)
    if why is not None:
        raise Refused(why)
    if value.dtype in UNSHAPED:
        raise Refused(f"a {value.dtype} has no shape to change")
    if record.sparse:
        raise Refused(f"the sparse constant '{value.name}' states its axes itself")
    scales = record.quantization
    if scales is not None and scales.scales > 1 and not 0 <= scales.dimension < len(record.shape):
        raise Refused(f"'{value.name}' has {scales.scales} scales, and no axis that they could follow")
    if value.kind != "constant":
        _check_insertion(state)


def _check_stretch(state: State, builder: NodeBuilder, node: Node, edit: Stretch) -> None:
    """Raise Refused if an operand can't be stretched."""
    value = node.operand(edit.operand)
    if not (value.shape.ranked and edit.to.ranked):
        raise Refused("the rank of an operand is not known, and BROADCAST_ARGS ends the process where shapes differ")
    _check_repeated(value)
    _check_lift(state, builder, value)
    if stretched_source(state, builder, value, edit.to) is not None and value.kind == "constant":
        return
    if node.op == PRODUCT and value.dtype in QUANTIZED and node.operand(0).dtype not in QUANTIZED:
        raise Refused(
            f"XNNPACK takes the {value.dtype} operand of a {PRODUCT} in float32 for a constant, whatever makes it"
        )
    _check_insertion(state)
    _check_repeating_operator(state, value, edit.to, tiled=tiles(state, value, edit.to))
    if edit.to.static and value.shape.static:
        return
    if value.dtype == "string":
        raise Refused("BROADCAST_TO takes no strings, and a TILE needs sizes that are known")


def _check_lifting_operator(state: State, value: Value, edit: Lift) -> None:
    """Raise Refused if the target supports no operator that lifts this operand; constants need no operator."""
    if state.movement is None or value.kind == "constant" or dequantized(value) is not None:
        return
    op, lifted = lifts(state, value, edit.axes), with_axes(value.shape, edit.axes)
    if op in state.movement:
        return
    if op == "RESHAPE":
        raise Refused(f"{value} can be lifted by RESHAPE or EXPAND_DIMS alone, and the target takes neither")
    how = ": bind its sizes (--dim)" if "RESHAPE" in state.movement and not lifted.static else ""
    raise Refused(f"{value} can be lifted by EXPAND_DIMS alone, which the target does not take{how}")


def _check_repeating_operator(state: State, value: Value, to: Shape, *, tiled: bool) -> None:
    """Raise Refused if the target does not support the operator that repeats the value.

    If `tiled`, the operator is TILE, whose repeats are numbers; otherwise it is BROADCAST_TO, whose sizes may be
    computed during the run.
    """
    if state.movement is None or ("TILE" if tiled else "BROADCAST_TO") in state.movement:
        return
    if tiled:
        raise Refused(f"{value} can be stretched to {to} by TILE or BROADCAST_TO alone, and the target takes neither")
    free = not (to.static and value.shape.static)
    how = ": bind the free sizes (--dim)" if free and value.dtype not in NOT_TILED and "TILE" in state.movement else ""
    raise Refused(f"{value} can be stretched to {to} by BROADCAST_TO alone, which the target does not take{how}")


def _check_repeated(value: Value) -> None:
    """Raise Refused if no operator can repeat a tensor of this element type."""
    if not _is_repeated(value.dtype):
        raise Refused(f"no operator repeats a tensor of {value.dtype}: TILE refuses it, BROADCAST_TO returns zeros")


@cache
def _is_repeated(dtype: str) -> bool:
    """Return whether TILE or BROADCAST_TO can repeat tensors of this element type."""
    bits = next((bits for name, bits in TENSOR_TYPES.values() if name == dtype), None)
    return not (dtype in UNSHAPED or (bits is not None and bits < BYTE) or dtype.startswith("float8"))
