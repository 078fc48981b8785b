"""Bind free sizes of a TFLite model's inputs to numbers, and update every stored shape that depends on them.

LiteRT computes the new shapes in a child process. Shapes that LiteRT can't report are inferred by graphfix.
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
"""For each bound input (a tensor index), its sizes so far; FREE for a size that is not bound."""


def bind(
    container: Container,
    dims: Mapping[str, Size],
    shapes: Mapping[str, Sequence[int | None]],
    notes: list[str] | None = None,
    same: Same = (),
) -> bool:
    """Write numbers into inputs of the main subgraph, and update all stored shapes; return whether an input changed.

    `dims` maps a label such as `x[0]` to a size. A size that is not a number is a range, which changes nothing here.
    `shapes` maps an input to its sizes; None leaves a size free. `same` lists sizes that are stated to be equal: if one
    of them is a number, all of them are bound to this number. If LiteRT could not report the shapes, a line is added to
    `notes`.

    Raises GraphfixError for an unknown name, and for a size that contradicts the file.
    """
    bound = _bound(container, dims, shapes)
    for _ in same:  # A size that is bound by one statement may be a member of the next statement.
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
        if not tensors[tensor].states_rank:  # Old converters wrote scalars without `has_rank`.
            tensors[tensor].state(())
            container.subgraphs[0].changed = True
    update(container, notes)
    return True


def update(container: Container, notes: list[str] | None = None) -> None:
    """Update the stored shapes of all results, as they follow from the inputs that the file declares now.

    LiteRT reports the shapes if no input has a free size. Otherwise, or if LiteRT refuses, the shapes are inferred. A
    refusal adds a line to `notes`.
    """
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
    """Write inferred numbers into the stored shapes of the main subgraph's results, where a stored size is free.

    A result is skipped if its inferred rank is unknown or differs from the stored rank.
    """
    main, shapes = container.subgraphs[0], analyse(container, {})[0].shapes
    for tensor in _computed(main, 0):
        stored, sizes = declared(main.tensors[tensor]), shapes[tensor].axes
        if sizes is not None and len(sizes) == len(stored):
            pairs = zip(stored, sizes, strict=True)
            _declare(
                main, main.tensors[tensor], [new if old == FREE and isinstance(new, int) else old for old, new in pairs]
            )


def _bound(container: Container, dims: Mapping[str, Size], shapes: Mapping[str, Sequence[int | None]]) -> Sizes:
    """Return the new sizes of every input that `dims` or `shapes` contains; the file is not changed yet.

    Raises GraphfixError for an unknown label or input, and for a size that contradicts the file.
    """
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
    """Add to `bound` every free size that `same` states to be equal to a number."""
    labels, tensors = free_axes(container), container.subgraphs[0].tensors
    for group in _groups(container, same, bound):
        for number in (size for size in group if isinstance(size, int)):
            for tensor, axis in (labels[size] for size in group if isinstance(size, str)):
                bound.setdefault(tensor, list(declared(tensors[tensor])))[axis] = number


def equal_labels(
    container: Container, same: Same, ranges: Mapping[str, Size]
) -> tuple[dict[str, str], dict[str, Size], dict[str, Sum]]:
    """Return what `same` states about free sizes, as three mappings whose keys are labels such as `x[0]`.

    1. The label that represents all labels of the group of equal sizes.
    2. The range that all labels of the group have in common.
    3. The sum that the size is equal to.

    A group with a sum is only in the third mapping, and a group with a number is not in any mapping. Raises
    GraphfixError if ranges have no size in common.
    """
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
    """Return the groups of equal sizes that the statements `same` form together.

    `bound` has sizes that are bound but not yet in the file. Raises GraphfixError for an unknown axis, and if two
    different numbers would be equal.
    """
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
    """Return the sizes of an input by `--shape`: the numbers of `want`, and the present size for each None in `want`.

    Raises GraphfixError if the rank is different, or if a number contradicts the present size. `where` begins the
    message.
    """
    if not tensor.states_rank:
        have = [FREE] * len(want)
    if len(have) != len(want):
        raise GraphfixError(f"{where}: {len(want)} dims given, the input has {_text(have)}")
    return [old if new is None else _one(where, old, new, have) for old, new in zip(have, want, strict=True)]


def _one(where: str, have: int, want: int, sizes: Sequence[int]) -> int:
    """Return `want`.

    Raises GraphfixError if it differs from a present size `have` that is not free, or if it is too large.

    `sizes` are all sizes of the input, for the message, which `where` begins.
    """
    if have not in (FREE, want):
        raise GraphfixError(f"{where}: {want} contradicts the input's {_text(sizes)}")
    if want > GREATEST:
        raise GraphfixError(f"{where}: {want} is more than a size of TFLite can be; give at most {GREATEST}")
    return want


def _text(sizes: Sequence[int]) -> str:
    return f"[{', '.join('?' if size == FREE else str(size) for size in sizes)}]"


def _reported(container: Container, inputs: Mapping[int, Sequence[int]]) -> dict[int, tuple[int, ...]]:
    """Return the shapes that LiteRT reports for tensors of the main subgraph which have the same shape in every run.

    Raises RefusedError if LiteRT allocates the model but does not run it, because shapes that depend on computed sizes
    are only known after a run.
    """
    from graphfix.runtimes.litert import evaluation  # The module is imported here because few models need it.

    source = container.path if container.path is not None else bytes(container.source.data)
    asked = evaluation.shapes(source, inputs, container.given)
    if asked.invoked is None:
        raise RefusedError(asked.reason or "the model does not run")
    reported = asked.invoked[0]
    return {
        tensor: reported[tensor] for tensor in determined(container) if tensor < len(reported)
    }  # LiteRT read the old file, which does not contain new constants.


def _update_shapes(
    container: Container, inferred: Sequence[Sequence[Shape]], reported: Mapping[int, tuple[int, ...]]
) -> None:
    """Write the shapes of all results of operators, and of the inputs of bodies (all subgraphs but the main one).

    A shape in `reported` is used for a tensor of the main subgraph; every other tensor has its shape in `inferred`.
    """
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
    """Yield the results of all operators of a subgraph.

    If `index` is not 0 (not the main one), its inputs come first.
    """
    found = [tensor for operator in subgraph.operators for tensor in operator.outputs]
    return (tensor for tensor in ([*subgraph.inputs, *found] if index else found) if tensor != ABSENT)


def _merged(tensor: Tensor, shape: Shape) -> Sequence[int] | None:
    """Return the sizes to store: every inferred number, and the stored size where no number was inferred.

    Return None if the inferred rank is unknown. If the stored rank differs, the other sizes are free.
    """
    if shape.axes is None:
        return None
    stored = declared(tensor)
    if len(stored) != len(shape.axes):
        stored = (FREE,) * len(shape.axes)
    return [size if isinstance(size, int) else old for size, old in zip(shape.axes, stored, strict=True)]


def _declare(subgraph: Subgraph, tensor: Tensor, sizes: Sequence[int]) -> None:
    """Write the sizes into the tensor's record, unless the record already declares them."""
    if tuple(sizes) == declared(tensor):
        return
    tensor.state(sizes)
    subgraph.changed = True
