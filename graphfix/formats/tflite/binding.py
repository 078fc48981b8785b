"""Free sizes of the inputs bound to numbers, and every stored shape brought up to date.

LiteRT itself is asked what the shapes become, in a child process; where it can't say, they are inferred here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from graphfix.formats.neutral.equal_sizes import Group, Same, Sum, groups, member, met, place
from graphfix.formats.tflite.file.container import Container
from graphfix.formats.tflite.file.records import ABSENT, Subgraph, Tensor
from graphfix.formats.tflite.infer.analysis import analyse
from graphfix.formats.tflite.infer.names import FREE, declared, free, free_axes, named_inputs
from graphfix.formats.tflite.infer.value_dependence import determined
from graphfix.results import GraphfixError
from graphfix.results.axis_names import axis_fault
from graphfix.results.claims import SHAPES_INFERRED
from graphfix.results.error_texts import no_dim, no_input
from graphfix.runtimes.session import RefusedError
from graphfix.shapes.dim import Shape, Size
from graphfix.shapes.terms import GREATEST

Sizes = dict[int, list[int]]
"""By input: its sizes as they are bound so far, FREE where they are not."""


def bind(
    container: Container,
    dims: Mapping[str, Size],
    shapes: Mapping[str, Sequence[int | None]],
    notes: list[str] | None = None,
    same: Same = (),
) -> bool:
    """Write numbers into the inputs of the main subgraph and into every shape that follows; return whether any changed.

    `dims`: by label, `x[0]`; a size that is no number only narrows a range and changes nothing here. `shapes`: by
    input, None leaves a size free. `same`: what is equal to a number is that number. `notes` gains a line where LiteRT
    could not be asked.

    Raises GraphfixError for an unknown name and for what contradicts the file.
    """
    bound = _bound(container, dims, shapes)
    for _ in same:  # what is bound may bind others
        _bind_equal(container, same, bound)
    tensors = container.subgraphs[0].tensors
    news = {
        tensor: sizes
        for tensor, sizes in bound.items()
        if tuple(sizes) != declared(tensors[tensor]) or not tensors[tensor].states_rank
    }
    if not news:
        return False
    for tensor, sizes in news.items():
        _declare(container.subgraphs[0], tensors[tensor], sizes)
        if not tensors[tensor].states_rank:  # old converters wrote scalars without has_rank
            tensors[tensor].state(())
            container.subgraphs[0].changed = True
    update(container, notes)
    return True


def update(container: Container, notes: list[str] | None = None) -> None:
    """Write the shapes that follow from the inputs as they are declared now into all results."""
    tensors = container.subgraphs[0].tensors
    inferred = [facts.shapes for facts in analyse(container, {})]
    inputs = [tensor for tensor in container.subgraphs[0].inputs if tensor != ABSENT]
    if any(FREE in declared(tensors[tensor]) for tensor in inputs):
        _update_shapes(container, inferred, {})
        return
    try:
        reported = _reported(
            container, {tensor: declared(tensors[tensor]) for tensor in inputs if tensors[tensor].states_rank}
        )
    except RefusedError as error:
        reported = {}
        if notes is not None:
            notes.append(f"{SHAPES_INFERRED} ({error})")
    _update_shapes(container, inferred, reported)


def state_free(container: Container) -> None:
    """Write the sizes that are inferred of the main subgraph's results where they are stored as free ones."""
    main, shapes = container.subgraphs[0], analyse(container, {})[0].shapes
    for tensor in _computed(main, 0):
        stored, sizes = declared(main.tensors[tensor]), shapes[tensor].axes
        if sizes is not None and len(sizes) == len(stored):
            pairs = zip(stored, sizes, strict=True)
            _declare(
                main, main.tensors[tensor], [new if old == FREE and isinstance(new, int) else old for old, new in pairs]
            )


def _bound(container: Container, dims: Mapping[str, Size], shapes: Mapping[str, Sequence[int | None]]) -> Sizes:
    """The sizes of every input that is named, none of them changed yet."""
    where, tensors = container.source.name, container.subgraphs[0].tensors
    labels, inputs = free_axes(container), named_inputs(container)
    bound: Sizes = {}
    for label, size in dims.items():
        if label not in labels:
            why = axis_fault(label, {name: declared(tensors[tensor]) for name, tensor in inputs.items()})
            why = why or no_dim(label, free(container))
            raise GraphfixError(f"{where}: --dim {label}: {why}")
        tensor, axis = labels[label]
        if isinstance(size, int):
            sizes = bound.setdefault(tensor, list(declared(tensors[tensor])))
            sizes[axis] = _one(f"{where}: --dim {label}", sizes[axis], size, sizes)
    for name, shape in shapes.items():
        if name not in inputs:
            raise GraphfixError(f"{where}: --shape {name}: {no_input(name, inputs)}")
        tensor = inputs[name]
        have = bound.get(tensor, list(declared(tensors[tensor])))
        bound[tensor] = _whole(f"{where}: --shape {name}", tensors[tensor], have, shape)
    return bound


def _bind_equal(container: Container, same: Same, bound: Sizes) -> None:
    """Bind what is equal to a number, too."""
    labels, tensors = free_axes(container), container.subgraphs[0].tensors
    for group in _groups(container, same, bound):
        for number in (size for size in group if isinstance(size, int)):
            for tensor, axis in (labels[size] for size in group if isinstance(size, str)):
                bound.setdefault(tensor, list(declared(tensors[tensor])))[axis] = number


def equal_labels(
    container: Container, same: Same, ranges: Mapping[str, Size]
) -> tuple[dict[str, str], dict[str, Size], dict[str, Sum]]:
    """By label: the one that stands for all equal ones, the range that all of theirs leave, and what is a sum."""
    equal: dict[str, str] = {}
    met_ranges: dict[str, Size] = {}
    sums: dict[str, Sum] = {}
    for group in _groups(container, same, {}):
        labels = [size for size in group if isinstance(size, str)]
        sums |= {label: size for size in group if isinstance(size, Sum) for label in labels}
        if len(labels) == len(group):
            equal |= dict.fromkeys(labels, labels[0])
            met_ranges |= dict.fromkeys(labels, met(container.source.name, labels, ranges, ()))
    return equal, met_ranges, sums


def _groups(container: Container, same: Same, bound: Sizes) -> list[Group]:
    """The groups of sizes that are one, some of them bound but not yet in the file. Raises GraphfixError."""
    where, inputs, tensors = container.source.name, named_inputs(container), container.subgraphs[0].tensors
    firsts = {at: label for label, at in reversed(free_axes(container).items())}

    def size_of(text: str) -> int | str:
        at = place(text)
        if at is None or at[0] not in inputs:
            input_names = ", ".join(inputs) or "none"
            raise GraphfixError(f"{where}: --same {text}: no axis of an input, such as ids[0]; inputs: {input_names}")
        tensor, axis = inputs[at[0]], at[1]
        sizes = bound.get(tensor, list(declared(tensors[tensor])))
        if not sizes and not tensors[tensor].states_rank:
            raise GraphfixError(f"{where}: --same {text}: the rank of '{at[0]}' is not known; give its --shape too")
        if axis >= len(sizes):
            raise GraphfixError(f"{where}: --same {text}: '{at[0]}' has {len(sizes)} axes, the first is {at[0]}[0]")
        return firsts[tensor, axis] if sizes[axis] == FREE else sizes[axis]

    labels = {f"{name}[{axis}]" for name, tensor in inputs.items() for axis in range(len(declared(tensors[tensor])))}
    return groups(where, [[member(text, labels) for text in members] for members in same], size_of)


def _whole(where: str, tensor: Tensor, have: list[int], want: Sequence[int | None]) -> list[int]:
    if not tensor.states_rank:
        have = [FREE] * len(want)
    if len(have) != len(want):
        raise GraphfixError(f"{where}: {len(want)} dims given, the input has {_text(have)}")
    return [old if new is None else _one(where, old, new, have) for old, new in zip(have, want, strict=True)]


def _one(where: str, have: int, want: int, sizes: Sequence[int]) -> int:
    if have not in (FREE, want):
        raise GraphfixError(f"{where}: {want} contradicts the input's {_text(sizes)}")
    if want > GREATEST:
        raise GraphfixError(f"{where}: {want} is more than a size of TFLite can be; give at most {GREATEST}")
    return want


def _text(sizes: Sequence[int]) -> str:
    return f"[{', '.join('?' if size == FREE else str(size) for size in sizes)}]"


def _reported(container: Container, inputs: Mapping[int, Sequence[int]]) -> dict[int, tuple[int, ...]]:
    """The shapes that LiteRT reports for the main subgraph's tensors, for those that have the same shape in every run.

    Nothing where the model is allocated but not run: shapes that follow from computed sizes are only then known.
    """
    from graphfix.runtimes.litert import evaluation  # few models are asked about

    source = container.path if container.path is not None else bytes(container.source.data)
    asked = evaluation.shapes(source, inputs, container.given)
    if asked.invoked is None:
        raise RefusedError(asked.reason or "the model does not run")
    reported = asked.invoked[0]
    return {
        tensor: reported[tensor] for tensor in determined(container) if tensor < len(reported)
    }  # without new constants


def _update_shapes(
    container: Container, inferred: Sequence[Sequence[Shape]], reported: Mapping[int, tuple[int, ...]]
) -> None:
    """Write every shape that is known now into the results of operators, and into the inputs of bodies."""
    for index, subgraph in enumerate(container.subgraphs):
        for tensor in _computed(subgraph, index):
            record = subgraph.tensors[tensor]
            if index == 0 and tensor in reported:
                _declare(subgraph, record, reported[tensor])
            else:
                sizes = _merged(record, inferred[index][tensor])
                if sizes is not None:
                    _declare(subgraph, record, sizes)


def _computed(subgraph: Subgraph, index: int) -> Iterator[int]:
    found = [tensor for operator in subgraph.operators for tensor in operator.outputs]
    return (tensor for tensor in ([*subgraph.inputs, *found] if index else found) if tensor != ABSENT)


def _merged(tensor: Tensor, shape: Shape) -> Sequence[int] | None:
    """The stored sizes with every number that was inferred; None where the rank is not known."""
    if shape.axes is None:
        return None
    stored = declared(tensor)
    if len(stored) != len(shape.axes):
        stored = (FREE,) * len(shape.axes)
    return [size if isinstance(size, int) else old for size, old in zip(shape.axes, stored, strict=True)]


def _declare(subgraph: Subgraph, tensor: Tensor, sizes: Sequence[int]) -> None:
    """Write sizes into a record where they are others than it has."""
    if tuple(sizes) == declared(tensor):
        return
    tensor.state(sizes)
    subgraph.changed = True
