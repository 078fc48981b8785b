"""Looks at a TFLite model while LiteRT runs it: the shapes of all operands of every broadcasting operator.

Nothing of graphfix is used. The list of operators is written by hand from TFLite's schema and kernels. LiteRT runs in
forks of another process, since its kernels may end the one that they are in.
"""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tests.support import child

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ELEMENTWISE = frozenset(
    "ADD SUB MUL DIV POW FLOOR_DIV FLOOR_MOD SQUARED_DIFFERENCE MAXIMUM MINIMUM LESS LESS_EQUAL GREATER GREATER_EQUAL"
    " EQUAL NOT_EQUAL LOGICAL_AND LOGICAL_OR BITWISE_XOR RIGHT_SHIFT SELECT SELECT_V2 PRELU".split()
)
PRODUCT = "BATCH_MATMUL"
"""Only its batch axes broadcast, all but the last two."""
SIZES = (3, 1, 2, 5, 16, 32, 48, 64, 96, 160, 256)
"""What free sizes are tried at."""
BATCH = 3
"""Offers that are tried at a time."""
KERNELS = {"reference": "BUILTIN_REF", "optimized": "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "xnnpack": "AUTO"}

Shape: TypeAlias = tuple[int, ...]
Sizes: TypeAlias = dict[int, Shape]
"""The shape of each input that is resized, by its position."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run: a file, the inputs that are resized, and the integer that all integer inputs are filled with."""

    path: str
    sizes: Sizes = field(default_factory=dict)
    kernels: str = "optimized"
    integer: int = 1


@dataclass(frozen=True, slots=True)
class Seen:
    """One broadcasting operator as it ran."""

    subgraph: int
    result: int
    """The tensor that it makes."""
    op: str
    operands: tuple[Shape | None, ...]
    """None for one that is absent."""
    shape: Shape
    """That of the result."""

    def unequal(self, target: str) -> list[int]:
        """The operands that still broadcast: of a smaller rank, for `explicit` also of another shape."""
        cut = -2 if self.op == PRODUCT else None
        return [
            index
            for index, shape in enumerate(self.operands)
            if shape is not None
            and (len(shape) != len(self.shape) or (target == "explicit" and shape[:cut] != self.shape[:cut]))
        ]


@dataclass(frozen=True, slots=True)
class Ran:
    """What LiteRT made of a job."""

    outputs: tuple[str, ...] = ()
    """Of each output its element type, its shape and the digest of its bytes."""
    operators: tuple[Seen, ...] = ()
    error: str = ""
    """What LiteRT says, or the signal that ended its process."""

    @property
    def fine(self) -> bool:
        return not self.error


_RAN: dict[tuple[str, tuple[tuple[int, Shape], ...], str, int], Ran] = {}
"""What became of the jobs of this session."""


def run(jobs: Sequence[Job]) -> list[Ran]:
    """Run each job; answers stand in the order of the jobs.

    A session runs the same bytes at the same sizes on a kernel set once: an original for both of its targets, and a
    copy with it. That a model returns the same twice is the checker's business.
    """
    digests = {path: hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in {job.path for job in jobs}}
    keys = [(digests[job.path], tuple(job.sizes.items()), job.kernels, job.integer) for job in jobs]
    new = {key: job for key, job in zip(keys, jobs, strict=True) if key not in _RAN}
    ran: list[Ran] = child.asked(__name__, list(new.values())) if new else []
    _RAN.update(zip(new, ran, strict=True))
    return [_RAN[key] for key in keys]


# --- which sizes ------------------------------------------------------------------------------------------------------


def free_axes(inputs: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """(position, axis) of every size that a caller may choose; `inputs` are shapes with -1 where it may."""
    return [(at, axis) for at, shape in enumerate(inputs) for axis, size in enumerate(shape) if size == -1]


def offers(inputs: Sequence[Sequence[int]]) -> Iterator[Sizes]:
    """The free sizes at many values; the model may refuse most of them.

    The first one (a batch, as a rule) at 2, 1 and 3, the others together; then each at a size of its own.
    """
    free = free_axes(inputs)
    if not free:
        yield {}
        return
    choices = [dict.fromkeys(free, size) | {free[0]: first} for size, first in itertools.product(SIZES, (2, 1, 3))]
    choices += [{place: size + 2 * at for at, place in enumerate(free)} for size in SIZES]
    for choice in dict.fromkeys(tuple(choice.items()) for choice in choices):
        sizes = dict(choice)
        yield {
            at: tuple(sizes.get((at, axis), size) for axis, size in enumerate(shape))
            for at, shape in enumerate(inputs)
            if -1 in shape
        }


def accepted(models: Mapping[Path, Sequence[Sequence[int]]], wanted: int) -> dict[Path, list[Sizes]]:
    """By model the first sizes that it takes: `wanted` of them where any are free."""
    found: dict[Path, list[Sizes]] = {path: [] for path in models}
    asked = {path: offers(inputs) for path, inputs in models.items()}
    while pending := [
        (path, sizes)
        for path, rest in asked.items()
        if len(found[path]) < wanted
        for sizes in itertools.islice(rest, BATCH)
    ]:
        for (path, sizes), answer in zip(pending, run([Job(str(path), sizes) for path, sizes in pending]), strict=True):
            if answer.fine and len(found[path]) < wanted:
                found[path].append(sizes)
    return found


# --- in the other process ---------------------------------------------------------------------------------------------


def serve(jobs: Sequence[Job]) -> list[Ran]:
    """Run each job where an abort ends a fork and no more."""
    return [ran or Ran(error=ended) for ran, ended in child.in_forks(jobs, _ran)]


def _ran(job: Job) -> Ran:
    try:
        return _looked(job)
    except (RuntimeError, ValueError) as error:  # how LiteRT reports what it refuses
        return Ran(error=str(error) or type(error).__name__)


def _looked(job: Job) -> Ran:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    made = Interpreter(
        model_path=job.path,
        experimental_op_resolver_type=OpResolverType[KERNELS[job.kernels]],
        experimental_preserve_all_tensors=job.kernels != "xnnpack",
        num_threads=1,
    )
    for position, shape in job.sizes.items():
        made.resize_tensor_input(made.get_input_details()[position]["index"], shape)
    made.allocate_tensors()
    random = np.random.default_rng(7)
    for detail in made.get_input_details():
        made.set_tensor(detail["index"], _drawn(detail, job.integer, random))
    made.invoke()
    outputs = tuple(_digest(made.get_tensor(detail["index"])) for detail in made.get_output_details())
    return Ran(outputs, tuple(_operators(job.path, made)) if job.kernels != "xnnpack" else ())


def _drawn(detail: dict[str, Any], integer: int, random: np.random.Generator) -> np.ndarray:
    """Values for one input: quantized and real numbers are drawn, other integers are all alike."""
    dtype, shape = np.dtype(detail["dtype"]), tuple(detail["shape"])
    if dtype.hasobject:
        return np.full(shape, b"text", object)
    if dtype.kind == "b":
        return np.full(shape, bool(integer))
    if dtype.kind in "iu" and len(detail["quantization_parameters"]["scales"]):
        return random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)
    if dtype.kind in "iu":
        return np.full(shape, integer, dtype)
    return random.standard_normal(shape).astype(dtype)


def _digest(array: np.ndarray) -> str:
    content = b"\0".join(array.ravel().tolist()) if array.dtype.hasobject else array.tobytes()
    return f"{array.dtype} {list(array.shape)} {hashlib.sha256(content).hexdigest()}"


def _operators(path: str, made: Any) -> Iterator[Seen]:  # noqa: ANN401 -- LiteRT has no types
    """The broadcasting operators of every subgraph, with the shapes that their tensors have now."""
    from tests.support.tflite.tree import operator_name, tree

    model = tree(Path(path).read_bytes())
    for at, graph in enumerate(model.subgraphs):
        shapes = [
            tuple(int(size) for size in made._get_tensor_details(tensor, at)["shape"])
            for tensor in range(len(graph.tensors))
        ]
        for operator in graph.operators:
            name = operator_name(model, operator)
            if name in ELEMENTWISE or name == PRODUCT:
                operands = tuple(shapes[tensor] if tensor >= 0 else None for tensor in operator.inputs)
                result = int(operator.outputs[0])
                yield Seen(at, result, name, operands, shapes[result])
