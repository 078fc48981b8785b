"""Run both models of a pair on the same inputs, and say how far their outputs are apart: what verifiers are judged by.

In onnxruntime without optimizations, or LiteRT's reference kernels, on one thread (a process of its own):

    python -P -m peers.verifying.witness < ASKED

Nothing of graphfix's is used, so that it is judged by somebody else. What ends a model's process is said of it alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from tosa_tables.zoo import page

from peers import onnx_runs, tflite_runs
from peers.forks import ForkError, in_fork
from peers.judge import same
from peers.verifying import inputs, record
from peers.verifying.inputs import Inputs
from peers.verifying.record import APART, NOT_RUN, OTHER_BITS, SAME, Tolerance, Witness
from peers.verifying.verifiers import VERIFIERS

Array = np.ndarray[Any, np.dtype[Any]]
Feeds = Mapping[str, Array]
Outputs = Mapping[str, Array]
Spec = tuple[Sequence[Any], Any]
"""Sizes of an input, a free one being a name or -1, and its type."""
Shapes = Mapping[str, Sequence[int]]
BEYOND_ANY: Tolerance = (1e-3, 1e-3)
EVERY = tuple(each.name for each in VERIFIERS)
SEEDS = (0, 1)
SMALL = (1, 2)
BYTES = 256


class Session:
    """A model in its runtime: its inputs, and a way to run it. Raises what the runtime raises."""

    def __init__(self, path: Path) -> None:
        """Load a model."""
        self.specs: dict[str, Spec]
        self.run: Callable[[Feeds], Outputs]
        (_onnx if path.suffix == ".onnx" else _tflite)(self, path)


def _onnx(session: Session, path: Path) -> None:
    loaded = onnx_runs.session(str(path))
    dtype = onnx.helper.tensor_dtype_to_np_dtype
    session.specs = {each.name: (each.shape, dtype(onnx_runs.element(each.type))) for each in loaded.get_inputs()}
    session.run = lambda feeds: onnx_runs.ran(loaded, feeds)


def _tflite(session: Session, path: Path) -> None:
    loaded = tflite_runs.session(path)
    details = loaded.get_input_details()
    session.specs = {str(at): ([*map(int, each["shape"])], each["dtype"]) for at, each in enumerate(details)}

    def run(feeds: Feeds) -> Outputs:
        done = tflite_runs.ran(loaded, feeds)
        return {str(at): done.get_tensor(each["index"]) for at, each in enumerate(done.get_output_details())}

    session.run = run


def feeds(specs: Mapping[str, Spec], given: Inputs) -> Iterator[Feeds]:
    """Yield inputs: at the usual sizes uniform, normal and a page; with each free size twice as large; with all small.

    A file that says of a size that it is free says so of small ones too.
    """
    usual: Shapes = {
        name: [*given.shapes.get(name, [size if _known(size) else 1 for size in shape])]
        for name, (shape, _) in specs.items()
    }
    for seed in SEEDS:
        yield _filled(specs, usual, given, seed)
    if given.page:
        yield {name: page(0, tuple(shape)).astype(specs[name][1]) for name, shape in usual.items()}
    free = sorted({str(size) for shape, _ in specs.values() for size in shape if not _known(size)})
    for each in free:
        yield _filled(specs, _resized(specs, usual, (each,), lambda now: 2 * now), given, SEEDS[-1])
    for small in SMALL if free else ():
        yield _filled(specs, _resized(specs, usual, free, lambda _, size=small: size), given, SEEDS[-1])


def _resized(specs: Mapping[str, Spec], shapes: Shapes, names: Collection[str], resize: Callable[[int], int]) -> Shapes:
    """Return shapes with other sizes where those of these names are."""
    return {
        name: [resize(now) if str(size) in names else now for size, now in zip(shape, shapes[name], strict=True)]
        for name, (shape, _) in specs.items()
    }


def _known(size: object) -> bool:
    return isinstance(size, int) and size > 0


def _filled(specs: Mapping[str, Spec], shapes: Shapes, given: Inputs, seed: int) -> Feeds:
    source = np.random.default_rng(seed)
    return {name: _value(source, name, shapes[name], kind, given, seed) for name, (_, kind) in specs.items()}


def _value(
    source: np.random.Generator,
    name: str,
    shape: Sequence[int],
    kind: Any,  # noqa: ANN401 -- a type of numpy's
    given: Inputs,
    seed: int,
) -> Array:
    if name in given.values:
        return np.full(shape, given.values[name], kind)
    if np.dtype(kind).kind in "iu":
        return source.integers(0, BYTES, shape).astype(kind)
    return (source.standard_normal(shape) if seed else source.random(shape)).astype(kind)


class Original:
    """A model's outputs at the inputs that it takes. Raises what its runtime raises, or RuntimeError."""

    def __init__(self, path: Path, given: Inputs) -> None:
        """Run it, twice: what is not stable is no witness."""
        session = Session(path)
        self.runs: list[tuple[Feeds, Outputs]] = []
        for each in feeds(session.specs, given):
            with suppress(Exception):  # sizes that the original refuses
                outputs = session.run(each)
                if _all(same, outputs, session.run(each)):
                    self.runs.append((each, outputs))
        if not self.runs:
            raise RuntimeError("the original runs at no sizes")

    def witness(self, path: Path) -> Witness:
        """Run another model on the same inputs."""
        runs: list[tuple[Outputs, Outputs]] = []
        at = ""
        try:
            session = Session(path)
            for given, wanted in self.runs:
                at = f" at {', '.join(f'{name}{[*value.shape]}' for name, value in given.items())}"
                runs.append((wanted, session.run(given)))
        except Exception as error:  # noqa: BLE001 -- a runtime's errors have no common class
            return Witness(APART, EVERY, len(runs), f"does not run{at}: {_line(error)}")
        if all(_all(same, *pair) for pair in runs):
            return Witness(SAME, (), len(runs))
        wide = {each: all(_close(*pair, each) for pair in runs) for each in {one.tolerance for one in VERIFIERS}}
        beyond = tuple(each.name for each in VERIFIERS if not wide[each.tolerance])
        status = OTHER_BITS if all(_close(*pair, BEYOND_ANY) for pair in runs) else APART
        return Witness(status, beyond, len(runs), f"apart by up to {max(_most(*pair) for pair in runs):.2g}")


def _line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:160]


def _all(equal: Callable[[Array, Array], bool], before: Outputs, after: Outputs) -> bool:
    """Whether both have the same outputs, of the same types and shapes, and all are equal."""
    return before.keys() == after.keys() and all(
        value.shape == after[name].shape and value.dtype == after[name].dtype and equal(value, after[name])
        for name, value in before.items()
    )


def _close(before: Outputs, after: Outputs, tolerance: Tolerance) -> bool:
    absolute, relative = tolerance
    return _all(lambda a, b: bool(np.allclose(b, a, relative, absolute, equal_nan=True)), before, after)


def _most(before: Outputs, after: Outputs) -> float:
    if not _all(lambda *_: True, before, after):
        return float("inf")
    with np.errstate(all="ignore"):
        return max(float(np.nanmax(_distances(value, after[name]), initial=0)) for name, value in before.items())


def _distances(before: Array, after: Array) -> Array:
    """How far elements are apart; a NaN is nowhere near a number."""
    apart: Array = np.abs(before.astype(np.float64) - after.astype(np.float64))
    apart[np.isnan(before) != np.isnan(after)] = np.inf
    return apart


def witnessed(original: Original, path: Path, limit: float) -> Witness:
    """Run another model in a fork."""
    try:
        said = in_fork(lambda: asdict(original.witness(path)), limit)
    except ForkError as error:
        return Witness(APART, EVERY, 0, f"its run {error}")
    return record.witness(said)


def main(text: str) -> str:
    """Say of each model what its runs beside the original come to; text and answer are JSON."""
    asked = json.loads(text)
    try:
        original = Original(Path(asked["model"]), inputs.of(asked["name"]))
    except Exception as error:  # noqa: BLE001
        nothing = asdict(Witness(NOT_RUN, (), 0, f"the original does not run: {_line(error)}"))
        return json.dumps(dict.fromkeys(asked["results"], nothing))
    limit = asked["limit"]
    return json.dumps({name: asdict(witnessed(original, Path(path), limit)) for name, path in asked["results"].items()})


if __name__ == "__main__":
    sys.stdout.write(main(sys.stdin.read()))
