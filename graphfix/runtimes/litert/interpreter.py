"""Load a TFLite model into LiteRT with one thread, and run it. Only a worker process imports this module."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from graphfix.runtimes.session import ModelDetails, RefusedError, TensorDetails, one_line, utf8_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from graphfix.runtimes.litert.evaluation import Shapes

_RESOLVERS = {
    "reference": OpResolverType.BUILTIN_REF,
    "builtin": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    "xnnpack": OpResolverType.AUTO,
    "preserving": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
}
_STRINGS, _VALUELESS = "bytes", "object"
_ERRORS = (ValueError, RuntimeError, TypeError, KeyError, OSError, MemoryError)
# Operators whose state no reset can restore. A model with one of them gets a new interpreter for each run.
_STATEFUL = frozenset("VAR_HANDLE CALL_ONCE HASHTABLE MULTINOMIAL RANDOM_UNIFORM RANDOM_STANDARD_NORMAL".split())
_CUSTOM = re.compile(r"unresolved custom op: (.*?)\.\s+See instructions|Node number \d+ \((Flex\w+)\)", re.DOTALL)
_RUN_TOGETHER = re.compile(r"(?<=\S)\.?\s*Node(?= number \d)")
_LACKS = ("Didn't find op for builtin opcode", "Didn't find custom operator", "Unsupported data type")


class InterpreterSession:
    """A TFLite model in a LiteRT interpreter.

    The interpreter is created again after a failure. If the model keeps state, it is created again before each run.
    """

    def __init__(self, model: Path | bytes, kernels: str, signature: str | None, expose: Sequence[str]) -> None:
        """Load the model; the parameters are those of `load`. Raises RefusedError."""
        self._model, self._kernels = model, kernels
        self._preserved = kernels == "preserving" or bool(expose)
        self._interpreter: Interpreter | None = None
        with self._refusing():
            core = self._core()
            self._subgraph = int(core.GetSubgraphIndexFromSignature(signature)) if signature else 0
            self._counts = [int(core.NumTensors(at)) for at in range(core.NumSubgraphs())]
            self._stateful = _stateful(core, self._counts)
            self._names = _unique_names(core, self._subgraph)
            self.interface = _interface(core, self._subgraph, self._names, signature, expose)

    def run(self, feeds: Mapping[str, object]) -> list[object]:
        """Run the model once on `feeds` (by input name), and return the outputs. Variables are reset first.

        Raises RefusedError.
        """
        with self._refusing():
            if self._stateful:
                self._interpreter = None
            core, subgraph = self._core(), self._subgraph
            values = {spec.index: np.asarray(feeds[spec.name], order="C") for spec in self.interface.inputs}
            for index, value in values.items():
                if tuple(core.TensorSize(index, subgraph)) != value.shape:
                    core.ResizeInputTensor(index, np.array(value.shape, np.int32), False, subgraph)
            core.AllocateTensors(subgraph)
            core.ResetVariableTensors()
            for index, value in values.items():
                core.SetTensor(index, value, subgraph)
            core.Invoke(subgraph)
            return [_value(core, spec, subgraph) for spec in self.interface.outputs]

    def run_observed(
        self, feeds: Mapping[str, object], tensors: Sequence[int]
    ) -> tuple[list[object], list[tuple[int, ...]]]:
        """Run the model once; return the outputs, and the shapes of the tensors with these indices after the run.

        The tensors are in the subgraph that is run. Raises RefusedError.
        """
        outputs = self.run(feeds)
        with self._refusing():
            core = self._core()
            sizes = [core.TensorSize(index, self._subgraph) for index in tensors]
            keys = [size.tobytes() for size in sizes]
            shapes = {key: tuple(size.tolist()) for key, size in dict(zip(keys, sizes, strict=True)).items()}
            # Equal shapes share one tuple, because pickling tens of thousands of separate tuples takes longer than the
            # run.
            return outputs, [shapes[key] for key in keys]

    def tensors(self) -> list[str]:
        """Return a unique name for each tensor of the subgraph that is run, in the order of tensor indices."""
        return self._names

    def allocate(self, inputs: Mapping[int, Sequence[int]]) -> Shapes:
        """Resize inputs of subgraph 0 and allocate all tensors; return the shapes that LiteRT planned before a run.

        `inputs` maps tensor indices to shapes. Raises RefusedError.
        """
        with self._refusing():
            core = self._core()
            for index, shape in inputs.items():
                core.ResizeInputTensor(index, np.array(shape, np.int32), False, 0)
            core.AllocateTensors()
            return self._shapes(core)

    def invoke_on_zeros(self, given: Mapping[int, np.ndarray[Any, Any]]) -> Shapes:
        """Run the allocated model, and return the shapes of all tensors after the run.

        `given` maps tensor indices of inputs to values; all other inputs are zeros. Raises RefusedError.
        """
        with self._refusing():
            core = self._core()
            for spec in self.interface.inputs:
                if spec.index in given:
                    core.SetTensor(spec.index, given[spec.index], 0)
                    continue
                size = tuple(core.TensorSize(spec.index, 0))
                zeros = np.full(size, b"", object) if spec.dtype == _STRINGS else np.zeros(size, spec.dtype)
                core.SetTensor(spec.index, zeros, 0)
            core.Invoke()
            return self._shapes(core)

    def elements(self, tensors: Sequence[int]) -> list[bytes]:
        """Return the bytes of these tensors of subgraph 0 after a run, as stored in memory. Raises RefusedError."""
        with self._refusing():
            core = self._core()
            return [core.GetTensor(index, 0).tobytes() for index in tensors]

    def _shapes(self, core: Any) -> Shapes:  # noqa: ANN401 - LiteRT has no types
        """Return the shapes of all tensors by subgraph, including tensors that kernels added to those of the file."""
        return tuple(tuple(_shape(core, index, at) for index in range(count)) for at, count in enumerate(self._counts))

    def _core(self) -> Any:  # noqa: ANN401 - LiteRT has no types
        """Return LiteRT's native interpreter, and create it first if necessary.

        Only the native interpreter can access other subgraphs than the first.
        """
        if self._interpreter is None:
            if isinstance(self._model, Path):
                with utf8_name(self._model) as name:
                    self._interpreter = self._made(model_path=name)
            else:
                self._interpreter = self._made(model_content=self._model)
        return self._interpreter._interpreter  # noqa: SLF001 - LiteRT's own SignatureRunner reaches it so

    def _made(self, **model: str | bytes) -> Interpreter:
        """Create an interpreter of the session's kernels with one thread."""
        return Interpreter(
            **model,
            experimental_op_resolver_type=_RESOLVERS[self._kernels],
            experimental_preserve_all_tensors=self._preserved,
            num_threads=1,
        )

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Turn LiteRT's exceptions into RefusedError. An interpreter that raised an exception is not used again."""
        try:
            yield
        except _ERRORS as error:
            self._interpreter = None
            raise _refused(error) from None


def load(
    model: Path | bytes, *, kernels: str, signature: str | None = None, expose: Sequence[str] = ()
) -> InterpreterSession:
    """Load a model from its path (the file is memory-mapped) or from bytes.

    `kernels` is one of graphfix.runtimes.litert.evaluation.KERNELS, or "preserving": the builtin kernels, with the
    contents of all tensors preserved after a run. `signature` is the key of the SignatureDef whose subgraph is run; its
    names are then the names of inputs and outputs. With None, subgraph 0 is run. `expose` lists names of tensors of
    that subgraph; they become outputs after the model's own outputs. Raises RefusedError.
    """
    return InterpreterSession(model, kernels, signature, expose)


def _shape(core: Any, index: int, subgraph: int) -> tuple[int, ...]:  # noqa: ANN401 - LiteRT has no types
    """Return the shape of a tensor, or () if LiteRT has none because a kernel added the tensor and does not use it."""
    try:
        return tuple(map(int, core.TensorSize(index, subgraph)))
    except ValueError:
        return ()


def _stateful(core: Any, counts: Sequence[int]) -> bool:  # noqa: ANN401 - LiteRT has no types
    """Return whether the model keeps state between runs that a reset does not restore.

    LiteRT lists the operators of the first subgraph only. So for the other subgraphs this function looks for tensors
    that are resources.
    """
    return any(core.NodeName(at) in _STATEFUL for at in range(core.NumNodes())) or any(
        core.TensorType(index, at) is np.object_ for at in range(1, len(counts)) for index in range(counts[at])
    )


def _interface(
    core: Any,  # noqa: ANN401 - see above
    subgraph: int,
    names: Sequence[str],
    signature: str | None,
    expose: Sequence[str],
) -> ModelDetails:
    """Return inputs and outputs of the subgraph that is run, and the keys of all SignatureDefs with their subgraphs.

    With a `signature`, inputs and outputs have the signature's names. Without one, they have the names of their
    tensors, and the name in a SignatureDef of subgraph 0 is their alias.
    """
    keys = core.GetSignatureDefs()
    where = {str(key): int(core.GetSubgraphIndexFromSignature(key)) for key in keys}
    exposed = tuple(_spec(core, subgraph, names.index(name), name) for name in expose)
    if signature is not None:
        sides = [
            tuple(_spec(core, subgraph, int(index), str(name)) for name, index in keys[signature][side].items())
            for side in ("inputs", "outputs")
        ]
    else:
        aliases = _aliases([keys[key] for key in keys if where[key] == 0])
        sides = [
            tuple(
                replace(_spec(core, 0, int(index), names[index]), alias=aliases.get(int(index), "")) for index in side
            )
            for side in (core.InputIndices(), core.OutputIndices())
        ]
    return ModelDetails(sides[0], sides[1] + exposed, tuple(where.items()))


def _aliases(signatures: Sequence[Any]) -> dict[int, str]:
    """Return, by tensor index, the name of each input and output in the first SignatureDef that contains the tensor."""
    found: dict[int, str] = {}
    for signature in signatures:
        for side in ("inputs", "outputs"):
            for name, index in signature[side].items():
                found.setdefault(int(index), str(name))
    return found


def _unique_names(core: Any, subgraph: int) -> list[str]:  # noqa: ANN401 - see above
    """Return a unique name for each tensor of a subgraph: its name, or `t<index>` if that is empty or used twice."""
    names = [str(core.TensorName(index, subgraph)) for index in range(core.NumTensors(subgraph))]
    counts = Counter(names)
    taken = {name for name, count in counts.items() if name and count == 1}
    unique = []
    for index, name in enumerate(names):
        made = name if name in taken else f"t{index}"
        while name not in taken and made in taken:
            made += "_"
        unique.append(made)
    return unique


def _spec(core: Any, subgraph: int, index: int, name: str) -> TensorDetails:  # noqa: ANN401 - see above
    """Return name, type, shape and quantization of a tensor. Raises RefusedError if numpy has no type for it."""
    kind = core.TensorType(index, subgraph)
    if not kind:
        raise RefusedError(f"LiteRT: numpy has no type for the tensor '{name}'", missing_kernel=True)
    scales, zero_points, axis, *_ = core.TensorQuantizationParameters(index, subgraph)
    return TensorDetails(
        name=name,
        index=index,
        dtype=np.dtype(kind).name,
        shape=tuple(map(int, core.TensorSize(index, subgraph))),
        shape_signature=tuple(map(int, core.TensorSizeSignature(index, subgraph))),
        scales=tuple(map(float, scales)),
        zero_points=tuple(map(int, zero_points)),
        quantized_axis=int(axis),
    )


def _value(core: Any, spec: TensorDetails, subgraph: int) -> object:  # noqa: ANN401 - see above
    """Return a copy of a tensor's values, or None for a resource, because reading a resource ends the process.

    A tensor without elements may have no memory, and LiteRT then refuses to read it ("Invalid tensor size."). So this
    function creates the empty array itself.
    """
    if spec.dtype == _VALUELESS:
        return None
    size = tuple(core.TensorSize(spec.index, subgraph))
    if 0 in size:
        return np.empty(size, object if spec.dtype == _STRINGS else spec.dtype)
    return core.GetTensor(spec.index, subgraph)


def _refused(error: Exception) -> RefusedError:
    """Return LiteRT's exception as a RefusedError, which also states if a kernel or a custom operator is missing."""
    text = str(error)
    found = _CUSTOM.search(text)
    if found is not None:
        custom = found[1] or found[2]
        message = f"LiteRT has no kernel for the custom operator '{custom}'"
        return RefusedError(message, missing_kernel=True, custom=custom)
    missing = any(words in text for words in _LACKS)
    message = one_line(_RUN_TOGETHER.sub("; node", text))
    return RefusedError(f"LiteRT: {message or type(error).__name__}", missing_kernel=missing)
