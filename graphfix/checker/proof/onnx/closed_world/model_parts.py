"""Compare the parts of two ONNX files besides their nodes: versions, operator sets, functions, metadata, annotations.

Each part of the second file must equal a part of the first file, or be one of the changes that are allowed here, with
the reason beside them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

import onnx.defs

from graphfix.checker.proof.onnx.reading.operands import domain_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from onnx import FunctionProto, ModelProto, OperatorSetIdProto, TensorAnnotation

FunctionKey: TypeAlias = tuple[str, str, str]
"""Domain, name and overload of a function."""
Called: TypeAlias = "tuple[Collection[FunctionKey], Collection[FunctionKey]]"
"""The functions that were read because a node calls them: of the first file, and of the second file."""
KNOWN_FORM, KNOWN_SET = 10, 21
"""The IR version and the standard operator set that every maintained runtime supports. A file may be raised to them."""
FIRST_SET = 7
"""The oldest standard operator set that every maintained runtime supports."""
OWN_METADATA = "graphfix.assumes"
"""The metadata entry that `graphfix fix` adds. No runtime reads it, but runtimes read others, such as `ort_config`."""
_OF_RUNTIMES = ("ai.onnx", "com.microsoft", "com.ms", "org.pytorch")
"""Domains whose operators runtimes implement. A runtime executes its own operator, not a function in the file."""


def is_of_runtimes(domain: str) -> bool:
    """Return whether runtimes may implement the operators of a domain themselves."""
    return not domain or domain.startswith(_OF_RUNTIMES)


def key_of(function: FunctionProto) -> FunctionKey:
    """Return the domain, the name and the overload of a function, by which nodes call the function."""
    return domain_of(function.domain), function.name, function.overload


def declared_by(function: FunctionProto) -> frozenset[str]:
    """Return the names of a function's attributes, with and without a default."""
    return frozenset(function.attribute) | {each.name for each in function.attribute_proto}


def unlisted(one: ModelProto, two: ModelProto, called: Called) -> str | None:
    """Return how the second file differs from the first in a way that may stop it from loading; None if it does not.

    `called` are, for each file, the functions that were read because a node calls them.
    """
    return next(_unlisted(one, two, called), None)


def _unlisted(one: ModelProto, two: ModelProto, called: Called) -> Iterator[str]:
    """Yield each difference of the second file that may stop it from loading."""
    raised = one.ir_version < two.ir_version <= KNOWN_FORM
    if (two.HasField("ir_version"), two.ir_version) != (one.HasField("ir_version"), one.ir_version) and not raised:
        yield f"the second file has the IR version {two.ir_version}, the first {one.ir_version}"
    yield from _imports(one, two)
    for what, ours, theirs in (
        ("metadata", one.metadata_props, [entry for entry in two.metadata_props if entry.key != OWN_METADATA]),
        ("configurations of devices", one.configuration, two.configuration),
    ):
        if _entries(theirs) - _entries(ours):
            yield f"the second file holds {what} that the first does not"
    noted = [_noted(annotation) for annotation in one.graph.quantization_annotation]
    if any(_noted(annotation) not in noted for annotation in two.graph.quantization_annotation):
        yield "the second file holds annotations of quantization that the first does not"
    yield from _functions(one, two, called)


def _entries(messages: Iterable[object]) -> Counter[bytes]:
    return Counter(each.SerializeToString(deterministic=True) for each in messages)  # type: ignore[attr-defined]


def _noted(annotation: TensorAnnotation) -> list[bytes]:
    """Return the quantization parameters that an annotation states for a value, without the value's name."""
    return [each.SerializeToString(deterministic=True) for each in annotation.quant_parameter_tensor_names]


def _imports(one: ModelProto, two: ModelProto) -> Iterator[str]:
    """Yield each operator set that only the second file imports. The standard set may be raised, up to `KNOWN_SET`."""
    ours = Counter((entry.domain, entry.version) for entry in one.opset_import)
    theirs = Counter((entry.domain, entry.version) for entry in two.opset_import)
    standard = [entry for entry in theirs.elements() if not domain_of(entry[0])]
    lowest = max((version for domain, version in ours if not domain_of(domain)), default=FIRST_SET)
    for domain, version in theirs - ours:
        if domain or len(standard) > 1 or not lowest <= version <= KNOWN_SET:
            yield f"the second file imports the operator set {domain!r} {version}, and the first does not"


def _versions(entries: Iterable[OperatorSetIdProto]) -> dict[str, int]:
    return {domain_of(entry.domain): entry.version for entry in entries}


def _functions(one: ModelProto, two: ModelProto, called: Called) -> Iterator[str]:
    """Yield each fault of the second file's functions.

    A function must equal one of the first file byte for byte, or have been read because a node calls it. The model must
    import the operator sets that the function imports. An equal function that only the second file calls must be valid
    like a new one, because runtimes check only functions that are called.
    """
    first_functions = {key_of(each): each for each in one.functions}
    twice = Counter(map(key_of, two.functions)) - Counter(map(key_of, one.functions))
    first, second = _versions(one.opset_import), _versions(two.opset_import)
    for each in two.functions:
        key, ours = key_of(each), first_functions.get(key_of(each))
        as_before = ours is not None and each.SerializeToString(deterministic=True) == ours.SerializeToString(
            deterministic=True
        )
        met = as_before and (key in called[0] or key not in called[1])
        found = None if met else _changed(each, is_called=key in called[1])
        if twice[key] > (ours is None):
            found = "is defined twice"
        found = found or _not_imported(each, ours, first, second)
        if found is not None:
            yield f"the function {each.name!r} of the second file {found}"


def _not_imported(
    function: FunctionProto, ours: FunctionProto | None, first: Mapping[str, int], second: Mapping[str, int]
) -> str | None:
    """Return that a function needs an operator set that the file does not import, as a phrase; None if all are.

    A set that the first file lacks in the same way is accepted.
    """
    domain = domain_of(function.domain)
    if domain not in second and (ours is None or domain in first):
        return "is in a domain that the file does not import"
    before = {} if ours is None else _versions(ours.opset_import)
    for name, version in _versions(function.opset_import).items():
        if version != second.get(name) and (before.get(name) != version or first.get(name) != second.get(name)):
            return f"imports the operator set {name!r} {version}, and the file does not"
    return None


def _changed(function: FunctionProto, *, is_called: bool) -> str | None:
    """Return the fault of a new or changed function, or of one that only the second file calls, as a phrase.

    Return None if it has no fault.
    """
    if not is_called:
        return "is none of the first file, and nothing calls it"
    if is_of_runtimes(function.domain):
        return "is in a domain whose operators runtimes have themselves"
    names = (function.input, function.output, function.attribute)
    if any(len(set(each)) < len(each) or "" in each for each in names):
        return "has two operands, results or attributes of one name, or one without"
    if not {name for node in function.node for name in node.output}.issuperset(function.output):
        return "returns what none of its nodes computes"
    if onnx.defs.has(function.name):
        return "has the name of an operator, which parts of runtimes look at alone"
    return None
