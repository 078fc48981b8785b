"""Shapes of every value: onnx's inference on the skeleton, alternated with own rules until nothing is new.

Stored shapes are claims: they are stripped first and compared afterwards. onnx names the sizes that it can't compute
(`unk__3`) and carries the names along; a name stands here for the term that our own rules give its first holder, or for
that value's axis. A name that is stored in the file is never evidence, but for the symbols of the graph's inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto

from graphfix import ops
from graphfix.formats.onnx import contents, rules
from graphfix.shapes import UNKNOWN, UNRANKED, Dim, Incompatible, Shape, Size, same

ROUNDS = 6
"""Each round of onnx's inference costs about 1 s on 100,000 nodes; real models settle in 1 to 4."""
LOOP_ROUNDS = 2 * ROUNDS
"""A loop's sizes are widened one after another, each in two rounds; after that many nothing is taken of its values."""
CALL_BUDGET = 100_000
"""onnx infers a function's body anew at each call: above this many nodes the calls are opaque to it."""

Dims = tuple[int | str | None, ...]
"""Sizes as a file states them."""


@dataclass(slots=True, eq=False, repr=False)
class Step:
    """What is read of a node's message, once: protobuf makes a new object of all that it is asked for."""

    message: NodeProto
    op: str
    domain: str
    """Empty for the standard operators."""
    inputs: list[str]
    outputs: list[str]
    bare: bool
    """Whether it has no attributes."""


def steps(nodes: Sequence[NodeProto]) -> list[Step]:
    """The nodes of a graph as they are read."""
    return [
        Step(
            node,
            node.op_type,
            "" if (domain := node.domain) == "ai.onnx" else domain,
            node.input[:],
            node.output[:],
            not node.attribute,
        )
        for node in nodes
    ]


@dataclass(slots=True, eq=False, repr=False)
class Scope:
    """One graph of the file with what is known of its values."""

    path: str
    steps: Sequence[Step]
    graph: GraphProto | None
    """None for a function's body."""
    outer: Scope | None = None
    versions: Mapping[str, int] = field(default_factory=dict)
    shapes: dict[str, Shape] = field(default_factory=dict)
    dtypes: dict[str, int] = field(default_factory=dict)
    elements: dict[str, tuple[Size, ...]] = field(default_factory=dict)
    """What small integer vectors and scalars hold, as far as it is known; numbers may be negative."""
    unranked: dict[str, Shape] = field(default_factory=dict)
    """Vectors that hold the shape of a value whose rank is not known."""
    claims: dict[str, Dims] = field(default_factory=dict)
    stale: dict[str, str] = field(default_factory=dict)
    leant: set[str] = field(default_factory=set)
    """Values whose rank is the stored one: nothing else tells it."""
    children: dict[tuple[int, str], Scope] = field(default_factory=dict)

    @property
    def nodes(self) -> Sequence[NodeProto]:
        """The messages of the nodes."""
        return [step.message for step in self.steps]

    def find(self, name: str) -> Scope | None:
        """The innermost scope that defines the name."""
        scope: Scope | None = self
        while scope is not None and name not in scope.shapes:
            scope = scope.outer
        return scope

    def shape(self, name: str) -> Shape:
        """The shape of a visible value; unranked under its own name where nothing is known."""
        scope = self.find(name)
        return scope.shapes[name] if scope is not None else Shape(None, (f"?{name}",))

    def vector(self, name: str) -> tuple[Size, ...] | None:
        """The elements of a visible integer vector or scalar; numbers may be negative."""
        at = self.find(name) if name else None
        return at.elements.get(name) if at is not None else None

    def content(self, name: str) -> Shape | None:
        """The shape that a visible vector holds."""
        elements = self.vector(name)
        if elements is None:
            at = self.find(name) if name else None
            return at.unranked.get(name) if at is not None else None
        return None if any(isinstance(size, int) and size < 0 for size in elements) else Shape(elements)

    def ints(self, name: str) -> tuple[int, ...] | None:
        """The elements of a visible vector where all are numbers."""
        elements = self.vector(name)
        numbers = tuple(size for size in elements or () if isinstance(size, int))
        return numbers if elements is not None and len(numbers) == len(elements) else None

    def dtype(self, name: str) -> int:
        """The element type of a visible value, 0 where it is not known."""
        at: Scope | None = self
        while at is not None and name not in at.dtypes:
            at = at.outer
        return at.dtypes[name] if at is not None else 0

    def walk(self) -> Iterator[Scope]:
        """This scope and those inside it, outer before inner."""
        yield self
        for child in self.children.values():
            yield from child.walk()


@dataclass(slots=True)
class Names:
    """What the names of sizes stand for in the graph that onnx infers."""

    declared: Mapping[str, Size]
    """The symbols of the graph's inputs, with the user's ranges."""
    told: dict[str, Size] = field(default_factory=dict)
    """The names that we wrote into the graph."""
    met: dict[str, Size] = field(default_factory=dict)
    """The names that onnx made up, each for the term of its first holder; they hold for one run of onnx."""

    def text(self, size: Size) -> int | str | None:
        """A size as it is written into the graph that onnx infers; never a name that onnx could make up itself."""
        if isinstance(size, int):
            return size
        if not size.parts:
            return None
        name = f"{{{','.join(size.parts)}}}" if len(size.parts) > 1 or size.parts[0].startswith("unk__") else size.parts[0]
        self.told.setdefault(name, size)
        return name

    def size(self, name: str) -> Size | None:
        """What a name stands for, None when it is met for the first time."""
        return self.told.get(name) or self.met.get(name)


def subgraphs(nodes: Sequence[NodeProto]) -> Iterator[tuple[int, str, GraphProto]]:
    """(node's position, attribute, body) of every body directly inside."""
    for index, node in enumerate(nodes):
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield index, attribute.name, attribute.g
            for at, body in enumerate(attribute.graphs):
                yield index, f"{attribute.name}[{at}]", body


def label(node: NodeProto, index: int) -> str:
    """The node's name, or `Op#index`."""
    return node.name or f"{node.op_type}#{index}"


def stated(value: ValueInfoProto) -> Dims | None:
    """The dims that a value_info states, None when it states no rank. `?`, an empty name and negative sizes are unknown."""
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    return tuple(_stated(dim) for dim in tensor.shape.dim)


def _stated(dim: onnx.TensorShapeProto.Dimension) -> int | str | None:
    if dim.HasField("dim_value"):
        return dim.dim_value if dim.dim_value >= 0 else None
    return dim.dim_param if dim.dim_param not in ("", "?") else None


def scope_of(graph: GraphProto, path: str, outer: Scope | None, versions: Mapping[str, int]) -> Scope:
    """The scope of a graph and of the bodies inside it, nothing inferred yet."""
    scope = Scope(path, steps(graph.node), graph, outer, versions)
    claims = (*graph.value_info, *graph.output, *(graph.input if outer is not None else ()))
    scope.claims = {value.name: dims for value in claims if (dims := stated(value)) is not None}
    enter_bodies(scope)
    return scope


def enter_bodies(scope: Scope) -> None:
    """Enter the scopes of the bodies inside a scope's nodes."""
    for index, step in enumerate(scope.steps):
        if not step.bare:
            for _, attribute, body in subgraphs([step.message]):
                child = f"{scope.path}/{label(step.message, index)}.{attribute}"
                scope.children[index, attribute] = scope_of(body, child, scope, scope.versions)


def strip(graph: GraphProto, scope: Scope) -> None:
    """Remove every stored shape but those of inputs, here and in bodies (whose inputs' shapes are claims too)."""
    del graph.value_info[:]
    for value in graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    for body, child in bodies_of(graph.node, scope):
        for value in body.input:
            if value.type.HasField("tensor_type"):
                value.type.tensor_type.ClearField("shape")
        strip(body, child)


def bodies_of(nodes: Sequence[NodeProto], scope: Scope) -> Iterator[tuple[GraphProto, Scope]]:
    """The bodies directly inside the nodes of a copy of the scope's graph, each with its scope."""
    for (index, attribute), child in scope.children.items():
        yield body_of(nodes[index], attribute), child


def body_of(node: NodeProto, attribute: str) -> GraphProto:
    """The body that an attribute holds, `name` or `name[at]`."""
    name, _, at = attribute.partition("[")
    held = next(candidate for candidate in node.attribute if candidate.name == name)
    return held.graphs[int(at[:-1])] if at else held.g


def fill(tensor: TypeProto.Tensor, dims: Sequence[int | str | None]) -> None:
    """State these dims."""
    tensor.shape.SetInParent()
    del tensor.shape.dim[:]
    for size in dims:
        dim = tensor.shape.dim.add()
        if isinstance(size, int):
            dim.dim_value = size
        elif size is not None:
            dim.dim_param = size


def input_shape(name: str, dims: Dims, declared: Mapping[str, Size], prefix: str = "") -> Shape:
    """An input's declared dims as terms: an unknown one is the term of its own axis."""
    return Shape(
        tuple(
            size if isinstance(size, int) else Dim((f"?{prefix}{name}.{axis}",)) if size is None else declared[size]
            for axis, size in enumerate(dims)
        )
    )


def infer(main: Scope, model: ModelProto, names: Names) -> None:
    """Fill `main` and the scopes inside it: its inputs' shapes are there already. `model` is a copy to work on."""
    strip(model.graph, main)
    _state_inputs(main, model, names)
    known = {scope: dict(scope.shapes) for scope in main.walk()}
    injected: set[tuple[str, str, str]] = set()
    loops = Loops()
    rounds = LOOP_ROUNDS if any(scope.path.endswith(".body") for scope in known) else ROUNDS
    for left in range(rounds, -1, -1):
        loops.begin(abandoned=not left)
        if loops.broken or loops.abandoned:
            _forget(model, main, injected)
            loops.broken = False
        sweep = _swept(main, model, names, loops, known)
        news = {(scope.path, name, str(scope.shapes[name])) for scope, learnt in sweep.gains.items() for name in learnt}
        if loops.settled and (news <= injected or left <= 1):
            return
        injected |= news
        for graph, (scope, learnt) in zip(_graphs(model.graph, main), sweep.gains.items(), strict=True):
            _inject(graph, learnt, scope, names)


def _state_inputs(main: Scope, model: ModelProto, names: Names) -> None:
    for value in model.graph.input:
        shape = main.shapes.get(value.name)
        if shape is not None and shape.axes is not None and value.type.HasField("tensor_type"):
            fill(value.type.tensor_type, [names.text(size) for size in shape.axes])


def _swept(
    main: Scope, model: ModelProto, names: Names, loops: Loops, known: Mapping[Scope, Mapping[str, Shape]]
) -> Sweep:
    """One round: onnx's inference, then the own rules over its result."""
    names.met.clear()
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    for scope in main.walk():
        scope.shapes = dict(known[scope])
        for known_before in (scope.elements, scope.unranked, scope.stale):
            known_before.clear()
    sweep = Sweep(names, loops)
    sweep.run(main, inferred.graph)
    return sweep


def _forget(model: ModelProto, main: Scope, injected: set[tuple[str, str, str]]) -> None:
    """Start anew: what onnx was told leant on an assumption that did not hold."""
    strip(model.graph, main)
    injected.clear()
    for scope in main.walk():
        scope.leant.clear()


def _graphs(graph: GraphProto, scope: Scope) -> Iterator[GraphProto]:
    yield graph
    for body, child in bodies_of(graph.node, scope):
        yield from _graphs(body, child)


def _inject(graph: GraphProto, learnt: set[str], scope: Scope, names: Names) -> None:
    stored = {value.name: value for value in (*graph.value_info, *graph.input)}
    for name in sorted(learnt):
        value = stored.get(name) or graph.value_info.add(name=name)
        value.type.tensor_type.elem_type = scope.dtypes.get(name, TensorProto.UNDEFINED)
        fill(value.type.tensor_type, [names.text(size) for size in scope.shapes[name].dims])


@dataclass(slots=True)
class Loops:
    """What is known of loop-carried values by induction: the shape that enters the loop, if the body gives it back.

    An axis (or the rank) that the body changes is widened, and everything is inferred anew without it.
    """

    axes: dict[tuple[str, str], set[int]] = field(default_factory=dict)
    """By body and value: the axes whose size changes from one iteration to the next."""
    ranks: set[tuple[str, str]] = field(default_factory=set)
    """Those whose rank changes."""
    broken: bool = False
    """Whether the last sweep leant on an assumption that did not hold."""
    untried: bool = False
    """Whether onnx does not know the assumptions of the last sweep yet: what the body gives back is not judged."""
    abandoned: bool = False
    """Nothing is assumed any more: there were too many rounds."""

    def begin(self, *, abandoned: bool) -> None:
        """Begin a round."""
        self.untried, self.abandoned = False, abandoned

    @property
    def settled(self) -> bool:
        """Whether every assumption of the last sweep held."""
        return not self.broken and not self.untried

    def enters(self, body: Scope, name: str, initial: Shape) -> Shape:
        """The shape of a carried value in every iteration."""
        key = (body.path, name)
        if initial.axes is None or key in self.ranks or self.abandoned:
            return Shape(None, (f"?{body.path}:{name}",))
        changing = self.axes.get(key, ())
        fresh = (Dim((f"?{body.path}:{name}.{axis}",)) for axis in range(len(initial.axes)))
        return Shape(tuple(new if axis in changing else size for axis, (size, new) in enumerate(zip(initial.axes, fresh, strict=True))))

    def leaves(self, body: Scope, name: str, entered: Shape, left: Shape) -> None:
        """Compare with what the body gives back."""
        if entered.axes is None:
            return
        key = (body.path, name)
        if left.axes is None or len(left.axes) != len(entered.axes):
            self.ranks.add(key)
            self.broken = True
            return
        pairs = enumerate(zip(entered.axes, left.axes, strict=True))
        changed = {axis for axis, sizes in pairs if not same(*sizes)} - self.axes.get(key, set())
        if changed:
            self.axes.setdefault(key, set()).update(changed)
            self.broken = True


@dataclass(frozen=True, slots=True)
class Told:
    """What onnx says of one value."""

    dtype: int
    dims: Dims | None
    whole: Shape | None
    """The shape, where every size is a number or a symbol of an input: there is nothing to add."""


@dataclass(slots=True)
class Sweep:
    """One pass of the own rules over onnx's result, in the order of execution."""

    names: Names
    loops: Loops
    gains: dict[Scope, set[str]] = field(default_factory=dict)
    untold: set[Scope] = field(default_factory=set)
    """Bodies whose inputs' shapes onnx does not know yet."""
    types: dict[bytes, Told] = field(default_factory=dict)
    """By serialized type: a big model has few distinct ones."""

    def run(self, main: Scope, inferred: GraphProto) -> None:
        """Fill every scope; note, by scope, the values that onnx should be told about."""
        self._scope(main, inferred)

    def _scope(self, scope: Scope, inferred: GraphProto) -> None:
        self.gains[scope] = set()
        told = self._told(scope, inferred)
        held = inferred.node
        by_node: dict[int, list[tuple[str, Scope]]] = {}
        for (index, attribute), child in scope.children.items():
            by_node.setdefault(index, []).append((attribute, child))
        for index, step in enumerate(scope.steps):
            bodies = by_node.get(index, ())
            for attribute, child in bodies:
                self._body_inputs(scope, step.message, child)
                self._scope(child, body_of(held[index], attribute))
            self._node(scope, step, told, [child for _, child in bodies])
        self._settle(scope)

    def _told(self, scope: Scope, inferred: GraphProto) -> dict[str, Told]:
        """What onnx says, by name; constants and inputs are entered at once."""
        told: dict[str, Told] = {}
        dtypes, types = scope.dtypes, self.types
        for value in (*inferred.value_info, *inferred.output, *inferred.input):
            key = value.type.SerializeToString()
            known = types.get(key)
            if known is None:
                known = types[key] = self._type(value)
            name = value.name
            if known.dtype:
                dtypes[name] = known.dtype
            told[name] = known
        if scope.graph is not None:
            self._constants(scope, scope.graph)
            for value in inferred.input:
                shape = scope.shapes.get(value.name)
                if shape is None:
                    self._enter(scope, value.name, told[value.name].dims, None)
                elif shape.axes is not None and told[value.name].dims is None and scope.outer is not None:
                    self.gains[scope].add(value.name)
                    self.untold.add(scope)
        return told

    def _type(self, value: ValueInfoProto) -> Told:
        dims = stated(value)
        declared = self.names.declared
        sizes = [size if isinstance(size, int) or size is None else declared.get(size) for size in dims or ()]
        known = tuple(size for size in sizes if size is not None)
        whole = Shape(known) if dims is not None and len(known) == len(dims) else None
        return Told(value.type.tensor_type.elem_type, dims, whole)

    def _constants(self, scope: Scope, graph: GraphProto) -> None:
        overridable = {value.name for value in graph.input}
        for tensor in graph.initializer:
            scope.dtypes[tensor.name] = tensor.data_type
            if tensor.name in overridable:
                continue
            scope.shapes[tensor.name] = Shape(tuple(tensor.dims))
            contents.enter(scope, tensor.name, tensor)
        for sparse in graph.sparse_initializer:
            scope.dtypes[sparse.values.name] = sparse.values.data_type
            scope.shapes[sparse.values.name] = Shape(tuple(sparse.dims))

    def _body_inputs(self, scope: Scope, node: NodeProto, child: Scope) -> None:
        if child.graph is None:
            return
        for value in child.graph.input:
            child.dtypes[value.name] = value.type.tensor_type.elem_type
        for value, initial in _carried(node, child):
            child.shapes[value] = self.loops.enters(child, value, scope.shape(initial))

    def _loop(self, scope: Scope, node: NodeProto, body: Scope) -> list[Shape | None]:
        """A Loop's results: the carried values, and what the scan outputs pile up."""
        if body.graph is None:
            return []
        carried = _carried(node, body)
        outputs = [value.name for value in body.graph.output][1:]
        if body in self.untold:
            self.loops.untried = True
        else:
            for (name, _), left in zip(carried, outputs, strict=False):
                self.loops.leaves(body, name, body.shapes[name], body.shape(left))
        piles = [body.shape(name).axes for name in outputs[len(carried) :]]
        scans = [None if axes is None else rules.unknowns(len(axes) + 1) for axes in piles]
        return [*(self._outside(body.shapes[name], body) for name, _ in carried), *scans]

    @staticmethod
    def _outside(shape: Shape, body: Scope) -> Shape | None:
        """A carried shape as the loop's result has it: sizes that change inside have no name outside."""
        if shape.axes is None:
            return None
        inner = f"?{body.path}:"
        own = (isinstance(size, Dim) and any(part.startswith(inner) for part in size.parts) for size in shape.axes)
        return Shape(tuple(UNKNOWN if mine else size for mine, size in zip(own, shape.axes, strict=True)))

    def _node(self, scope: Scope, step: Step, told: dict[str, Told], bodies: list[Scope]) -> None:
        op, outputs = step.op, step.outputs
        if not step.domain and op in contents.FOLLOW:
            contents.node(scope, step.message, op, outputs[0])
        own: Sequence[Shape | None] = ()
        if bodies and not step.domain:
            own = self._loop(scope, step.message, bodies[0]) if op == "Loop" else _joined(bodies) if op == "If" else ()
        elif _all_whole(scope.shapes, outputs, told):
            return
        else:
            own = self._by_rule(scope, step)
        for index, name in enumerate(outputs):
            if name:
                known = told.get(name)
                dims = known.dims if known is not None else None
                self._enter(scope, name, dims, own[index] if index < len(own) else None, op == "Constant")

    @staticmethod
    def _by_rule(scope: Scope, step: Step) -> Sequence[Shape | None]:
        row = ops.row(step.domain, step.op, scope.versions.get(step.domain, 1))
        rule = rules.rule(step.domain, step.op, row)
        if rule is None:
            return ()
        try:
            return rule(rules.Call(scope, row, step.inputs, {} if step.bare else contents.attributes(step.message)))
        except Incompatible:
            return ()

    def _enter(self, scope: Scope, name: str, told: Dims | None, own: Shape | None, constant: bool = False) -> None:
        """Merge what onnx and the own rules say of one value; note what onnx does not know yet."""
        if name in scope.shapes and constant:
            return
        if told is None:
            if own is None or not own.valid:
                own = UNRANKED
            shape = own if own.axes is not None or own.parts else Shape(None, (f"?{self._at(scope)}{name}",))
            if own.axes is not None:
                shape = Shape(self._sizes(scope, name, (None,) * len(own.axes), own.axes))
                self.gains[scope].add(name)
            scope.shapes[name] = shape
            return
        axes = own.axes if own is not None and own.axes is not None and len(own.axes) == len(told) else (UNKNOWN,) * len(told)
        sizes = self._sizes(scope, name, told, axes)
        if any(isinstance(size, int) and not isinstance(was, int) for size, was in zip(sizes, told, strict=True)):
            self.gains[scope].add(name)
        scope.shapes[name] = Shape(sizes)

    def _at(self, scope: Scope) -> str:
        return "" if scope.path == "main" else f"{scope.path}:"

    def _sizes(self, scope: Scope, name: str, told: Sequence[int | str | None], own: Sequence[Size]) -> tuple[Size, ...]:
        return tuple(self._size(scope, name, axis, said, mine) for axis, (said, mine) in enumerate(zip(told, own, strict=True)))

    def _size(self, scope: Scope, name: str, axis: int, told: int | str | None, own: Size) -> Size:
        if isinstance(told, int):
            return told
        known = self.names.size(told) if told is not None else None
        term = _better(known, own)
        if term is None:
            term = Dim((f"?{self._at(scope)}{name}.{axis}",))
        if told is not None and known is None:
            self.names.met[told] = term
        return term

    def _settle(self, scope: Scope) -> None:
        """Compare the stored shapes with the computed ones; take a stored rank where none could be computed."""
        for name in _leaning(scope):
            rank = len(scope.claims[name])
            scope.shapes[name] = Shape(self._sizes(scope, name, (None,) * rank, (UNKNOWN,) * rank))
            self.gains[scope].add(name)
            scope.leant.add(name)
        for name, claim in scope.claims.items():
            shape = scope.shapes.get(name)
            if shape is not None and shape.axes is not None and contradicts(shape.axes, claim):
                stored = ",".join("?" if size is None else str(size) for size in claim)
                scope.stale[name] = f"the stored shape [{stored}] of '{name}' contradicts the computed {shape}"


def _leaning(scope: Scope) -> list[str]:
    """The values whose stored rank is taken: first those that nothing else can tell, then the rest."""
    if scope.path != "main":
        return []  # a body's values may change their rank from one call to the next
    shapes = scope.shapes
    blank = [name for name in scope.claims if name in shapes and shapes[name].axes is None]
    if not blank:
        return []
    waiting: set[str] = set()
    for node in scope.nodes:
        if node.domain in ("", "ai.onnx") and any(name and scope.shape(name).axes is None for name in node.input):
            waiting.update(node.output)  # a standard operator: its result follows once its operands are known
    return [name for name in blank if name not in waiting] or blank


def _better(known: Size | None, own: Size) -> Size | None:
    """The more telling of two terms for one size, None when neither says anything."""
    if isinstance(own, int) or known is None:
        return own if isinstance(own, int) or own.parts else None
    if isinstance(known, int) or not own.parts or len(own.parts) > 1:
        return known
    return own


def contradicts(computed: Sequence[Size], stored: Dims) -> bool:
    """Whether a stored shape can't be that of the value: another rank, or another number."""
    return len(computed) != len(stored) or any(
        isinstance(have, int) and isinstance(said, int) and have != said for have, said in zip(computed, stored, strict=True)
    )


def _all_whole(shapes: dict[str, Shape], outputs: Sequence[str], told: dict[str, Told]) -> bool:
    """Enter the results of a node of which onnx says all there is."""
    for name in outputs:
        known = told.get(name)
        if known is None or known.whole is None:
            return False
        shapes.setdefault(name, known.whole)
    return True


def _carried(node: NodeProto, body: Scope) -> list[tuple[str, str]]:
    """(the body's input, the value that enters the loop) of every loop-carried value."""
    if node.op_type != "Loop" or body.graph is None:
        return []
    return list(zip([value.name for value in body.graph.input][2:], node.input[2:], strict=False))


def _joined(bodies: Sequence[Scope]) -> list[Shape | None]:
    """An If's results: what both branches agree on; branches of different rank leave the result unranked."""
    outputs = [[body.shape(value.name) for value in body.graph.output] for body in bodies if body.graph is not None]
    return [_common(pair) for pair in zip(*outputs, strict=False)]


def _common(branches: Sequence[Shape]) -> Shape | None:
    head = branches[0]
    if head.axes is None or any(other.axes is None or len(other.axes) != len(head.axes) for other in branches):
        return None
    columns = zip(*(branch.dims for branch in branches), strict=True)
    return Shape(tuple(column[0] if all(same(column[0], other) for other in column) else UNKNOWN for column in columns))
