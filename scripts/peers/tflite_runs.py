"""Run a TFLite model in LiteRT's reference kernels, on seeded inputs, and count what it broadcasts meanwhile."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from peers.broadcasts import TFLITE, Counted, Seen, Shape, count

SEED = 7
NAMES = {code: name for name, code in vars(schema.BuiltinOperator).items() if not name.startswith("_")}


def feeds(model: Path, _: str) -> dict[str, Any]:
    """Make the inputs by the index among the inputs: normal floats, and all that an integer can be."""
    details = session(model).get_input_details()
    return {str(at): _value(each, at) for at, each in enumerate(details)}


def _value(detail: Mapping[str, Any], at: int) -> Any:  # noqa: ANN401 -- an array
    dtype, shape = np.dtype(detail["dtype"]), tuple(detail["shape"])
    source = np.random.default_rng([SEED, at, zlib.crc32(dtype.name.encode())])
    if dtype.kind in "iu":
        span = np.iinfo(dtype)
        return source.integers(span.min, span.max, shape, dtype, endpoint=True)
    return (source.random(shape) < 0.5) if dtype == np.bool_ else source.normal(size=shape).astype(dtype)


def outputs(model: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """Run the file as it is."""
    made = ran(session(model), given)
    return {str(at): made.get_tensor(each["index"]) for at, each in enumerate(made.get_output_details())}


def counted(model: Path, given: Mapping[str, Any]) -> tuple[int, Counted]:
    """Run with all tensors kept, and look at the sizes of what the operators of the main graph read and make."""
    made = ran(session(model, preserve=True), given)
    read = schema.Model.GetRootAs(model.read_bytes(), 0)
    graph = read.Subgraphs(0)
    total = sum(read.Subgraphs(at).OperatorsLength() for at in range(read.SubgraphsLength()))
    return total, count(_seen(made, read, graph))


def _seen(made: Any, read: Any, graph: Any) -> Iterator[tuple[str, Seen]]:  # noqa: ANN401 -- flatbuffers has no types
    for at in range(graph.OperatorsLength()):
        operator = graph.Operators(at)
        code = read.OperatorCodes(operator.OpcodeIndex())
        op = NAMES.get(max(code.BuiltinCode(), code.DeprecatedBuiltinCode()), "")
        if op in TFLITE:
            inputs = [_shape(made, each) for each in operator.InputsAsNumpy().tolist()]
            operands = inputs[1:] if op == "PRELU" else inputs
            yield op, [(operands, _shape(made, operator.Outputs(0)))]


def _shape(made: Any, tensor: int) -> Shape:  # noqa: ANN401 -- LiteRT has no types
    return tuple(int(size) for size in made._interpreter.TensorSize(tensor, 0))  # noqa: SLF001 -- as LiteRT's own


def session(model: Path, preserve: bool = False) -> Any:  # noqa: ANN401 -- see above
    """Load a file."""
    return Interpreter(
        str(model),
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        experimental_preserve_all_tensors=preserve,
        num_threads=1,
    )


def ran(made: Any, given: Mapping[str, Any]) -> Any:  # noqa: ANN401 -- see above
    """Run an interpreter on inputs by their index; return it."""
    details = made.get_input_details()
    for at, detail in enumerate(details):
        value = given[str(at)]
        if tuple(detail["shape"]) != value.shape:
            made.resize_tensor_input(detail["index"], value.shape)
    made.allocate_tensors()
    for at, detail in enumerate(details):
        made.set_tensor(detail["index"], given[str(at)])
    made.invoke()
    return made
