"""The interfaces between rewrites, engine and formats: what a rewrite contains, and what the engine calls of a model.

A rewrite is a module. Its docstring is its page. `ON` states which nodes it plans, and `CODE` is the finding code of a
node about which it is undecided. `plan` is a pure function from one node of the view to edits. The order of
`rewrites.ALL` and the engine's policy decide which edits are carried out; a rewrite depends on neither.
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
"""A rewrite with this value of `ON` plans every node whose operator has a row in the catalogue."""
ANY: Literal["any"] = "any"
"""A rewrite with this value of `ON` plans every node, whatever its operator."""
Operators: TypeAlias = Literal["broadcasting", "any"] | frozenset[tuple[str, str]]
"""The nodes that a rewrite plans: those of these (domain, operator), or all nodes of a kind."""
Sees: TypeAlias = Literal["node", "operands"]
Applier: TypeAlias = Callable[[Node], Node]
"""Carries out edits on a node, all or none, and returns the node as it is afterwards. Raises Refused."""


Plan: TypeAlias = Callable[[Node], Iterator[Edit]]
"""A pure function from one node of the view to edits.

Raises Undecided if the view does not contain enough facts, Incompatible if sizes contradict each other.
"""
ModelPlan: TypeAlias = Callable[[Sequence[Graph]], Iterator[tuple[Node, Iterable[Edit]]]]
"""A pure function from the whole view to the nodes that change together, each with its edits.

It raises the same exceptions as `Plan`.
"""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A rewrite that plans one node at a time."""

    name: str
    page: str
    on: Operators
    code: str
    """The finding code of a node about which the plan is undecided."""
    plan: Plan
    sees: Sees = "node"
    """"operands" if nodes that look alike have the same plan.

    The plan then depends only on the operator, its attributes, and the shape, kind and element type of each operand.
    """
    instead_of: tuple[str, ...] = ()
    """The rewrites that skip the nodes of this rewrite if both run."""
    source: str = ""
    """The file, or another origin, of a rewrite that a user wrote."""

    def concerns(self, node: Node) -> bool:
        """Return whether the rewrite plans this node; a node without operands (a removed one) is never planned."""
        if not node.operands:
            return False
        if self.on == BROADCASTING:
            return node.row is not None
        return self.on == ANY or (node.domain, node.op) in self.on


@dataclass(frozen=True, slots=True)
class ModelRewrite:
    """A rewrite that states something about the whole file: either all of its plans are carried out or none."""

    name: str
    page: str
    code: str
    plan_model: ModelPlan


@dataclass(frozen=True, slots=True)
class UntilNothingChanges:
    """Rewrites that can help one another: they run in turn until no rewrite changes anything."""

    rewrites: tuple[Rewrite | ModelRewrite, ...]


Step: TypeAlias = Rewrite | ModelRewrite | UntilNothingChanges


def rewrite(module: ModuleType) -> Rewrite | ModelRewrite:
    """Return the rewrite that a module contains."""
    name = module.__name__.rpartition(".")[2].replace("_", "-")
    page = module.__doc__ or ""
    if hasattr(module, "plan_model"):
        return ModelRewrite(name, page, module.CODE, module.plan_model)
    sees: Sees = getattr(module, "SEES", "node")
    return Rewrite(name, page, module.ON, module.CODE, module.plan, sees, getattr(module, "INSTEAD_OF", ()))


def described(model: Model, path: Path | None) -> str:
    """Return a short text about a loaded model: its class, the file that it was read from, and its number of nodes."""
    number = sum(len(graph.nodes) for graph in model.graphs)
    return f"<{type(model).__name__}: {path or 'from bytes'}, {number} node{'s' * (number != 1)}>"


def flat(steps: Iterable[Step]) -> Iterator[Rewrite | ModelRewrite]:
    """Yield every rewrite of these steps."""
    for step in steps:
        if isinstance(step, UntilNothingChanges):
            yield from step.rewrites
        else:
            yield step


def chosen(steps: Iterable[Step], names: Iterable[str]) -> tuple[Step, ...]:
    """Return the steps with only the rewrites that have these names, in the same order."""
    wanted = frozenset(names)
    kept: list[Step] = []
    for step in steps:
        if isinstance(step, UntilNothingChanges):
            step = UntilNothingChanges(tuple(each for each in step.rewrites if each.name in wanted))  # noqa: PLW2901
        if step.rewrites if isinstance(step, UntilNothingChanges) else step.name in wanted:
            kept.append(step)
    return tuple(kept)


class Model(Protocol):
    """The interface of a model that the engine uses; each format implements it."""

    @property
    def format(self) -> str:
        """Return `onnx` or `tflite`."""

    @property
    def graphs(self) -> Sequence[Graph]:
        """Return every graph of the view; an outer graph comes before the bodies inside it."""

    @property
    def graph_names(self) -> Mapping[str, str]:
        """Return, by path, the file's name of each graph whose path does not contain the name."""

    def refresh(self) -> None:
        """Update the view if edits have made it outdated; the engine calls this before each rewrite."""

    def renew(self) -> None:
        """Make the next `refresh` build a new view, with the nodes that edits have added."""

    @property
    def changed(self) -> bool:
        """Return whether an edit or a binding changed anything."""

    expand_limit: int
    """The most bytes of one materialized constant. A larger stretch is a node; in ONNX a stretch is always a node."""

    movement: Collection[str] | None
    """The operators that lifts and stretches may use, from the next `refresh` on; None for all of them."""

    @property
    def added(self) -> int:
        """Return the bytes of materialized constants that edits have added."""

    @property
    def inferring(self) -> float:
        """Return the seconds that shape inference has taken."""

    @property
    def assumes(self) -> Sequence[str]:
        """Return the assumptions as texts: stored shapes, shared symbols, and inputs that edits made fixed."""

    @property
    def leaning(self) -> Sequence[tuple[str, str]]:
        """Return (graph, value) of all values whose rank or sizes depend on an assumed stored shape."""

    def trust_stored(self, *, trust: bool) -> None:
        """Assume all stored sizes that the rules neither prove nor refute, or (`trust=False`) no stored shape.

        It must be called before any edit. If it is not called, the stored shapes of results of operators without a rule
        are assumed.
        """

    @property
    def believed(self) -> Sequence[StoredSize | StoredShape]:
        """Return the stored sizes and shapes that are assumed."""

    def apply(self, node: Node, edits: Sequence[Edit]) -> Node:
        """Carry out all edits of one node, or none of them, and return the node as it is now. Raises Refused."""

    def applier(self, edits: Sequence[Edit]) -> Applier:
        """Return a function that carries out these lifts and stretches on a node.

        It can be called for every node that looks alike, until the next `refresh`.
        """

    def bind(
        self, dims: Mapping[str, Size], shapes: Mapping[str, Sequence[int | None]], same: Sequence[Sequence[str]] = ()
    ) -> None:
        """Bind free sizes before any other change; the members of each list in `same` are one size.

        `dims` maps labels of free sizes to numbers or ranges. `shapes` maps inputs to sizes, where None leaves a size
        free. Raises GraphfixError for a name that the model does not have, and for a size that contradicts the file.
        """

    def set_inputs(self, values: Mapping[str, InputValue], *, drop: bool) -> None:
        """Make all readers of these inputs read constants; with `drop`, they are no longer inputs of the model.

        It must be called after `bind` and before any edit. Raises GraphfixError for a name that the model does not
        have, and for a value that does not fit.
        """

    def narrow_inputs(self, kept: Collection[str]) -> Sequence[str]:
        """Change int64 inputs to int32, except those in `kept`; return the names of the changed inputs.

        It must be called before any edit. Raises GraphfixError if an input can't be changed.
        """

    def example(self, value: Value) -> Sequence[int] | None:
        """Return the sizes that the file stores for an input, free sizes included; None if it stores none."""

    def note(self, key: str, text: str) -> None:
        """Add a line to the file's metadata, such as an assumption of a rewrite."""

    def refuse_output(self, path: Path) -> None:
        """Raise GraphfixError if writing to `path` would replace a file that the model needs."""

    def save(self, path: str | Path, *, final_name: str = "") -> Sequence[Path]:
        """Write the model; parts without an edit are written as they were read.

        Return the paths of the data files beside it.

        Data files are named after `path`, or after `final_name`, if the file will be renamed to that name.
        """

    def tobytes(self) -> bytes:
        """Return the file as bytes, for models that fit into memory."""
