"""Convert each node of an ONNX file to a `Call`, which the proof's rules read, and find nodes that call a function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.files.onnx.operators import OF_ONE_VERSION, schema
from graphfix.checker.proof.core.result import UnprovedError
from graphfix.checker.proof.onnx.closed_world.model_parts import declared_by, is_of_runtimes
from graphfix.checker.proof.onnx.closed_world.operator_types import accepted
from graphfix.checker.proof.onnx.closed_world.validate import NOT_IMPORTED, loads
from graphfix.checker.proof.onnx.reading.node_signature import NodeSignature, pattern
from graphfix.checker.proof.onnx.reading.older_forms import CONVERSIONS, VersionedNode, present_form
from graphfix.checker.proof.onnx.reading.operands import Call, domain_of, trimmed
from graphfix.checker.proof.onnx.reading.types import dtype
from graphfix.checker.proof.onnx.reading.versions import (
    compared_attributes,
    meaning,
    version_up_to_8,
    with_old_defaults,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from onnx import AttributeProto, FunctionProto, NodeProto

    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.onnx.closed_world.model_parts import FunctionKey
    from graphfix.checker.proof.onnx.reading.constants import FileConstants
    from graphfix.checker.proof.onnx.reading.node_signature import AttributeForm, Keys
    from graphfix.checker.proof.onnx.reading.operands import Environment

_NONE: frozenset[str] = frozenset()
IDLE_RESULTS = frozenset({"Dropout", "BatchNormalization"})
"""Operators whose first result does not depend on how many empty names follow it.

Terms of all other operators contain the number of results. For them, another result may change the meaning (Split) or
select another kernel (MaxPool, which then treats NaN differently). Before operator set 14 a BatchNormalization with
five results trains. This does no harm, because onnxruntime aborts on such a model.
"""


def described(op: str, name: str, index: int) -> str:
    """Return the description of a node in reports: `Op 'name'`, or `Op#index` for a node without a name."""
    return f"{op} '{name}'" if name else f"{op}#{index}"


def call_of(
    constants: FileConstants,
    node: NodeProto,
    index: int,
    ends: tuple[Sequence[str], Sequence[str]],
    environment: Environment,
    views: Sequence[ProofValue | None],
    attributes: Mapping[str, AttributeProto],
) -> Call:
    """Return a node of a graph as a `Call`.

    A node of an older operator set is converted to its form in operator set 17.

    `index` is the node's position in its graph, and `ends` are the names of its operands and of its results. `views`
    are the values of the operands, None for an operand without a name. `attributes` are the node's attributes, in which
    a function's references are already resolved.

    A node whose older form can't be converted keeps its version. A Concat loses its operands of size 0 along its axis.
    """
    operands, result_names = ends
    op, stated = node.op_type, node.domain
    domain = domain_of(stated) if stated else stated
    version = environment.versions.get(domain, NOT_IMPORTED)
    if version == NOT_IMPORTED and domain in OF_ONE_VERSION:
        constants.world.require_in_first(
            ("not imported", domain), f"the second file does not import the operator set {domain!r}"
        )
        version = 1
    name = node.name
    label = name or f"{op}#{index}"
    written = constants.attributes(attributes) if attributes else ()
    given = len(operands) if "" not in operands else pattern(operands)
    made = len(result_names) if "" not in result_names else pattern(result_names)
    parts = op, stated, node.overload, version, environment.depth > 0, written, given, made
    memo = constants.world.nodes.get(parts) or constants.world.signature_memo(parts)
    kinds = tuple([None if view is None else view.core.dtype or dtype(view.core) for view in views])
    names = result_names if not result_names or result_names[-1] or op not in IDLE_RESULTS else trimmed(result_names)
    keys = memo.keys.get(kinds)
    if keys is None:
        raw, attributes = attributes, with_old_defaults(op, domain, version, attributes)
        given_names = frozenset(attributes) if attributes else _NONE
        since, older = meaning(op, domain, version, given_names), version_up_to_8(op, domain, version, given_names)
        fixed = True
        if since != older and not accepted(op, domain, version, kinds):
            # The version accepts fewer types than later versions do. A node of other types is not compared as the later
            # version.
            since = older
        elif op in CONVERSIONS and not domain and memo.is_allowed and accepted(op, domain, version, kinds):
            changed = present_form(constants, VersionedNode(op, older, tuple(views), attributes, len(names)))
            op, since, views, attributes = changed.op, changed.since, changed.views, changed.attributes
            fixed = False
        keys = _keys(constants, (domain, op, version, since), attributes, written if attributes is raw else None)
        if fixed and attributes is raw:
            memo.keys[kinds] = keys
    call = Call(
        label=label,
        domain=domain,
        op=op,
        version=version,
        meaning_version=keys[0],
        views=views,
        operand_names=operands,
        result_names=names,
        attributes=attributes,
        description=described(op, name, index),
        table=constants.shared.table,
        mapped_key=keys[1],
        exact_key=keys[2],
        signature_memo=memo,
        operand_types=kinds,
        scope=environment,
    )
    return _without_empty_operands(call) if op == "Concat" and not domain else call


def _without_empty_operands(call: Call) -> Call:
    """Return a Concat without its operands of size 0 along the axis, or an Identity if only one operand remains.

    The call is returned unchanged if every operand or no operand has size 0 there, or if a rank is unknown. It is also
    unchanged unless all operands have one type and equal sizes on all other axes. Runtimes refuse a Concat that
    violates this, with or without the empty operands.
    """
    shapes = [view.sizes for view in call.views if view is not None and view.sizes is not None]
    axis, rank = call.integer("axis", 1), len(shapes[0]) if shapes else 0
    if len(shapes) < len(call.views) or not call.lowest_axis(rank) <= axis < rank:
        return call
    beside = {(*sizes[: axis % rank], *sizes[axis % rank + 1 :]) for sizes in shapes if len(sizes) == rank}
    kept = [at for at, sizes in enumerate(shapes) if len(sizes) != rank or sizes[axis] != 0]
    if not 0 < len(kept) < len(shapes) or len(beside) > 1 or any(len(sizes) != rank for sizes in shapes):
        return call
    if not loads(call):
        return call
    call.views, call.operand_names = [call.views[at] for at in kept], [call.operand_names[at] for at in kept]
    call.op = "Concat" if len(kept) > 1 else "Identity"
    return call


def _keys(
    constants: FileConstants,
    operator: tuple[str, str, int, int],
    attributes: Mapping[str, AttributeProto],
    written: tuple[tuple[str, AttributeForm], ...] | None,
) -> Keys:
    """Return the version of an operator's meaning, and the beginning of its terms: without and with all attributes.

    The shorter beginning omits the attributes that the indexing maps already express. `operator` contains domain, name,
    version of the operator set and version of the meaning. `written` are the comparable forms of the attributes, or
    None if they must still be computed.
    """
    domain, op, version, since = operator
    every = constants.attributes(attributes) if written is None else written
    compared = compared_attributes(op, domain, version, attributes) if attributes else attributes
    kept = every if len(compared) == len(every) else tuple([each for each in every if each[0] in compared])
    return since, (domain, op, since, kept), (domain, op, since, every)


def function_of(
    functions: Mapping[FunctionKey, FunctionProto], node: NodeProto, versions: Mapping[str, int]
) -> FunctionProto | None:
    """Return the function of the model that a node calls, or None if runtimes execute the node as an operator.

    `functions` are the model's functions, and `versions` the operator sets that the node's graph imports. Raises
    UnprovedError if the function's domain belongs to runtimes, because a runtime may have an operator of this name.
    """
    domain = domain_of(node.domain)
    function = functions.get((domain, node.op_type, node.overload))
    if function is None or schema(node.op_type, domain, versions.get(domain, NOT_IMPORTED)) is not None:
        return None  # onnx defines an operator of this name, and runtimes execute that operator instead of the function
    if is_of_runtimes(domain):
        raise UnprovedError(f"{node.op_type} is a function in the domain {domain!r}, whose operators runtimes have")
    return function


def record_odd_call(
    constants: FileConstants,
    node: NodeProto,
    operands: Sequence[str],
    function: FunctionProto,
    attributes: Mapping[str, AttributeProto],
    environment: Environment,
) -> None:
    """Record a function call as odd if its operands, results or attributes do not match the function's parameters.

    A call is odd if it lists another number of operands or results, or an empty name. It is also odd if it lacks an
    attribute without a default, passes an undeclared attribute, or is of a domain that is not imported. The second file
    may have an odd call only if the first file has an equal one.
    """
    version = environment.versions.get(domain_of(node.domain), NOT_IMPORTED)
    written = constants.attributes(attributes) if attributes else ()
    ends = pattern(operands), pattern(node.output[:])
    full = ends == (len(function.input), len(function.output)) and version != NOT_IMPORTED
    if not full or set(function.attribute) - attributes.keys() or attributes.keys() - declared_by(function):
        constants.world.require_in_first(
            NodeSignature(node.op_type, node.domain, node.overload, version, environment.depth > 0, written, *ends),
            f"a call of the function {function.name!r} of the second file gives more or less than that takes",
        )
