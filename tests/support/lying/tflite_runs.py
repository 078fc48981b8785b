"""What the tensors of a TFLite file really are, and which of its stored shapes contradict them.

LiteRT runs in the child process of `tests.support.child`, since its kernels may abort it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.support import child
from tests.support.pairs.tflite_file import KINDS, free_dims, listed, unpacked

if TYPE_CHECKING:
    from numpy.typing import NDArray

FREE_SIZES = (1, 3)
"""The sizes of free axes in the two runs, if a file has some."""


@dataclass(frozen=True, slots=True)
class Ran:
    """One run: the outputs of the default interpreter, and by subgraph the tensors' shapes without delegates."""

    outputs: tuple[NDArray[Any], ...]
    shapes: tuple[tuple[tuple[int, ...] | None, ...], ...]
    """A subgraph that was not run has the stored shapes."""


@cache
def runs(file: bytes) -> list[Ran]:
    """Return the runs of a file: two sizes of its free axes, and both values of its bool scalars.

    Raises RuntimeError with LiteRT's message.
    """
    found: list[Ran] = child.asked(__name__, file)
    return found


def contradictions(file: bytes) -> list[str]:
    """Return every stored shape that a run contradicts: its rank, or a number of its shape or of its signature.

    The number of a free axis (-1 in the signature) in `shape` stands for nothing. A tensor without shape and has_rank
    is unranked, so it contradicts nothing.
    """
    graphs = unpacked(file).subgraphs
    found = []
    for ran in runs(file):
        for number, graph in enumerate(graphs):
            for tensor, real in zip(graph.tensors, ran.shapes[number], strict=True):
                found += list(_lies(f"{number}/{tensor.name.decode()}", tensor, real))
    return sorted(set(found))


def stored(file: bytes) -> dict[str, tuple[list[int], list[int], bool]]:
    """Return the shape, signature and has_rank of every tensor that is not a constant, by subgraph and name."""
    model = unpacked(file)
    return {
        f"{number}/{tensor.name.decode()}": (listed(tensor.shape), listed(tensor.shapeSignature), tensor.hasRank)
        for number, graph in enumerate(model.subgraphs)
        for tensor in graph.tensors
        if model.buffers[tensor.buffer].data is None
    }


def _lies(name: str, tensor: Any, real: tuple[int, ...] | None) -> Iterator[str]:  # noqa: ANN401 -- the object API has no types
    shape, signature = tuple(listed(tensor.shape)), tuple(listed(tensor.shapeSignature))
    if real is None or (not shape and not tensor.hasRank and not signature):
        return
    free = signature or shape
    if len(shape) != len(real) or any(f >= 0 and s != r for s, f, r in zip(shape, free, real, strict=False)):
        yield f"{name} has the shape {list(shape)}, and is {list(real)}"
    if len(free) != len(real) or any(f not in (-1, r) for f, r in zip(free, real, strict=True)):
        yield f"{name} has the signature {list(signature)}, and is {list(real)}"


# --- in the other process ---------------------------------------------------------------------------------------------


def serve(file: bytes) -> list[Ran]:
    """Run a file in a fork. Raises RuntimeError where LiteRT refuses it or aborts."""
    ((answer, ended),) = child.in_forks([file], _runs)
    if isinstance(answer, list):
        return answer
    raise RuntimeError(answer or f"LiteRT aborts the process ({ended})")


def _runs(file: bytes) -> list[Ran] | str:
    try:
        sizes = FREE_SIZES if free_dims(file) else FREE_SIZES[:1]
        graph = unpacked(file).subgraphs[0]
        flags = (True, False) if any(graph.tensors[at].type == KINDS.BOOL for at in graph.inputs) else (True,)
        return [_run(file, size, flag=flag) for size in sizes for flag in flags]
    except (RuntimeError, ValueError) as error:  # how LiteRT reports a model that it refuses
        return str(error)


def _run(file: bytes, size: int, *, flag: bool) -> Ran:
    default, plain = (
        _invoked(file, size, "AUTO", flag=flag),
        _invoked(file, size, "BUILTIN_WITHOUT_DEFAULT_DELEGATES", flag=flag),
    )
    outputs = tuple(default.get_tensor(detail["index"]) for detail in default.get_output_details())
    for detail, output in zip(plain.get_output_details(), outputs, strict=True):
        if plain.get_tensor(detail["index"]).shape != output.shape:
            raise ValueError(f"{detail['name']} has another shape with XNNPACK")
    counts = [len(graph.tensors) for graph in unpacked(file).subgraphs]
    ran = tuple(tuple(_size(plain, at, number) for at in range(count)) for number, count in enumerate(counts))
    return Ran(outputs, ran)


def _invoked(file: bytes, size: int, resolver: str, *, flag: bool) -> Any:  # noqa: ANN401 -- LiteRT has no types
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    made = Interpreter(
        model_content=file,
        experimental_op_resolver_type=OpResolverType[resolver],
        experimental_preserve_all_tensors=resolver != "AUTO",
        num_threads=1,
    )
    for detail in made.get_input_details():
        if -1 in detail["shape_signature"]:
            shape = [size if free < 0 else int(free) for free in detail["shape_signature"]]
            made.resize_tensor_input(detail["index"], shape)
    made.allocate_tensors()
    draw = np.random.default_rng(0)
    for detail in made.get_input_details():
        made.set_tensor(detail["index"], _drawn(detail["shape"], detail["dtype"], draw, flag=flag))
    made.invoke()
    return made


def _drawn(shape: Sequence[int], dtype: type[Any], draw: np.random.Generator, *, flag: bool) -> NDArray[Any]:
    if dtype is np.bool_:
        return np.full(shape, flag)
    return np.zeros(shape, dtype) if dtype is np.int32 else draw.standard_normal(shape).astype(dtype)


def _size(made: Any, tensor: int, subgraph: int) -> tuple[int, ...] | None:  # noqa: ANN401 -- LiteRT has no types
    try:
        return tuple(int(size) for size in made._interpreter.TensorSize(tensor, subgraph))
    except ValueError:  # "Tensor with no shape found"
        return None
