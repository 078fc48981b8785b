"""What must hold of one random TFLite model after fix, as far as it is seen without running it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from graphfix.formats.tflite.file.records import ABSENT
from graphfix.formats.tflite.infer.names import free
from graphfix.formats.tflite.model import TfliteModel
from graphfix.formats.tflite.view import SubgraphView
from graphfix.graph.view import Graph
from graphfix.results import GraphfixError, Outcome
from graphfix.shapes.dim import Shape
from tests.support import engine
from tests.support.fuzz.tflite.graph_builder import BOOL, INT, LONG, SCALED, WORD, Concrete, Draft
from tests.support.runtimes.litert_groups import KERNELS, Job

Options = Mapping[str, str | int]
Feeds = tuple[np.ndarray, ...]
FIRST: tuple[Options, ...] = ({"target": "ranks"}, {"target": "explicit"})
MORE: tuple[Options, ...] = (
    {"target": "explicit", "broadcasts": "two-sided"},
    {"target": "explicit", "unknown": "keep"},
    {"target": "explicit", "unknown": "assume"},
    {"target": "explicit", "unknown": "error"},
    {"target": "explicit", "max_expand_bytes": 0},
    {"target": "ranks", "keep_fusions": True},
    {"target": "litert-gpu"},
    {"target": "litert-gpu", "broadcasts": "explicit"},
    {"target": "compact"},
    {"target": "onnxruntime"},
)
FOLDED = frozenset({"compact", "onnxruntime"})
"""The targets that leave to an operator what it can stretch by itself."""
WAYS = ("as made", "ones", "random")


@dataclass(frozen=True, slots=True)
class Way:
    """One size for every free axis of the inputs, and whether it is bound before fix."""

    feeds: Feeds
    keeps_bound: bool


@dataclass(slots=True)
class Fixed:
    """What one set of options made of a model, to be asked of LiteRT."""

    options: Options
    bound: Mapping[str, int]
    data: bytes
    labels: dict[str, list[str]]
    """By subgraph: of its operators, in the order of the file."""
    excused: set[tuple[str, str, int | None]]
    """(subgraph, operator, operand) that a site says is left."""

    @property
    def folded(self) -> bool:
        """Whether operands may have any rank and shape that broadcasts."""
        return self.options["target"] in FOLDED

    @property
    def allowed(self) -> int | None:
        """How many operands an operator may still stretch; None where only the ranks must be equal."""
        ranks_only = self.options["target"] != "explicit" and "broadcasts" not in self.options
        if ranks_only or self.options.get("unknown", "expand") != "expand":
            return None
        return int(self.options.get("broadcasts") == "two-sided")


@dataclass(slots=True)
class Case:
    """One model: what was made of it, and what is wrong so far."""

    seed: int
    draft: Draft
    file: bytes
    ways: list[Way] = field(default_factory=list)
    fixed: list[Fixed] = field(default_factory=list)
    refused: list[tuple[Options, str]] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    shapes: list[tuple[int, dict[int, Shape]]] = field(default_factory=list)
    """By subgraph that is run, by tensor, as the view has them before anything is edited."""

    def says(self, options: Options, what: str, bound: Mapping[str, int]) -> None:
        """Note what is wrong."""
        text = " ".join(f"{name}={value}" for name, value in {**options, **bound}.items())
        self.found.append(f"seed {self.seed}, {text}: {what}")


# --- before LiteRT is asked -------------------------------------------------------------------------------------------


def prepared(draft: Draft, seed: int, *, every: bool = False) -> Case:
    """Fix the model by some options, or by all, and check what is seen without running it."""
    case = Case(seed, draft, draft.file())
    chosen = random.Random(seed)  # noqa: S311 -- sizes, no secrets
    model = load(case.file)
    case.shapes = known_shapes(model)
    named = free(model.container)
    labels = {label: axis for label, axis in _labels(draft, model).items() if label in named}
    bound: dict[str, int] = {}
    if labels and chosen.random() < 0.04:
        label = chosen.choice(sorted(labels))
        bound = {label: draft.sizes[labels[label][2]]}
    places = {labels[label][:2]: size for label, size in bound.items()}
    case.ways = [_way(draft, way, chosen, at, places) for at, way in enumerate(WAYS)]
    for options in (*FIRST, *(MORE if every else [chosen.choice(MORE)])):
        _fix(case, options, bound)
    return case


def load(file: bytes) -> TfliteModel:
    model = engine.load(file)
    assert isinstance(model, TfliteModel)
    return model


def always_run(model: TfliteModel) -> list[SubgraphView]:
    """The subgraphs that every run runs: the main one, and those of loops."""
    return [view for view in model._views if view.record.name.startswith(("main", "test", "step"))]


def known_shapes(model: TfliteModel) -> list[tuple[int, dict[int, Shape]]]:
    """By subgraph, the shapes of what its operators read and give: LiteRT lets go of what nobody reads."""
    found = []
    for view in always_run(model):
        operators = view.record.operators
        used = {tensor for operator in operators for tensor in (*operator.inputs, *operator.outputs)}
        found.append((view.index, {tensor: view.values[tensor].shape for tensor in sorted(used - {ABSENT})}))
    return found


def _labels(draft: Draft, model: TfliteModel) -> dict[str, tuple[int, int, str]]:
    """Free sizes by label: (input, axis, letter)."""
    main = model._views[0]
    names = [main.values[tensor].name for tensor in main.record.inputs]
    return {
        f"{name}[{axis}]": (at, axis, size)
        for at, (name, (_, axes, _dtype)) in enumerate(zip(names, draft.inputs, strict=True))
        for axis, size in enumerate(axes)
        if isinstance(size, str)
    }


def _way(draft: Draft, way: str, chosen: random.Random, seed: int, bound: Mapping[tuple[int, int], int]) -> Way:
    """Inputs at the sizes that the model was made with, or at others."""
    sizes = dict(draft.sizes)
    if way == "ones":
        sizes = dict.fromkeys(sizes, 1)
    elif way == "random":
        sizes = {name: chosen.choice((0, 1, 1, 2, 3)) for name in sizes}
    apart = way == "random" and chosen.random() < 0.5
    feeds, keeps = [], True
    for at, (_, axes, dtype) in enumerate(draft.inputs):
        shape = []
        for axis, of in enumerate(axes):
            size = of if isinstance(of, int) else sizes[of]
            if apart and isinstance(of, str) and chosen.random() < 0.3:
                size = chosen.choice((0, 1, 2, 3))
            keeps = keeps and bound.get((at, axis), size) == size
            shape.append(size)
        feeds.append(elements(tuple(shape), dtype, seed))
    return Way(tuple(feeds), keeps)


def elements(shape: Concrete, dtype: str, seed: int) -> np.ndarray:
    """Seeded values: halves of both signs, small whole numbers above 0, words."""
    chosen = np.random.default_rng([seed, *shape])
    if dtype == WORD:
        return np.asarray(chosen.choice([b"a", b"b", b""], size=shape), dtype=object)
    if dtype == BOOL:
        return np.asarray(chosen.integers(0, 2, shape), bool)
    if dtype in (INT, LONG):
        return np.asarray(chosen.integers(1, 5, shape), dtype)
    if dtype in SCALED:
        return np.asarray(chosen.integers(1, 100, shape), dtype)
    return np.asarray(chosen.choice([-2.5, -1, 0.5, 1, 2, 3], shape), dtype)


def _fix(case: Case, options: Options, bound: Mapping[str, int]) -> None:
    model = load(case.file)
    try:
        if bound:
            model.bind(bound, {})
        outcome = engine.fix(model, **options)  # type: ignore[arg-type]  # the table's values fit their names
    except GraphfixError as error:
        if options.get("unknown") != "error":
            case.refused.append((options, str(error)))
        return
    view = _view(model.finish())
    model.finish()
    labels = {view.record.name: [node.label for node in view.graph.nodes] for view in always_run(model)}
    paths = {view.graph.path: view.record.name for view in always_run(model)}
    data = model.tobytes()
    again = load(data)
    fresh = _view(again.graphs)
    if view != fresh:
        derived, loaded = next(((a, b) for a, b in zip(view, fresh, strict=False) if a != b), (len(view), len(fresh)))
        case.says(options, f"the derived view says {derived}, the loaded one {loaded}", bound)
    if not outcome.changed and not bound and data != case.file:
        case.says(options, "nothing changed, but the file", bound)
    second = engine.fix(again, **options)  # type: ignore[arg-type]  # the table's values fit their names
    if any(second.rewrites.values()) or second.changed or again.tobytes() != data:
        names = [(site.op, site.node, site.code, site.operand) for site in second.sites if site.status == "changed"]
        case.says(options, f"a second run changes {names}", bound)
    case.fixed.append(Fixed(options, bound, data, labels, _excused(outcome, paths)))


def _view(graphs: Sequence[Graph]) -> list[tuple[int, str]]:
    """The nodes by graph: a path has the place of the operator that runs the graph, and places change."""
    return [(at, str(node)) for at, graph in enumerate(graphs) for node in graph.nodes]


def _excused(outcome: Outcome, paths: Mapping[str, str]) -> set[tuple[str, str, int | None]]:
    return {
        (paths[site.graph], site.node, site.operand)
        for site in outcome.sites
        if site.graph in paths and site.status in ("left", "exempt")
    }


# --- what LiteRT is asked ---------------------------------------------------------------------------------------------


def jobs(case: Case) -> list[Job]:
    """Every run of the original, then of what was made of it."""
    files = [case.file, *(fixed.data for fixed in case.fixed)]
    return [Job(file, kernels, way.feeds) for file in dict.fromkeys(files) for kernels in KERNELS for way in case.ways]
