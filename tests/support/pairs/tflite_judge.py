"""LiteRT as the judge of a TFLite pair: where the first file runs, the second has to give the same bits.

Nothing of graphfix is used. A file is run on each kernel set, at several sizes of its free dims, twice in the same
interpreter (a variable keeps its value), and by each of its signatures. All in forks of another process: kernels abort.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.support import child

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

KERNELS = ("BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "AUTO")
"""The reference kernels, the optimized ones, and these with XNNPACK, which is what users get."""
SIZES = (1, 3, 2, 0)
"""What a free dim is run at, besides another size for each axis."""
SECONDS = 20
"""How long a run may take: a changed body may never end."""
MOST_ELEMENTS = 1 << 24
"""How large an input may be: a damaged size asks for more than there is memory."""
NEAR = 1e-5
"""How near XNNPACK's floats have to be."""
AGAIN = 3
"""How often both files are run again before a pair is called wrong."""
Run = tuple[str, int | None, str | None]
"""A kernel set, the size of the free dims (None: as the file is stored), a signature's key."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What one run of a file returned: the face of the file and digests of its results, or what went wrong."""

    results: tuple[str, ...] = ()
    error: str = ""
    rounded: tuple[tuple[float, ...], ...] = ()
    """XNNPACK's floats: which operators it takes, and so how they are rounded, depends on what stands around them."""

    @property
    def fine(self) -> bool:
        return not self.error


def files(many: Sequence[bytes]) -> list[dict[Run, Ran]]:
    """Run each file in every way that it has."""
    found: list[dict[Run, Ran]] = child.asked(__name__, list(many))
    return found


def steady(many: Sequence[bytes]) -> list[dict[Run, Ran]]:
    """The runs of first files that are fine, and the same a second time."""
    pairs = zip(files(many), files(many), strict=True)
    return [{run: ran for run, ran in one.items() if ran.fine and two[run] == ran} for one, two in pairs]


def wrong(before: Mapping[Run, Ran], after: Mapping[Run, Ran]) -> str | None:
    """What is wrong with the second file, by the runs of the first one that count."""
    for run, ran in before.items():
        other = after.get(run, Ran(error="has no such run"))
        if not other.fine:
            return f"{run}: fails: {other.error}"
        if other.results != ran.results:
            return f"{run}: {_unlike(ran.results, other.results)}"
        if not all(map(_near, ran.rounded, other.rounded)):
            return f"{run}: {_unlike(list(map(str, ran.rounded)), list(map(str, other.rounded)))}"
    return None


def _near(one: Sequence[float], two: Sequence[float]) -> bool:
    return np.allclose(one, two, rtol=NEAR, atol=NEAR, equal_nan=True)


def certainly_wrong(before: bytes, after: bytes) -> str | None:
    """The same of two files, each run again several times, among each other: what varies was never written."""
    ran = files([after, before] * AGAIN)
    firsts, seconds = ran[1::2], ran[::2]
    steady_ = {run: one for run, one in firsts[0].items() if one.fine and all(each[run] == one for each in firsts)}
    found = [wrong(steady_, second) for second in seconds]
    return found[0] if all(found) else None


def states_its_shapes(file: bytes) -> bool:
    """Whether every tensor gets the shape that the file states for it."""
    answer: bool = child.asked(__name__, file)
    return answer


def _unlike(one: Sequence[str], two: Sequence[str]) -> str:
    pairs = [f"{a} before, {b} after" for a, b in zip(one, two, strict=False) if a != b]
    return "; ".join(pairs) or f"{len(one)} results before, {len(two)} after"


# --- in the other process ---------------------------------------------------------------------------------------------


def serve(many: Sequence[bytes] | bytes) -> list[dict[Run, Ran]] | bool:
    """Run each file in a fork; where a kernel ends it, another one goes on behind that run. Of one file: its shapes."""
    if isinstance(many, bytes):
        return all(answer for answer, _ in child.in_forks([many], _as_stated, SECONDS))
    ways = [_ways(file) for file in many]
    asked = [(file, run) for file, runs in zip(many, ways, strict=True) for run in runs]
    answers = iter(child.in_forks(asked, _ran, SECONDS))
    return [{run: _answer(*next(answers)) for run in runs} for runs in ways]


def _as_stated(file: bytes) -> bool:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    from tests.support.pairs.tflite_file import listed, unpacked

    made = Interpreter(
        model_content=file,
        experimental_op_resolver_type=OpResolverType[KERNELS[1]],
        experimental_preserve_all_tensors=True,
        num_threads=1,
    )
    made.allocate_tensors()
    for place, detail in enumerate(made.get_input_details()):
        made.set_tensor(detail["index"], _drawn(detail, place, 0))
    made.invoke()
    inside = made._interpreter
    return all(
        listed(inside.TensorSize(at, number)) == listed(tensor.shape)
        for number, graph in enumerate(unpacked(file).subgraphs)
        for at, tensor in enumerate(graph.tensors)
    )


def _answer(ran: Ran | None, ended: str) -> Ran:
    return ran or Ran(error=ended)


def _ways(file: bytes) -> list[Run]:
    from tests.support.pairs.tflite_file import free_dims, signature_keys

    sizes: list[int | None] = [None, *(SIZES if free_dims(file) else ())]
    main: list[Run] = [(kernels, size, None) for kernels in KERNELS for size in sizes]
    return [*main, *((KERNELS[1], None, key) for key in signature_keys(file))]


def _ran(asked: tuple[bytes, Run]) -> Ran:
    file, (kernels, size, signature) = asked
    try:
        rounded: list[tuple[float, ...]] = []
        return Ran(tuple(_results(file, kernels, size, signature, rounded)), rounded=tuple(rounded))
    # how LiteRT reports what it refuses; and inputs that are larger than memory
    except (RuntimeError, ValueError, KeyError, TypeError, IndexError, MemoryError) as error:
        return Ran(error=(str(error) or type(error).__name__)[:300])


def _results(
    file: bytes, kernels: str, size: int | None, signature: str | None, rounded: list[tuple[float, ...]]
) -> Iterator[str]:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    made = Interpreter(model_content=file, experimental_op_resolver_type=OpResolverType[kernels], num_threads=1)
    yield f"signatures {sorted((key, str(value)) for key, value in made.get_signature_list().items())}"
    if signature is not None:
        yield from _by_signature(made, signature)
        return
    for detail in made.get_input_details():
        stored = tuple(map(int, detail["shape"]))
        free = tuple(map(int, detail["shape_signature"]))
        yield f"input {_face(detail)} {stored} {free}"
        if size is not None and -1 in free:
            made.resize_tensor_input(detail["index"], [size if each == -1 else each for each in free])
    made.allocate_tensors()
    for turn in range(2):
        for place, detail in enumerate(made.get_input_details()):
            made.set_tensor(detail["index"], _drawn(detail, place, turn))
        made.invoke()
        for detail in made.get_output_details():
            array = made.get_tensor(detail["index"])
            if kernels == KERNELS[-1] and array.dtype.kind == "f":
                rounded.append(tuple(array.ravel().tolist()))
                array = np.zeros_like(array)
            yield f"output {_face(detail)} {_digest(array)}"


def _by_signature(made: Any, key: str) -> Iterator[str]:  # noqa: ANN401 -- LiteRT has no types
    runner = made.get_signature_runner(key)
    feeds = {
        name: _drawn(detail, place, 0)
        for place, (name, detail) in enumerate(sorted(runner.get_input_details().items()))
    }
    for name, value in sorted(runner(**feeds).items()):
        yield f"output {name} {_digest(np.asarray(value))}"


def _face(detail: dict[str, Any]) -> str:
    """What a caller sees of an input or output: its name, its type, its scales, their axis if there are many."""
    scales = detail["quantization_parameters"]
    numbers = [scales["scales"].tolist(), scales["zero_points"].tolist()]
    numbers += [scales["quantized_dimension"]] if len(numbers[0]) > 1 else []
    return f"{detail['name']} {np.dtype(detail['dtype'])} {numbers}"


def _drawn(detail: dict[str, Any], place: int, turn: int) -> np.ndarray:
    """Seeded elements: whole numbers are 1 and 2, so that most of them are indices and divisors too."""
    dtype, shape = np.dtype(detail["dtype"]), tuple(map(int, detail["shape"]))
    if prod(shape) > MOST_ELEMENTS:
        raise MemoryError(f"an input of shape {shape}")
    random = np.random.default_rng([place, turn, *shape])
    if dtype.hasobject:
        return np.asarray(random.choice([b"a", b"b", b"cd"], size=shape), dtype=object)
    if dtype.kind == "b":
        return np.asarray(random.integers(0, 2, shape), dtype=bool)
    if dtype.kind in "iu" and len(detail["quantization_parameters"]["scales"]):
        return np.asarray(random.integers(-100 if dtype.kind == "i" else 0, 100, shape), dtype=dtype)
    if dtype.kind in "iu":
        return np.asarray(random.integers(1, 3, shape), dtype=dtype)
    return np.asarray(random.choice([-3.5, -2, -1.25, -0.5, 0.25, 0.5, 1, 2.75], size=shape), dtype=dtype)


def _digest(array: np.ndarray) -> str:
    if array.dtype.hasobject:
        return f"{array.dtype} {array.shape} {array.ravel().tolist()}"
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return f"{array.dtype} {array.shape} {_short(array)} {hashlib.sha256(array.tobytes()).hexdigest()[:12]}"


def _short(array: np.ndarray) -> str:
    return ",".join(map(str, array.ravel()[:4].tolist()))
