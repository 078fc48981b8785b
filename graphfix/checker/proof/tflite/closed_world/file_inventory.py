"""Check that the second TFLite file has no part that the first file lacks. Operators are checked elsewhere.

Parts are the schema version, operator codes, metadata, subgraphs, signatures and tensors. Three kinds of parts may be
new: tensors that every runtime accepts, operator codes for the forms in `new_forms` and for formulas, and the
rewriter's metadata entry. The limits were measured with LiteRT 2.3 (`tests/checker/proof/tflite/test_closed_world.py`).
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Final

from graphfix.checker.files.tflite.file import REQUIRED_OF_GRAPH, REQUIRED_PARTS
from graphfix.checker.files.tflite.records import NARROW, WIDTHS
from graphfix.checker.files.tflite.schema import TYPES
from graphfix.checker.proof.core.result import UnprovedError
from graphfix.checker.proof.neutral.compare import binding_options, check_declared_input
from graphfix.checker.proof.tflite.closed_world.new_forms import VERSIONS
from graphfix.checker.proof.tflite.definitions.maker import OPERATORS
from graphfix.checker.proof.tflite.operators.table import STATEFUL

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from graphfix.checker.files.constant_bytes import Payload
    from graphfix.checker.files.tflite.records import Model, Subgraph, Tensor

SCHEMA: Final = 3
"""The version of the schema. LiteRT refuses a file with another version."""
NOTE: Final = "graphfix.assumes"
"""The metadata entry that the rewriter adds. No runtime reads it."""
DEPENDENCIES: Final = "model_control_dependencies"
"""The metadata entry that refers to operators by their index."""
UNREAD: Final = frozenset({"keep_stablehlo_constant", DEPENDENCIES})
"""Metadata entries that the second file may lack, because LiteRT's results do not depend on them.

The runtime's library (libLiteRt.so of LiteRT 2.3) does not contain the first name, so no code can look it up. The
second entry orders operators; their order matters only if some of them keep a state.
"""
BYTE: Final = 8
MOST_BYTES: Final = 1 << 62
"""The most bytes of a tensor. LiteRT refuses a tensor whose bytes can't be counted with 64 bits."""
_WORDS: Final = ("input", "output")
_BITS: Final[Mapping[str, int]] = {**{name: width * BYTE for name, width in WIDTHS.items()}, **NARROW}


def check_parts(one: Model, two: Model) -> None:
    """Raise UnprovedError if the second file (`two`) has a part that the first file lacks and that may not be new.

    A part that the second file lacks also raises UnprovedError, except for parts that never change a result.
    """
    _check_file(one, two)
    _check_codes(one, two)
    _check_metadata(one, two)
    if not one.subgraphs or not two.subgraphs:
        raise UnprovedError("a file has no subgraph")
    _check_subgraphs(one, two)
    for index, (mine, other) in enumerate(zip(one.subgraphs, two.subgraphs, strict=False)):
        if (REQUIRED_OF_GRAPH & mine.given) - other.given:
            raise UnprovedError(f"subgraph {index} of the second file lacks a part that it has in the first one")
        _check_interface(mine, other, "" if not index else f" of subgraph {index}")
        _check_tensors(mine, other)
    if _called(one) != _called(two):
        raise UnprovedError("the signatures are not the same")


def _check_subgraphs(one: Model, two: Model) -> None:
    """Raise UnprovedError if names or variables of the subgraphs differ.

    The second file may lack the last subgraphs if they have no variables.
    """
    names, others = ([graph.name for graph in model.subgraphs] for model in (one, two))
    count = len(others)
    if names[:count] != others:
        raise UnprovedError("the subgraphs are not the same, by number and names")
    ours = _variables(one)
    if ours[:count] != _variables(two) or any(ours[count:]):
        raise UnprovedError("the files have other variables")


def _check_file(one: Model, two: Model) -> None:
    """Raise UnprovedError if runtimes may refuse the second file.

    The reasons are its schema version, a missing identifier, and a missing vector that the first file has.
    """
    if two.version not in (SCHEMA, one.version):
        raise UnprovedError(f"the second file has schema version {two.version}, and runtimes read {SCHEMA}")
    if not two.identified or (REQUIRED_PARTS & one.given) - two.given:
        raise UnprovedError("the second file has no identifier, or lacks a part that the first one has")


def _check_codes(one: Model, two: Model) -> None:
    """Raise UnprovedError if a runtime may not support an operator code that only the second file has.

    Unused operator codes are checked too, because a runtime resolves all of them.
    """
    for name, version in sorted(set(two.codes).difference(one.codes)):
        oldest, newest = VERSIONS.get(name, (1, 1 if name in OPERATORS else 0))
        if not oldest <= version <= newest:
            raise UnprovedError(f"only the second file asks for {name} in version {version}")


def _check_metadata(one: Model, two: Model) -> None:
    """Raise UnprovedError if a metadata entry differs. Delegates read some entries, and callers may read any entry.

    An entry that refers to operators by index requires the same number of operators in both files. The second file may
    lack the entries of `UNREAD`.
    """
    ours, theirs = ([entry for entry in model.metadata if entry[0] != NOTE] for model in (one, two))
    absent = UNREAD.intersection(name for name, _ in ours).difference(name for name, _ in theirs)
    if DEPENDENCIES in absent and _keeps_state(one):
        raise UnprovedError(f"the second file lacks the metadata {DEPENDENCIES!r}, and operators keep a state")
    ours = [entry for entry in ours if entry[0] not in absent]
    if [name for name, _ in ours] != [name for name, _ in theirs] or not all(
        _same(mine, other) for (_, mine), (_, other) in zip(ours, theirs, strict=True)
    ):
        raise UnprovedError("the metadata is not the same")
    counts = [[len(graph.operators) for graph in model.subgraphs] for model in (one, two)]
    if counts[0] != counts[1] and any(name == DEPENDENCIES for name, _ in ours):
        raise UnprovedError(f"the metadata {DEPENDENCIES!r} names operators by their index, and others stand there")


def _keeps_state(model: Model) -> bool:
    """Return whether the order of operators may matter: an operator is custom, keeps a state, or uses a variable."""
    names = {operator.name for graph in model.subgraphs for operator in graph.operators}
    custom = any(name.startswith("custom ") for name in names)
    return custom or not STATEFUL.isdisjoint(names) or any(_variables(model))


def _same(one: Payload | None, two: Payload | None) -> bool:
    """Return whether two metadata entries have equal bytes, or both have no buffer."""
    return one is two if one is None or two is None else one.same(two)


# --- tensors ----------------------------------------------------------------------------------------------------------


def _check_tensors(one: Subgraph, two: Subgraph) -> None:
    """Raise UnprovedError if a runtime may refuse a tensor of the second file, whether or not an operator reads it.

    A tensor is accepted if the first file has a tensor of the same form. For a constant with more bytes than its shape
    needs, both files must also have the same operators in the same order. A RESHAPE of such a constant writes past the
    end of a buffer.
    """
    moved = [operator.name for operator in one.operators] != [operator.name for operator in two.operators]
    odd = [(tensor, why) for tensor in two.tensors if (why := _fault(tensor)) is not None]
    first_forms = {_form(tensor) for tensor in one.tensors} if odd else ()
    for tensor, why in odd:
        longer = tensor.payload is not None and not tensor.odd and _element_fault(tensor) is not None
        if _form(tensor) not in first_forms or (moved and longer):
            raise UnprovedError(f"the tensor {tensor.name!r} of the second file {why}")


def _form(tensor: Tensor) -> tuple[object, ...]:
    """Return the properties of a tensor that a runtime checks at load: all except its name and its elements."""
    payload_length = None if tensor.payload is None else tensor.payload.length
    shape = tensor.signature, tensor.dims, tensor.stored
    return (tensor.dtype, *shape, tensor.quantization, tensor.variable, tensor.odd, payload_length)


def _fault(tensor: Tensor) -> str | None:
    """Return why a runtime may refuse a tensor, or None if every runtime accepts it."""
    stored = tensor.stored
    if tensor.quantization is not None and (not tensor.quantization.loads or tensor.quantization.key[-1]):
        return "has scales that do not fit it, or of a kind of their own"
    if tensor.variable and (tensor.payload is not None or tensor.dtype == "string"):
        return "is a variable that has bytes, or is of strings"
    if tensor.odd:
        return "is sparse or in another file"
    if stored and min(stored) < 0:
        return f"has the shape {list(stored)}"
    if tensor.signature:
        return f"has the shape {list(stored)} and another in its signature"
    return _element_fault(tensor)


def _element_fault(tensor: Tensor) -> str | None:
    """Return why a tensor's type, size or number of bytes may be refused, or None if every runtime accepts them."""
    bits = _BITS.get(tensor.dtype)
    if bits is None:
        return None if tensor.dtype in TYPES.values() else f"has the type {tensor.dtype}, which is not known"
    size = (prod(tensor.stored) * bits + BYTE - 1) // BYTE
    if size > MOST_BYTES:
        return "has more elements than a runtime counts"
    if tensor.payload is not None and tensor.payload.length != size:
        return f"has {tensor.payload.length} bytes, and its shape needs {size}"
    return None


def _variables(model: Model) -> list[list[tuple[object, ...]]]:
    """Return the types and shapes of the variables of each subgraph. A runtime keeps their memory from run to run."""
    return [
        sorted((tensor.dtype, tensor.stored) for tensor in graph.tensors if tensor.variable)
        for graph in model.subgraphs
    ]


# --- subgraphs as callers and operators see them ----------------------------------------------------------------------


def _called(model: Model) -> list[tuple[object, ...]]:
    """Return the signatures of a model, with each input and output as a position in the subgraph's inputs or outputs.

    Raises UnprovedError if a signature refers to a subgraph or tensor that does not exist.
    """
    found: list[tuple[object, ...]] = []
    for key, index, inputs, outputs in model.signatures:
        if not 0 <= index < len(model.subgraphs):
            raise UnprovedError(f"there is no subgraph {index}, which a signature names")
        graph = model.subgraphs[index]
        found.append((key, index, _places(graph.inputs, inputs, "input"), _places(graph.outputs, outputs, "output")))
    return found


def _places(
    file_names: tuple[int, ...], signature_entries: Collection[tuple[str, int]], what: str
) -> tuple[object, ...]:
    """Return (name, position) for each entry of a signature.

    `file_names` contains the tensors of the inputs or outputs.
    """
    if any(at not in file_names for _, at in signature_entries):
        raise UnprovedError(f"a signature names a tensor that is none of the {what}s")
    return tuple((name, file_names.index(at)) for name, at in signature_entries)


def _check_interface(one: Subgraph, two: Subgraph, where: str) -> None:
    """Raise UnprovedError if inputs or outputs of two subgraphs differ.

    Two inputs or outputs must be one tensor in both files, or in neither. Inputs and outputs that are one tensor have
    one memory. LiteRT's WHILE writes results one by one into the inputs of the next iteration, so a shared tensor
    changes the result.
    """
    for what, ours, theirs in zip(_WORDS, (one.inputs, one.outputs), (two.inputs, two.outputs), strict=True):
        if len(ours) != len(theirs):
            counts = f"{len(ours)} in the first file, {len(theirs)} in the second"
            raise UnprovedError(f"the number of {what}s{where} is {counts}")
        for mine, other in zip(ours, theirs, strict=True):
            _check_alike(what, where, one.tensors[mine], two.tensors[other])
    if _shared(one) != _shared(two):
        raise UnprovedError(f"other inputs and outputs{where} are one tensor")


def _shared(graph: Subgraph) -> list[int]:
    """Return, for each input and output, the position of the first input or output that is the same tensor."""
    ends = (*graph.inputs, *graph.outputs)
    return [ends.index(at) for at in ends]


def _check_alike(what: str, where: str, mine: Tensor, other: Tensor) -> None:
    """Raise UnprovedError if two inputs or two outputs differ in name, type or quantization.

    Inputs must also have the same declared shape, and must not be constants.

    `where` is the text that names the subgraph in messages.
    """
    if mine.name != other.name:
        raise UnprovedError(f"the {what} {mine.name!r}{where} has another name")
    if (mine.dtype, mine.quantization) != (other.dtype, other.quantization):
        raise UnprovedError(f"the {what} {mine.name!r}{where} has another type or quantization")
    if what == "output":
        return
    ours, theirs = ((each.signature, each.dims, each.stored, each.variable) for each in (mine, other))
    if ours != theirs:
        how = "" if where else binding_options(mine.name, mine.dims, other.dims)
        raise UnprovedError(f"the {what} {mine.name!r}{where} has another declared shape{how}")
    # LiteRT writes the caller's data over a constant in the same buffer.
    if other.payload is not None or mine.payload is not None:
        raise UnprovedError(f"the {what} {mine.name!r}{where} lies on a constant's buffer")
    check_declared_input(mine.name, (mine.dims, other.dims))
