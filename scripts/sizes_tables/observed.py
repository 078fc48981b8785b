"""Which operands an exported model stretches while it runs: at the sizes that it is used at, and at those of a sweep.

    python -m sizes_tables.observed MODEL < SITES        in scripts/

SITES is a JSON object: `sites`, run-time stretches as a report of graphfix lists them, and `bindings`, sizes that its
runs took. For each run that the model accepts one line of JSON: `used` (whether these are sizes that the model is used
at), and the nodes that were `seen` and that `stretched`, as pairs of graph and node. Nodes of bodies are not seen.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from models.exporting.feeds import Feed
from models.exporting.from_keras.catalogue import EXPORTS
from models.exporting.from_keras.model import Export, Input
from models.exporting.tflite_runs import stored

Shape = tuple[int, ...]
Place = tuple[str, str]
"""A node by its graph and its name, as a site has it."""
PRODUCTS = {"MatMul", "BATCH_MATMUL"}
"""The operators that broadcast all axes but the last two."""


@dataclass(frozen=True)
class Operand:
    """An operand that is stretched at run time, and the axes (from the right: -1, -2 ..) that may be."""

    place: Place
    op: str
    index: int
    free: frozenset[int] | None
    """None where the ranks are not known: any axis."""

    def stretched(self, mine: Shape, result: Shape) -> bool:
        """Whether a free axis of this operand is 1 and the result's is not."""
        cut = 2 if self.op in PRODUCTS else 0
        lifted = (1,) * (len(result) - len(mine)) + mine
        axes = range(-len(result), -cut) if self.free is None else [axis for axis in self.free if axis < -cut]
        return any(lifted[axis] == 1 != result[axis] for axis in axes)


def operand(site: Mapping[str, Any]) -> Operand:
    """Read a site."""
    before, after = site["before"], site["after"]
    free = None
    if before is not None and after is not None:
        free = frozenset(axis - len(before) for axis, size in enumerate(before) if not isinstance(size, int))
    return Operand((site["graph"], site["node"]), site["op"], site["operand"], free)


def line(used: bool, operands: Sequence[Operand], shapes: Mapping[Place, tuple[list[Shape | None], Shape]]) -> str:
    """Say what one run showed."""
    seen = [each for each in operands if each.place in shapes]
    stretched = [each for each in seen if _stretched(each, *shapes[each.place])]
    found = {"seen": seen, "stretched": stretched}
    return json.dumps({"used": used} | {key: sorted({each.place for each in value}) for key, value in found.items()})


def _stretched(each: Operand, operands: list[Shape | None], result: Shape) -> bool:
    mine = operands[each.index]
    return mine is not None and each.stretched(mine, result)


# --- ONNX -------------------------------------------------------------------------------------------------------------


def run_onnx(path: Path, operands: Sequence[Operand], bindings: Sequence[Mapping[str, int]]) -> Iterator[str]:
    """Run an ONNX model with what its nodes read and make as outputs too."""
    import onnx
    import onnxruntime as ort

    model = onnx.load(path)
    dims_by_name = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    wanted = {each.place[1] for each in operands if each.place[0] == "main"}
    nodes = {node.name or f"{node.op_type}#{at}": node for at, node in enumerate(model.graph.node)}
    nodes = {name: node for name, node in nodes.items() if name in wanted}
    values = {name for node in nodes.values() for name in (*node.input, node.output[0]) if name}
    declared = {each.name for each in (*model.graph.output, *model.graph.input, *model.graph.initializer)}
    for name in sorted(values - declared):
        model.graph.output.add().name = name
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    names = [each.name for each in session.get_outputs()]
    for used, feeds in onnx_feeds(path, model, bindings):
        try:
            results = session.run(names, feeds)
        except Exception:
            if used:
                raise
            continue  # a size that the model refuses
        shapes = dims_by_name | {name: value.shape for name, value in feeds.items()}
        shapes |= {name: np.shape(value) for name, value in zip(names, results, strict=True)}
        seen = {
            ("main", name): ([shapes.get(each) for each in node.input], shapes[node.output[0]])
            for name, node in nodes.items()
        }
        yield line(used, operands, seen)


def onnx_feeds(
    path: Path,
    model: Any,  # noqa: ANN401 - onnx's ModelProto
    bindings: Sequence[Mapping[str, int]],
) -> Iterator[tuple[bool, dict[str, Any]]]:
    """Yield what to feed: the model's own sizes, those of the runs, and each free size in turn at 1."""
    described = json.loads(path.with_name("sizes.json").read_text(encoding="utf-8"))[path.stem]
    feeds = {name: Feed(each["kind"], tuple(each["shape"]), each["high"]) for name, each in described["inputs"].items()}
    stated = {each.name: each.type.tensor_type.shape.dim for each in model.graph.input}
    symbols = {
        stated[name][axis].dim_param or f"{name}[{axis}]": dim
        for name, feed in feeds.items()
        for axis, dim in feed.free.items()
    }
    sets = [(True, sizes) for sizes in described["sizes"]]
    own = described["sizes"][0]
    sets += [
        (False, own | {symbols[name]: size for name, size in each.items() if name in symbols}) for each in bindings
    ]
    sets += [(False, own | {name: 1}) for name in own]
    for used, sizes in sets:
        yield used, {name: feed.numbers(sizes) for name, feed in feeds.items()}


# --- TFLite -----------------------------------------------------------------------------------------------------------


def run_tflite(path: Path, operands: Sequence[Operand], bindings: Sequence[Mapping[str, int]]) -> Iterator[str]:
    """Run each signature of a TFLite model in LiteRT, each time in a process of its own, which a kernel may end.

    Raises ChildProcessError where that happens at sizes that the model is used at.
    """
    from ai_edge_litert import schema_py_generated as schema

    model = schema.ModelT.InitFromPackedBuf(path.read_bytes(), 0)
    export = EXPORTS[path.stem]
    for definition in model.signatureDefs:
        name = definition.signatureKey.decode()
        for used, feeds in tflite_feeds(export, name, model, bindings):
            ran = _in_fork(partial(_run_signature, path, model, definition, feeds, operands, used))
            if ran:
                yield ran
            elif used:
                raise ChildProcessError(f"{path.name}: {name} does not run at a size that it is used at")


def _in_fork(work: Callable[[], str]) -> str:
    """Return what another process made of the work; nothing where it raised or ended."""
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        os.close(reading)
        with os.fdopen(writing, "w", encoding="utf-8") as pipe, contextlib.suppress(RuntimeError, ValueError):
            pipe.write(work())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        made = pipe.read()
    os.waitpid(process, 0)
    return made


def _run_signature(
    path: Path,
    model: Any,  # noqa: ANN401 - LiteRT's object API
    definition: Any,  # noqa: ANN401
    feeds: Mapping[str, Any],
    operands: Sequence[Operand],
    used: bool,
) -> str:
    """Run a signature once, with its tensors kept. Raises RuntimeError or ValueError, as LiteRT does."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    made = Interpreter(
        str(path),
        experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
        experimental_preserve_all_tensors=True,
        num_threads=1,
    )
    runner = made.get_signature_runner(definition.signatureKey.decode())
    details = runner.get_input_details()
    runner(**{key: stored(value, details[key]) for key, value in feeds.items()})
    at = definition.subgraphIndex
    label = f"subgraph {at}" if at else "main"
    seen = {}
    for place in {each.place for each in operands if each.place[0] == label}:
        operator = model.subgraphs[at].operators[int(place[1].rpartition("#")[2])]
        result = _allocated(made, int(operator.outputs[0]), at)
        if result is not None:
            seen[place] = [_allocated(made, int(tensor), at) for tensor in operator.inputs], result
    return line(used, operands, seen)


def _allocated(made: Any, tensor: int, subgraph: int) -> Shape | None:  # noqa: ANN401 - LiteRT has no types
    """Return the shape that a tensor has now; None for an absent one."""
    if tensor < 0:
        return None
    return tuple(int(size) for size in made._get_tensor_details(tensor, subgraph)["shape"])  # noqa: SLF001


def tflite_feeds(
    export: Export,
    signature: str,
    model: Any,  # noqa: ANN401 - LiteRT's object API
    bindings: Sequence[Mapping[str, int]],
) -> Iterator[tuple[bool, dict[str, Any]]]:
    """Yield what to feed: the model's own sizes, those of the runs, and each free size in turn at 1."""
    yield from ((True, feeds) for feeds in export.feeds(signature))
    inputs, free = export.model.signatures[signature], set(export.free())
    own = {each.name: value.shape for each, value in zip(inputs, export.feeds(signature)[-1].values(), strict=True)}
    names = tensor_names(model, signature)
    places = {
        (each.name, axis): dim for each in inputs for axis, dim in enumerate(each.dims) if dim in free and dim != ""
    }
    sets: list[dict[tuple[str, int], int]] = []
    for each in bindings:
        bound = {at: _bound(each, at, names) for at in places}
        if None not in bound.values():
            sets.append({at: size for at, size in bound.items() if size is not None})
    sets += [{at: 1 for at, dim in places.items() if dim == name} for name in sorted(map(str, set(places.values())))]
    sets += [{at: 1} for at in places]
    for chosen in sets:
        yield False, {each.name: _filled(each, own[each.name], chosen) for each in inputs}


def _bound(binding: Mapping[str, int], at: tuple[str, int], names: Mapping[str, str]) -> int | None:
    """Return a size of a run's: by the tensor's name for the main graph, by the signature's for others."""
    key, axis = at
    return binding.get(f"{names[key]}[{axis}]", binding.get(f"{key}[{axis}]"))


def _filled(each: Input, shape: Shape, chosen: Mapping[tuple[str, int], int]) -> Any:  # noqa: ANN401 - an array
    dims = tuple(chosen.get((each.name, axis), size) for axis, size in enumerate(shape))
    return replace(each, dims=dims).value({}, np.random.default_rng(7))


def tensor_names(model: Any, signature: str) -> dict[str, str]:  # noqa: ANN401 - LiteRT's object API
    """Return the tensor's name of each input of a signature."""
    (one,) = [each for each in model.signatureDefs if each.signatureKey.decode() == signature]
    tensors = model.subgraphs[one.subgraphIndex].tensors
    return {each.name.decode(): tensors[each.tensorIndex].name.decode() for each in one.inputs}


def main() -> int:
    """Print a line for each run."""
    path = Path(sys.argv[1])
    asked = json.load(sys.stdin)
    run = run_onnx if path.suffix == ".onnx" else run_tflite
    for found in run(path, [operand(site) for site in asked["sites"]], asked["bindings"]):
        print(found, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
