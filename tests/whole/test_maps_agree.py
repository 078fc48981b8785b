"""The maps that `show --maps` prints come from the rewriter's side, the proof's from its own: they agree everywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest
import tflite as reader

from graphfix.results import GraphfixError
from tests.support.fixed_files import FixedFiles
from tests.support.maps_agree import Compared, compared
from tests.support.places import committed_models, model_id, zoo_models, zoo_paths
from tests.support.tiers import tiered

SMALL = committed_models()
REAL = [*zoo_models("onnx"), *zoo_models("tflite")]
TARGETS = ("explicit", "ranks")
PROVED_ONLY = {"SELECT", "DequantizeLinear", "QuantizeLinear"}
"""`show` has no maps for operators that no rewrite touches, the proof has: it compares them."""
LEGACY = {"legacy/axis.onnx", "legacy/comparison.onnx", "legacy/prelu.onnx", "legacy/suffix.onnx"}
"""Below operator set 7 `show` prints no maps; the proof reads the attributes as maps."""
UNEQUAL = ("rfc/incompatible", "trait/bad_operands", "trait/three_incompatible")
"""Models with operands that don't fit: nothing is fixed, and there are no maps."""


def agreed(path: Path, name: str = "") -> Compared:
    """Hold both sides of a file beside each other; what only one of them gives is known by name."""
    found = compared(path)
    assert found.differing == []
    assert found.shown_only == []
    assert name in LEGACY or set(found.proved_only) <= PROVED_ONLY
    for op, shown_unknown, proof_unknown in found.unknown:
        assert shown_unknown, op  # in a function that is called at several ranks the proof knows each
        assert proof_unknown or name == "bodies/function_two_ranks.onnx"
    return found


BROADCASTING = frozenset(
    "Add Sub Mul Div Pow And Or Equal Greater Less Where Max Min Sum MatMul Gemm PRelu LayerNormalization".split()
)
BROADCASTING_TFLITE = frozenset(
    "ADD SUB MUL DIV POW LESS GREATER EQUAL MAXIMUM MINIMUM SQUARED_DIFFERENCE SELECT_V2 PRELU BATCH_MATMUL".split()
)


def operators(path: Path) -> Counter[str]:
    """Count the operators of a file that are sure to broadcast, bodies included, by other readers."""
    if path.suffix == ".onnx":
        names = _onnx_operators(onnx.load(path, load_external_data=False).graph)
        return Counter(name for name in names if name in BROADCASTING)
    return Counter(name for name in _tflite_operators(path.read_bytes()) if name in BROADCASTING_TFLITE)


def _onnx_operators(graph: onnx.GraphProto) -> Iterator[str]:
    for node in graph.node:
        yield node.op_type
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _onnx_operators(attribute.g)


def _tflite_operators(data: bytes) -> Iterator[str]:
    model = reader.Model.GetRootAsModel(data, 0)
    names = {code: name for name, code in vars(reader.BuiltinOperator).items() if isinstance(code, int)}
    for graph in map(model.Subgraphs, range(model.SubgraphsLength())):
        for index in range(graph.OperatorsLength()):
            code = model.OperatorCodes(graph.Operators(index).OpcodeIndex())
            yield names[max(code.BuiltinCode(), code.DeprecatedBuiltinCode())]


def none_is_missed(found: Compared, path: Path) -> None:
    """Assert that no operator of a file that is sure to broadcast is absent from what was compared."""
    known, sure = Counter([*found.nodes, *(op for op, *_ in found.unknown)]), operators(path)
    assert {op: known[op] for op in sure} == dict(sure), path


@pytest.mark.ci
@pytest.mark.zoo
def test_both_sides_agree_at_every_broadcast_of_the_real_models() -> None:
    """They have two thousand broadcasts, and few sizes that one side alone knows."""
    found = []
    for path in zoo_paths("onnx", "tflite"):
        found.append(agreed(path))
        none_is_missed(found[-1], path)
    assert sum(len(each.nodes) for each in found) >= 2000
    assert sum(each.same for each in found) >= 1950


@pytest.mark.alike(2)
@pytest.mark.ci
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", REAL)
def test_both_sides_agree_at_every_broadcast_of_a_fixed_real_model(path: Path, target: str, fixed: FixedFiles) -> None:
    none_is_missed(agreed(fixed(path, target)[0]), path)


@pytest.mark.ci
def test_both_sides_agree_at_every_broadcast_of_a_small_model() -> None:
    found = [agreed(path, model_id(path)) for path in SMALL]
    assert sum(len(each.nodes) for each in found) >= 330
    assert sum(len(each.nodes) - each.same for each in found) <= 2


@pytest.mark.ci
@pytest.mark.parametrize("target", tiered(TARGETS, lambda target: target == "explicit"))
def test_both_sides_agree_at_every_broadcast_of_a_fixed_small_model(target: str, fixed: FixedFiles) -> None:
    count = 0
    for path in SMALL:
        try:
            output, _ = fixed(path, target)
        except GraphfixError:
            assert model_id(path).startswith(UNEQUAL)
            continue
        count += len(agreed(output, model_id(path)).nodes)
    assert count >= 330
