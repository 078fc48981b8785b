"""Random models of the kinds whose sizes are easily told wrong: no size of the view is one that a run contradicts.

The witness is onnxruntime; a model that it refuses says nothing and is not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

import pytest

from graphfix.formats.onnx import OnnxModel
from graphfix.formats.onnx.infer import integer_values
from graphfix.formats.onnx.infer.operators import arithmetic, reshaping, slicing
from graphfix.formats.onnx.infer.operators.reshaping import NO_SIZE_IS_0
from graphfix.formats.onnx.infer.scope import GraphScope
from graphfix.shapes.dim import UNKNOWN, Shape, Size
from graphfix.shapes.terms import Terms
from tests.support import engine
from tests.support.audit_terms import Observed, contradicted, is_term
from tests.support.audit_views import of_symbol
from tests.support.onnx.random_builder import Array, Case
from tests.support.onnx.random_models import KINDS
from tests.support.runtimes.onnx_runs import run
from tests.support.tiers import tiered

SHORT, LONG = 40, 2100
"""Models of each kind that are run by plain `pytest`, and by scripts/full_check.sh: 21,000 in all."""
SAMPLES = [(kind, count) for count in (SHORT, LONG) for kind in KINDS]


def contradictions(case: Case, told: Counter[str] | None = None) -> list[str] | None:
    """What the view says of sizes and elements that the run gives otherwise; None where that says nothing.

    It says nothing where the runtime refuses the model, and where an assumption that the view lists does not hold.
    `told` counts the sizes that are terms, by the operator that made them; elements as "element".
    """
    try:
        found = run(case.proto, **case.feeds)
    except Exception:  # noqa: BLE001 -- onnxruntime's own classes
        return None
    observed = dict(case.feeds)
    names = [output.name for output in case.proto.graph.output]
    observed |= {name: array for name, array in zip(names, found, strict=True) if hasattr(array, "shape")}
    opened = engine.load(case.proto)
    assert isinstance(opened, OnnxModel)
    scope = opened._facts.main
    run_ = Observed({name: array.shape for name, array in observed.items()}, of_symbol)
    made_by = {name: node.op_type for node in case.proto.graph.node for name in node.output}
    wrong: list[str] = []
    named: dict[object, int] = {}
    for name in filter(observed.__contains__, scope.types):  # inputs first: what they have is what a name means
        sizes, elements = scope.types[name].shape, scope.elements.get(name)
        for size, real in [*_sizes(sizes, observed[name]), *_elements(elements, observed[name])]:
            if isinstance(size, int):
                wrong += [f"{name} {sizes}: {size} is {real}"] * (size != real)
            elif size is None or (size.parts and named.setdefault(size.parts, real) != real):
                wrong.append(f"{name} {sizes}: {size} is {real}")
            else:
                wrong += filter(None, [contradicted(size, real, run_)])
        if told is not None:
            told[made_by.get(name, "")] += sum(map(is_term, sizes.axes or ()))
            told["element"] += sum(map(is_term, elements or ()))
    return None if wrong and NO_SIZE_IS_0 in opened.assumes and _zero_for_a_term(case, scope, observed) else wrong


def _sizes(shape: Shape, array: Array) -> list[tuple[Size | None, int]]:
    if shape.axes is None:
        return []
    if len(shape.axes) != array.ndim:
        return [(None, array.ndim)]
    return list(zip(shape.axes, array.shape, strict=True))


def _elements(elements: tuple[Size, ...] | None, array: Array) -> list[tuple[Size | None, int]]:
    if elements is None or array.dtype.kind not in "iub":
        return []
    if len(elements) != array.size:
        return [(None, array.size)]
    return list(zip(elements, array.reshape(-1).tolist(), strict=True))


def _zero_for_a_term(case: Case, scope: GraphScope, observed: Mapping[str, Array]) -> bool:
    """Whether a Reshape is given a 0 where the view has a term: what it assumes is not so in this run."""
    targets = [node.input[1] for node in case.proto.graph.node if node.op_type == "Reshape" and len(node.input) > 1]
    return any(
        real == 0 and not isinstance(size, int)
        for name in targets
        if name in observed
        for size, real in _elements(scope.elements.get(name), observed[name])
    )


@pytest.mark.needs_release("onnxruntime>=1.31")  # an older one divides by a size of 0 and ends the process
@pytest.mark.parametrize(
    ("kind", "count"),
    [
        pytest.param(*sample.values[0], id=sample.id, marks=sample.marks)
        for sample in tiered(
            SAMPLES,
            plain=lambda _: False,
            full=lambda it: it[1] == LONG,
            name=lambda it: f"{it[1]} {it[0]}",
        )
    ],
)
def test_no_size_of_the_view_is_one_that_a_run_contradicts(kind: str, count: int) -> None:
    random = Random(kind)  # noqa: S311 -- the same models each time
    told: Counter[str] = Counter()
    tried = ran = 0
    while ran < count:
        tried += 1
        assert tried < 20 * count
        case = KINDS[kind](random)
        wrong = contradictions(case, told)
        if wrong is not None:
            ran += 1
            assert not wrong, (tried, wrong, [str(node) for node in case.proto.graph.node])
    for op in TERMS.get(kind, ()):
        assert told[op] >= count // 100, op
    assert sum(told[op] for op in TERMS.get(kind, ())) * 20 >= count * (kind in TERMS)


TERMS: Mapping[str, Sequence[str]] = {
    "sizes through integer arithmetic": ("element",),
    "pools": ("MaxPool", "AveragePool", "LpPool"),
    "convolutions": ("Conv", "ConvTranspose"),
    "resizes": ("Resize",),
    "chains": (
        "element Reshape Slice Expand Range ConstantOfShape Tile Pad Concat Split Gather MaxPool"
        " AveragePool Resize".split()
    ),
}
"""Of which operators sizes are told as terms, at least one in 100 models; of all together one in 20."""

FAULTS: Mapping[str, tuple[str, object, str, object]] = {
    "a pool's size is rounded down": ("pools", Terms, "ceildiv", Terms.floordiv),
    "a slice's bounds are not clamped": ("chains", slicing, "_clamped_bound", lambda _, bound, __: bound),
    "what is not known is not negative": ("chains", integer_values, "ANY", UNKNOWN),
    "int32 holds every number": (
        "sizes through integer arithmetic",
        integer_values,
        "BITS",
        dict.fromkeys((1, 6, 7, 9), 63),
    ),
    "a quotient is always rounded down": ("chains", arithmetic, "bounds", lambda _: (0, 0)),
    "a rest has the sign of the divisor": ("chains", arithmetic, "c_remainder", arithmetic.floor_remainder),
    "an assumption is not listed": ("reshapes", reshaping, "NO_SIZE_IS_0", "something else"),
}


@pytest.mark.ci
@pytest.mark.parametrize(("kind", "module", "name", "other"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_seen(kind: str, module: object, name: str, other: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, name, other)
    with pytest.raises(AssertionError, match=r"\(\d+, \["):
        test_no_size_of_the_view_is_one_that_a_run_contradicts(kind, 200)
