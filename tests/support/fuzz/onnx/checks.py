"""What must hold of one random model after fix: asked of the file, of the view, and of onnxruntime's own profile."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import ModelProto
from onnxruntime.capi import onnxruntime_pybind11_state as state

from graphfix.results import GraphfixError, Outcome
from tests.support import engine
from tests.support.fuzz.onnx.graph_builder import Draft, elements
from tests.support.fuzz.onnx.ops import OPS

Feeds = dict[str, np.ndarray]
Result = list[np.ndarray] | str
"""The outputs, or onnxruntime's message where it failed."""

OPTIONS: tuple[dict[str, str | bool], ...] = (
    {"target": "ranks"},
    {"target": "explicit"},
    {"target": "explicit", "broadcasts": "two-sided"},
    {"target": "explicit", "unknown": "keep"},
    {"target": "explicit", "unknown": "assume"},
    {"target": "ranks", "keep_fusions": True},
    {"target": "compact"},
    {"target": "onnxruntime"},
    {"target": "litert-gpu"},
)
FOLDED = frozenset({"compact", "onnxruntime"})
"""The targets that leave to an operator what it can stretch by itself."""
WAYS = ("as made", "ones", "random", "free", "random", "zeros")
NUMPY_RULE = frozenset(op.name for op in OPS)
ERRORS = tuple(error for error in vars(state).values() if isinstance(error, type) and issubclass(error, Exception))
BATCHES_OF_NOTHING = "matmul_helper.h"
"""onnxruntime refuses some shapes of a matrix product that numpy takes, where a batch axis is 0, by its operands' rank;
and (1,3,0) by (2,0,2) gives it (1,3,2): a sum over nothing forgets the batch of the right operand."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One execution of a node: the shapes of what it read and of what it gave."""

    node: str
    op: str
    operands: tuple[tuple[int, ...], ...]
    result: tuple[int, ...]


def session(model: bytes, profile: Path | None = None) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.disable_prepacking", "1")
    if profile is not None:
        options.enable_profiling = True
        options.profile_file_prefix = str(profile)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def feeds(draft: Draft, way: str, chosen: random.Random, seed: int) -> Feeds:
    """Inputs at the sizes that the model was made with, or at others; `free`: unstated sizes at random."""
    sizes = dict(draft.sizes)
    if way in ("ones", "zeros"):
        sizes = dict.fromkeys(sizes, int(way == "ones"))
    elif way != "as made":
        sizes = {name: chosen.choice((0, 1, 1, 2, 3)) for name in sizes}

    def size(axis: int | str) -> int:
        if isinstance(axis, int):
            return axis
        return chosen.choice((0, 1, 2, 3)) if way == "free" and axis.startswith("?") else sizes[axis.strip("?")]

    return {name: elements(tuple(map(size, axes)), kind, seed) for name, (axes, kind) in draft.inputs.items()}


def run(model: onnxruntime.InferenceSession, given: Feeds) -> Result:
    try:
        return [np.asarray(value) for value in model.run(None, given)]
    except ERRORS as error:
        return str(error)


def same(one: list[np.ndarray], other: list[np.ndarray], *, exact: bool) -> bool:
    """Bit for bit; without `exact` the payload of NaN is free."""
    return all(
        a.dtype == b.dtype and a.shape == b.shape and _bits(a, exact) == _bits(b, exact)
        for a, b in zip(one, other, strict=True)
    )


def _bits(array: np.ndarray, exact: bool) -> object:
    if array.dtype == object:
        return array.tolist()
    if not exact and array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return array.tobytes()


def faults(draft: Draft, seed: int, folder: Path) -> list[str] | None:
    """Everything that is wrong, None where onnxruntime does not load the model, or runs it against the specification.

    It stretches both operands of a PRelu, whose result by specification has the shape of operand 0.
    """
    try:
        before = session(draft.model.SerializeToString(), folder / "profile")
    except ERRORS:
        return None
    chosen = random.Random(seed)  # noqa: S311 -- sizes, no secrets
    inputs = [feeds(draft, way, chosen, at) for at, way in enumerate(WAYS)]
    runs = [(given, run(before, given)) for given in inputs]
    if any(it.op == "PRelu" and it.result != it.operands[0] for it in executions(before)):
        return None
    found = []
    for options in OPTIONS:
        text = " ".join(f"{name}={value}" for name, value in options.items())
        found += [f"seed {seed}, {text}: {what}" for what in _of_options(draft, options, runs, folder)]
    return found


def _of_options(
    draft: Draft, options: Mapping[str, str | bool], runs: Sequence[tuple[Feeds, Result]], folder: Path
) -> Iterator[str]:
    model = engine.load(draft.model)
    try:
        outcome = engine.fix(model, **options)  # type: ignore[arg-type]  # the table's values fit their names
    except GraphfixError as error:
        if any(not isinstance(result, str) for _, result in runs):
            yield f"refused, though it runs: {error}"
        return
    data = model.tobytes()
    view = [(graph.path, str(node)) for graph in model.finish() for node in graph.nodes]
    yield from _of_the_file(draft.model, ModelProto.FromString(data))
    yield from _of_a_second_run(data, view, options)
    try:
        after = session(data, folder / "profile")
    except ERRORS as error:
        yield f"onnxruntime does not load it any more: {error}"
        return
    yield from _of_the_runs(draft.model, after, runs, exact=options["target"] == "ranks")
    yield from _of_the_shapes(executions(after), outcome, options)


def _of_the_file(before: ModelProto, after: ModelProto) -> Iterator[str]:
    if list(before.graph.input) != list(after.graph.input):
        yield "an input is declared differently"
    if [value.name for value in before.graph.output] != [value.name for value in after.graph.output]:
        yield "an output has another name"
    names = [node.name for node in after.graph.node if node.name]
    if len(set(names)) < len(names):
        yield "two nodes have one name"
    if dequantized(before) - dequantized(after):
        yield "a DequantizeLinear does not stand next to its reader any more"
    for whole in (False, True):
        if accepted(before, whole=whole) and not accepted(after, whole=whole):
            yield f"onnx.checker does not accept it any more (full_check={whole})"


def accepted(model: ModelProto, *, whole: bool) -> bool:
    try:
        onnx.checker.check_model(model, full_check=whole)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return False
    return True


def dequantized(model: ModelProto) -> set[tuple[str, int]]:
    """(node, operand) that reads a DequantizeLinear directly, of the operators of numpy's rule."""
    results = {name for node in model.graph.node if node.op_type == "DequantizeLinear" for name in node.output}
    nodes = [node for node in model.graph.node if node.op_type in NUMPY_RULE]
    return {(node.name, at) for node in nodes for at, name in enumerate(node.input) if name in results}


def _of_a_second_run(data: bytes, view: list[tuple[str, str]], options: Mapping[str, str | bool]) -> Iterator[str]:
    again = engine.load(data)
    fresh = [(graph.path, str(node)) for graph in again.graphs for node in graph.nodes]
    if view != fresh:
        derived, loaded = next(((a, b) for a, b in zip(view, fresh, strict=False) if a != b), (len(view), len(fresh)))
        yield f"the derived view says {derived}, the loaded one {loaded}"
    outcome = engine.fix(again, **options)  # type: ignore[arg-type]  # the table's values fit their names
    if outcome.changed or again.tobytes() != data:
        yield f"a second run changes {[site.node for site in outcome.sites if site.status == 'changed']}"


def _of_the_runs(
    model: ModelProto, after: onnxruntime.InferenceSession, runs: Sequence[tuple[Feeds, Result]], *, exact: bool
) -> Iterator[str]:
    products = any(node.op_type == "MatMul" for node in model.graph.node)
    for given, expected in runs:
        got = run(after, given)
        shapes = {name: value.shape for name, value in given.items()}
        zeros = products and any(0 in shape for shape in (*shapes.values(), *(tuple(it.dims) for it in tensors(model))))
        if isinstance(expected, str):
            if not isinstance(got, str) and not (zeros and BATCHES_OF_NOTHING in expected):
                yield f"{shapes}: runs, the original fails: {expected}"
        elif isinstance(got, str):
            yield f"{shapes}: fails, the original runs: {got}"
        elif not same(expected, got, exact=exact) and not zeros:
            yield f"{shapes}: gives something else"


def tensors(model: ModelProto) -> Iterator[onnx.TensorProto]:
    """The constants of the main graph."""
    yield from model.graph.initializer
    yield from (node.attribute[0].t for node in model.graph.node if node.op_type == "Constant")


# --- what operators met when the model ran -----------------------------------------------------------------------


def executions(profiled: onnxruntime.InferenceSession) -> list[Seen]:
    """What a session executed, bodies included, of the nodes that came to an end; the profile is used up."""
    profile = Path(profiled.end_profiling())
    events = [event for event in json.loads(profile.read_text()) if event["name"].endswith("_kernel_time")]
    profile.unlink()
    found = []
    for event in events:
        about = event["args"]
        operands, results = (
            [tuple(shape) for typed in about[key] for shape in typed.values()]
            for key in ("input_type_shape", "output_type_shape")
        )
        if results:
            found.append(
                Seen(event["name"].removesuffix("_kernel_time"), about["op_name"], tuple(operands), results[0])
            )
    return found


def _of_the_shapes(seen: Sequence[Seen], outcome: Outcome, options: Mapping[str, str | bool]) -> Iterator[str]:
    """No operand of another rank (another shape, for `explicit`) than its node's result, unless a site says why."""
    if options["target"] in FOLDED:
        return
    excused = {(site.node, site.operand) for site in outcome.sites if site.status in ("left", "exempt")}
    ranks_only = options["target"] in ("ranks", "litert-gpu") or options.get("unknown", "expand") != "expand"
    for it in seen:
        odd = [at for at in implicit(it, ranks_only) if not excused & {(it.node, at), (it.node, None)}]
        if len(odd) > (options.get("broadcasts") == "two-sided"):
            yield f"{it.op} '{it.node}' still broadcasts operand {odd} of {it.operands}"


def implicit(it: Seen, ranks_only: bool) -> list[int]:
    """The operands that this execution broadcast, or only those whose rank was not the result's."""
    if it.op == "MatMul":  # its batch axes are exempt, its rank is not
        rank = max(map(len, it.operands))
        return [at for at, shape in enumerate(it.operands) if len(shape) != rank]
    parts = range(len(it.operands)) if it.op in NUMPY_RULE else {"PRelu": [1], "Gemm": [2]}.get(it.op, [])
    shapes = [(at, it.operands[at]) for at in parts if at < len(it.operands)]
    if ranks_only:
        return [at for at, shape in shapes if len(shape) != len(it.result)]
    return [at for at, shape in shapes if shape != it.result]
