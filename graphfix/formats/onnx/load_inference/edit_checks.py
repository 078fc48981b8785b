"""Refuse edits after which a shape that onnx infers wrongly at load could make onnxruntime fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphfix.formats.onnx.load_inference.inferred_shapes import Told
from graphfix.formats.onnx.load_inference.suspects import FUNCTION
from graphfix.formats.onnx.load_inference.wrong_shapes import CROWDED, LoadInference
from graphfix.graph.edits import (
    Bypass,
    Canonicalize,
    Edit,
    Evaluate,
    Fold,
    Inline,
    Lift,
    New,
    Refused,
    Replace,
    Stretch,
)
from graphfix.graph.view import Graph, Node
from graphfix.shapes.dim import Shape
from graphfix.shapes.shape import with_axes


def check_load(inference: LoadInference, node: Node, edits: Sequence[Edit]) -> None:
    """Raise Refused if the edits of a node could make onnxruntime fail because of a wrongly inferred shape."""
    edits = [edit for edit in edits if _changes_nodes(node, edit)]
    if not edits:
        return
    if inference.failure:
        raise Refused(f"{inference.failure}: what onnxruntime infers at load is not known")
    if node.graph in inference.crowded:
        raise Refused(f"{inference.crowded[node.graph]}: {CROWDED}")
    if any(isinstance(edit, Inline) for edit in edits):
        _check_inlining(inference, node)
    _check_new_values(inference, node, edits)
    _check_hidden(inference, node)


def _changes_nodes(node: Node, edit: Edit) -> bool:
    """Return whether an edit adds or removes nodes. The lift of a constant does not."""
    if isinstance(edit, Lift):
        return node.operand(edit.operand).kind != "constant"
    return isinstance(edit, Bypass | Canonicalize | Evaluate | Fold | Inline | Replace | Stretch)


def _check_new_values(inference: LoadInference, node: Node, edits: Sequence[Edit]) -> None:
    """Raise Refused if a value that the edits make has the wrong shape of another value, or is computed from it."""
    wrong = inference.wrong.get(node.graph, {})
    adding = [edit for edit in edits if isinstance(edit, Canonicalize | Lift | Replace | Stretch)]
    if not wrong or not adding:
        return
    replaces = any(isinstance(edit, Replace) for edit in adding)
    for value in (*node.operands, *node.results):
        claim = wrong.get(value.name) if value is not None else None
        if claim is not None and (value in node.operands or replaces or not claim.of_output):
            raise Refused(_shared(claim))
    made = {dims for edit in adding for dims in _made(node, edit)}
    inlined = node.graph.path.startswith(FUNCTION)
    for claim in wrong.values():
        # The sizes of a call are inferred where the function is inlined.
        is_met = claim.inferred in made or (inlined and claim.shares and any(None in dims for dims in made))
        if is_met and not claim.of_output:
            raise Refused(_shared(claim))


def _shared(claim: object) -> str:
    return f"{claim}: a new value could share its buffer"


def _made(node: Node, edit: Edit) -> Iterator[Told]:
    """Yield the dims of the values that an edit makes. An unknown rank is one unknown size.

    If a size is free, the dims of the shape arithmetic are yielded too.
    """
    for shape in _shapes_made(node, edit):
        yield (None,) if shape.json is None else tuple(shape.json)
        if shape.ranked and not shape.static:
            yield (shape.rank,)
            yield (1,)


def _shapes_made(node: Node, edit: Edit) -> Iterator[Shape]:
    """Yield the shapes of the values that an edit makes, without those of shape arithmetic."""
    match edit:
        case Lift():
            yield with_axes(node.operand(edit.operand).shape, edit.axes)
        case Stretch() | Canonicalize():
            yield edit.to
        case Replace():
            pending = [edit.node, *(new for _, new in edit.others)]
            while pending:
                new = pending.pop()
                yield new.shape
                pending += [each for each in new.operands if isinstance(each, New)]


def _check_inlining(inference: LoadInference, node: Node) -> None:
    """Raise Refused if inlining a body could bring a wrong shape together with another value of that shape.

    The wrong shape may be in the body, or in the graph around it.
    """
    outer = {claim.inferred: claim for claim in inference.wrong.get(node.graph, {}).values() if not claim.of_output}
    for body in _bodies(inference, node):
        for claims in (inference.wrong, inference.hidden):
            for claim in claims.get(body, {}).values():
                raise Refused(f"{claim}: a value of the graph around the body could share its buffer")
        for value in (value for inner in body.nodes for value in inner.results if outer and value is not None):
            claim_around = outer.get(tuple(value.shape.json or ()))
            if claim_around is not None:
                raise Refused(f"{claim_around}: a value of the body could share its buffer")


def _bodies(inference: LoadInference, node: Node) -> Iterator[Graph]:
    """Yield the bodies inside a node, an outer one before those inside it."""
    for body in inference.inside.get((node.graph, node.index), ()):
        yield body
        for inner in body.nodes:
            yield from _bodies(inference, inner)


def _check_hidden(inference: LoadInference, node: Node) -> None:
    """Raise Refused if a wrong shape that depends on the node's results would appear once more sizes are stated."""
    names = {(node.graph.path, value.name) for value in node.results if value is not None}
    if inference.above.isdisjoint(names):
        return
    claim = next(claim for claims in inference.hidden.values() for claim in claims.values())
    raise Refused(f"{claim}, once the sizes in front of it are stated")
