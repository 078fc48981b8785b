"""What the view, the proof and onnxruntime's own inference claim of a random node, compared with what a run returns.

Sizes that are terms are computed with the sizes of the run. Element types are compared too.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import onnxruntime
from onnx import ModelProto, helper
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

from graphfix import api
from graphfix.checker import proof
from graphfix.checker.proof.onnx.reading.types import dtype
from graphfix.results import GraphfixError
from graphfix.shapes.dim import Size
from tests.support.audit_inference import results_of, wrong_shape
from tests.support.audit_terms import Observed, UnreadableError
from tests.support.audit_views import of_symbol, runs_as_stated, stated
from tests.support.last_results import last_results
from tests.support.needs import avx512_absent
from tests.support.onnx.contrib_calls import CALLS, trials
from tests.support.onnx.contrib_calls.drawing import MICROSOFT, STANDARD, Key
from tests.support.onnx.contrib_calls.unrun import UNRUN
from tests.support.pairs.onnx_instances import Instance, bare
from tests.support.pairs.onnx_run import Runner
from tests.support.runtimes.one_node import NEWEST
from tests.support.term_values import value


class Claim(NamedTuple):
    """What is claimed of one result: its sizes, None for each that is unknown, and its element type."""

    sizes: Sequence[int | None] | None
    kind: int | None
    """The type's number in ONNX; None if it is unknown."""


Claims = Mapping[str, Claim]
Claimant = Callable[[ModelProto, Mapping[str, object], Path], Claims]
"""Of a model and the values of its operands and results by name: what is claimed of the results."""


def by_view(model: ModelProto, values: Mapping[str, object], _: Path) -> Claims:
    """What the rewriter's view claims; nothing where it refuses the model."""
    try:
        graph = api.load(model).graphs[0]
    except GraphfixError:
        return {}
    shapes = {name: np.shape(it) for name, it in values.items() if isinstance(it, TENSOR)}
    observed = Observed(shapes, of_symbol)
    results = [result for node in graph.nodes for result in node.results if result is not None]
    return {
        result.name: Claim(
            None if result.shape.axes is None else [_size(size, observed) for size in result.shape.axes],
            _number(result.dtype),
        )
        for result in results
    }


def _size(size: Size, observed: Observed) -> int | None:
    try:
        return observed.size(size)
    except UnreadableError:
        return None


def _number(name: str) -> int | None:
    """The number of an element type by its name in the view."""
    if name in ("string", "object"):
        return int(onnx.TensorProto.STRING)
    if name == "?":  # unknown; numpy reads it as bool
        return None
    try:
        return int(helper.np_dtype_to_tensor_dtype(np.dtype(name)))
    except (TypeError, KeyError):
        return None


def by_proof(model: ModelProto, _: Mapping[str, object], folder: Path) -> Claims:
    """What the proof claims of the last node's results; nothing where it can't read the model."""
    path = folder / "audited.onnx"
    path.write_bytes(model.SerializeToString())
    try:
        results, _ = last_results(path)
    except (GraphfixError, proof.UnprovedError):
        return {}
    symbols = {dim.dim_param for info in model.graph.input for dim in info.type.tensor_type.shape.dim}
    declared = {name: size for name in symbols if (size := of_symbol(name)) is not None}
    found = {}
    for name, view in zip(model.graph.node[-1].output, results, strict=False):
        if name and view is not None:
            kind = dtype(view.core)
            sizes = None if view.sizes is None else [value(size, declared) for size in view.sizes]
            found[name] = Claim(sizes, kind if isinstance(kind, int) else None)
    return found


def by_load(model: ModelProto, _: Mapping[str, object], __: Path) -> Claims:
    """What onnxruntime infers when it loads the model."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except REFUSED:
        return {}
    return {
        output.name: Claim([it if isinstance(it, int) else of_symbol(it or "") for it in output.shape], None)
        for output in session.get_outputs()
        if output.type.startswith("tensor(") and output.shape  # no sizes: of rank 0, or nothing is known
    }


REFUSED = (
    runtime.Fail,
    runtime.InvalidGraph,
    runtime.InvalidArgument,
    runtime.RuntimeException,
    runtime.NotImplemented,
)
TENSOR = (np.ndarray, np.generic)


def wrong_claim(claims: Claims, results: Mapping[str, object]) -> str:
    """The first claim that is not so; empty if there is none."""
    for name, claim in claims.items():
        result = results.get(name)
        if not isinstance(result, TENSOR):
            continue
        wrong = wrong_shape(None if claim.sizes is None else list(claim.sizes), np.shape(result))
        real = np.asarray(result).dtype
        text = real.kind in "OUS"
        kind = int(onnx.TensorProto.STRING) if text else int(helper.np_dtype_to_tensor_dtype(real))
        if not wrong and claim.kind not in (None, 0, kind):
            wrong = f"has the element type {kind}, not {claim.kind}"
        if wrong:
            return f"{name} {wrong}"
    return ""


@dataclass(slots=True)
class Audit:
    """The trials of one operator: how many there were, how many ran, and the claims that were wrong."""

    operator: Key
    tried: int = 0
    ran: int = 0
    wrong: list[str] = field(default_factory=list)


def audit(
    operator: Key,
    count: int,
    claimants: Sequence[Claimant],
    runner: Runner,
    folder: Path,
    seed: int = 0,
    *,
    to_the_first: bool = False,
) -> Audit:
    """Run random nodes of an operator, and compare what each claimant says of those that run.

    All trials are made, or those up to the first wrong claim.
    """
    told = Audit(operator)
    choose = random.Random(f"{operator} {seed} stated")  # noqa: S311 -- sizes, no secrets
    for trial in trials(operator, count, seed):
        if told.wrong and to_the_first:
            break
        told.tried += 1
        results = results_of(trial, runner)
        if results is None:
            continue
        told.ran += 1
        model = stated(trial, choose)
        for claimant in claimants:
            wrong = wrong_claim(claimant(model, {**trial.feeds, **results}, folder), results)
            if wrong and runs_as_stated(model, trial, runner):
                told.wrong.append(f"{claimant.__name__}: {described(trial)}: {wrong}")
    return told


def in_one_buffer(trial: Instance, shared: Mapping[str, str]) -> Mapping[str, object] | None:
    """Run a node with results in the buffers of operands, as decoders keep their state; `shared`: operand by result.

    None where onnxruntime refuses the node, as 1.23 does caches of 8 bits.
    """
    try:
        session = onnxruntime.InferenceSession(bare(trial).SerializeToString(), providers=["CPUExecutionProvider"])
    except REFUSED:
        return None
    binding, names = session.io_binding(), [name for name in trial.node.output if name]
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(np.array(it)) for name, it in trial.given.items()}
    for name, each in values.items():
        binding.bind_ortvalue_input(name, each)
    for name in names:
        if name in shared:
            binding.bind_ortvalue_output(name, values[shared[name]])
        else:
            binding.bind_output(name)
    session.run_with_iobinding(binding)
    return {name: it.numpy() for name, it in zip(names, binding.get_outputs(), strict=True)}


def described(trial: Instance) -> str:
    """The operator, its attributes without graphs, and the types and shapes of its operands."""
    attributes = {
        it.name: helper.get_attribute_value(it)
        for it in trial.node.attribute
        if it.type not in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.TENSOR)
    }
    operands = [_operand(trial.feeds[name]) if name else "-" for name in trial.node.input]
    results = "".join("y" if name else "-" for name in trial.node.output)
    return f"{trial.node.domain}.{trial.node.op_type} {attributes} ({', '.join(operands)}) -> {results}"


def _operand(it: object) -> str:
    return f"{it.dtype}{list(it.shape)}" if isinstance(it, np.ndarray) else type(it).__name__


def kernels() -> set[Key]:
    """The operators of the installed onnxruntime with a CPU kernel that onnx's schemas before set 23 do not have."""
    found = {
        (kernel.domain, kernel.op_name)
        for kernel in runtime.get_all_opkernel_def()
        if kernel.provider == "CPUExecutionProvider"
    }
    first: dict[str, int] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if not schema.domain:
            first[schema.name] = min(schema.since_version, first.get(schema.name, schema.since_version))
    return {key for key in found if key[0] or first.get(key[1], NEW) >= NEW}


NEW = 23
"""The first operator set whose new operators are tried here."""


BODIES: Mapping[Key, int] = {(STANDARD, "Swish"): 24}
"""The operators that onnxruntime runs by their definition in other operators, and the operator set they came with."""


def installed() -> list[Key]:
    """The operators whose trials the installed onnxruntime runs: by a CPU kernel, or by a body of other operators."""
    bodies = {key for key, since in BODIES.items() if since <= NEWEST}
    absent = {(MICROSOFT, "MatMulFpQ4")} if avx512_absent() else set[Key]()  # no kernel on such a processor
    return sorted((CALLS.keys() & (kernels() | bodies)) - UNRUN.keys() - absent)
