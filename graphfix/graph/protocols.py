"""What a rewrite is, and what the engine asks of a model: the seams between rewrites, engine and formats.

A rewrite is a module: its docstring is its page, `ON` says which nodes it plans, `CODE` is the finding of a node that
it is undecided about, and `plan` is a pure function from one node of the view to edits. What is done of it is decided
by the order of `rewrites.ALL` and by the engine's policy; a rewrite knows neither.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Literal, Protocol, TypeAlias

from graphfix.graph.edits import Edit
from graphfix.graph.view import Graph, Node, Value
from graphfix.results import InputValue
from graphfix.results.claims import StoredShape, StoredSize
from graphfix.results.records import dataclass
from graphfix.shapes.dim import Size

BROADCASTING: Literal["broadcasting"] = "broadcasting"
"""Every node whose operator has a row in the catalogue."""
ANY: Literal["any"] = "any"
"""Every node, whatever its operator."""
Operators: TypeAlias = Literal["broadcasting", "any"] | frozenset[tuple[str, str]]
"""Which nodes a rewrite plans: those of these (domain, operator), or all of a kind."""
Sees: TypeAlias = Literal["node", "operands"]
Applier: TypeAlias = Callable[[Node], Node]
"""Carries edits out on a node as it is now, all or none, and returns it as it is then. Raises Refused."""


Plan: TypeAlias = Callable[[Node], Iterator[Edit]]
"""A pure function from one node of the view to edits.

Raises Undecided where the view does not say enough, Incompatible where sizes clash.
"""
ModelPlan: TypeAlias = Callable[[Sequence[Graph]], Iterator[tuple[Node, Iterable[Edit]]]]
"""A pure function from the whole view to the nodes that change together, and their plans; it raises as `Plan` does."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A rewrite that plans node by node."""

    name: str
    page: str
    on: Operators
    code: str
    """The finding code of a node that the plan is undecided about."""
    plan: Plan
    sees: Sees = "node"
    """`operands`: the plan follows from the operator, its attributes, and the shape, kind and element type of each
    operand, so that nodes that look alike have one plan."""
    instead_of: tuple[str, ...] = ()
    """The rewrites that leave the nodes of this one alone where both run."""
    source: str = ""
    """The file, or what else names it, of one of the user's own."""

    def concerns(self, node: Node) -> bool:
        """Whether the rewrite plans this node; one that was taken out has no operands."""
        if not node.operands:
            return False
        if self.on == BROADCASTING:
            return node.row is not None
        return self.on == ANY or (node.domain, node.op) in self.on


@dataclass(frozen=True, slots=True)
class ModelRewrite:
    """A rewrite that states something of the whole file: all of its plans are carried out, or none."""

    name: str
    page: str
    code: str
    plan_model: ModelPlan


@dataclass(frozen=True, slots=True)
class UntilNothingChanges:
    """Rewrites that tell one another more of the model: they run in turn until none has anything left to do."""

    rewrites: tuple[Rewrite | ModelRewrite, ...]


Step: TypeAlias = Rewrite | ModelRewrite | UntilNothingChanges


def rewrite(module: ModuleType) -> Rewrite | ModelRewrite:
    """The rewrite that a module is."""
    name = module.__name__.rpartition(".")[2].replace("_", "-")
    page = module.__doc__ or ""
    if hasattr(module, "plan_model"):
        return ModelRewrite(name, page, module.CODE, module.plan_model)
    sees: Sees = getattr(module, "SEES", "node")
    return Rewrite(name, page, module.ON, module.CODE, module.plan, sees, getattr(module, "INSTEAD_OF", ()))


def described(model: Model, path: Path | None) -> str:
    """Return the short text of a loaded model: its class, the file that it was read from, and its number of nodes."""
    number = sum(len(graph.nodes) for graph in model.graphs)
    return f"<{type(model).__name__}: {path or 'from bytes'}, {number} node{'s' * (number != 1)}>"


def flat(steps: Iterable[Step]) -> Iterator[Rewrite | ModelRewrite]:
    """Every rewrite of these steps."""
    for step in steps:
        if isinstance(step, UntilNothingChanges):
            yield from step.rewrites
        else:
            yield step


def chosen(steps: Iterable[Step], names: Iterable[str]) -> tuple[Step, ...]:
    """The steps with the rewrites of these names alone, in the same order."""
    wanted = frozenset(names)
    kept: list[Step] = []
    for step in steps:
        if isinstance(step, UntilNothingChanges):
            step = UntilNothingChanges(tuple(each for each in step.rewrites if each.name in wanted))  # noqa: PLW2901
        if step.rewrites if isinstance(step, UntilNothingChanges) else step.name in wanted:
            kept.append(step)
    return tuple(kept)


class Model(Protocol):
    """What the engine asks of a format."""

    @property
    def format(self) -> str:
        """`onnx` or `tflite`."""

    @property
    def graphs(self) -> Sequence[Graph]:
        """Every scope of the model as the view has it; an outer scope before the bodies inside it."""

    @property
    def graph_names(self) -> Mapping[str, str]:
        """By path: how the file calls the graph, as far as the path does not say it."""

    def refresh(self) -> None:
        """Bring the view up to date where edits have outdated it: the engine asks before each rewrite."""

    def renew(self) -> None:
        """Let the next `refresh` build the view anew, with the nodes that edits have made."""

    @property
    def changed(self) -> bool:
        """Whether an edit or a binding changed anything."""

    expand_limit: int
    """Bytes that one materialized constant may take; above it, and in ONNX always, a stretch is a node."""

    movement: Collection[str] | None
    """The operators by which lifts and stretches are written, from the next `refresh` on; None: all of them."""

    @property
    def added(self) -> int:
        """Bytes of materialized constants that edits have added."""

    @property
    def inferring(self) -> float:
        """Seconds that the inference of shapes has taken."""

    @property
    def assumes(self) -> Sequence[str]:
        """The stored shapes and shared symbols that the view assumes, and what edits made fixed."""

    @property
    def leaning(self) -> Sequence[tuple[str, str]]:
        """(graph, value) of all whose rank or sizes lean on a stored shape."""

    def trust_stored(self, *, trust: bool) -> None:
        """Believe all stored sizes that the rules neither prove nor refute, or no stored shape; before any edit.

        Unless it is called, the stored shapes of results of operators without a rule are believed.
        """

    @property
    def believed(self) -> Sequence[StoredSize | StoredShape]:
        """The stored sizes and shapes that are believed."""

    def apply(self, node: Node, edits: Sequence[Edit]) -> Node:
        """Carry the edits of one node out, all or none, and return the node as it is now. Raises Refused."""

    def applier(self, edits: Sequence[Edit]) -> Applier:
        """What does the same with lifts and stretches, until the next `refresh`, for each node that looks the same."""

    def bind(
        self, dims: Mapping[str, Size], shapes: Mapping[str, Sequence[int | None]], same: Sequence[Sequence[str]] = ()
    ) -> None:
        """Bind free dims before anything else, and take the members of each of `same` for one size.

        Raises GraphfixError for a name that the model does not have, and for what contradicts the file.
        """

    def set_inputs(self, values: Mapping[str, InputValue], *, drop: bool) -> None:
        """Let whoever reads these inputs read constants; with `drop` they are no inputs any more.

        After `bind`, before any edit. Raises GraphfixError for a name that the model does not have, and for a value
        that does not fit.
        """

    def narrow_inputs(self, kept: Collection[str]) -> Sequence[str]:
        """Declare the inputs of int64 but these as int32, before any edit; return their names. Raises GraphfixError."""

    def example(self, value: Value) -> Sequence[int] | None:
        """The sizes that the file stores for an input beside the free ones, None where it stores none."""

    def note(self, key: str, text: str) -> None:
        """Record a line in the file's metadata (an assumption that a rewrite made)."""

    def refuse_output(self, path: Path) -> None:
        """Raise GraphfixError where writing to `path` would replace a file that the model itself needs."""

    def save(self, path: str | Path, *, final_name: str = "") -> Sequence[Path]:
        """Write the model; what no edit names comes out as it went in. Return the data files made beside it.

        Data files are called after the file, or after `final_name`, which is the name that the file gets later.
        """

    def tobytes(self) -> bytes:
        """The file as bytes, for models that fit into memory."""
