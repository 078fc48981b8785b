"""First files of pairs: each operator at each version that a runtime takes, in several forms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
import onnx
from onnx import ModelProto, helper, numpy_helper

from tests.support.pairs.onnx_instances import (
    Instance,
    declared,
    model_of,
    of_the_suite,
    redeclared,
    runs,
)
from tests.support.pairs.onnx_more_instances import more
from tests.support.pairs.onnx_run import Feeds, Result, Runner

INSTANCES = 2
"""How many instances of one version of an operator are taken: of different arity, attributes or types."""
SMALL = 64
"""Operands of no more elements become constants in the form that has some."""


Wanted = Callable[[str], bool]
"""Of an operator with its version: whether it is asked for."""


def always(_: str) -> bool:
    """Every operator is wanted."""
    return True


def part(number: int, parts: int) -> Wanted:
    """One of so many parts of the operators."""
    return lambda operator: crc32(operator.encode()) % parts == number


@dataclass(frozen=True, slots=True)
class Seed:
    """A first file and inputs on which it runs."""

    name: str
    operator: str
    runtime: str
    data: bytes
    feeds: tuple[Feeds, ...]
    target: int = 0
    """Which node of the main graph is the operator's."""

    @property
    def model(self) -> ModelProto:
        """A new copy of the model."""
        return ModelProto.FromString(self.data)


def seeds(runner: Runner, wanted: Wanted = always) -> Iterator[Seed]:
    """Every form of every instance of the operators that are wanted."""
    for instance, runtime, results in instances(runner, wanted):
        yield from seeds_of(instance, runtime, results)


def instances(runner: Runner, wanted: Wanted = always) -> Iterator[tuple[Instance, str, Result]]:
    """Instances that run, some of each version of each operator, with the runtime and the results."""
    found: Counter[str] = Counter()
    seen: set[tuple[object, ...]] = set()
    for instance in [*more(), *(it for each in of_the_suite() for it in redeclared(each))]:
        if not wanted(instance.operator):
            continue
        look = _look(instance)
        known = instance.since or instance.domain == MICROSOFT
        if found[instance.operator] >= INSTANCES or look in seen or not known:
            continue
        ran = runs(instance, runner)
        if ran is None or _too_new(instance, ran[0], found):
            continue
        seen.add(look)
        found[instance.operator] += 1
        yield instance, *ran


MICROSOFT = "com.microsoft"


def _too_new(instance: Instance, runtime: str, found: Counter[str]) -> bool:
    """Of what only the reference runs, one instance is enough: it checks little."""
    return runtime == "reference" and found[instance.operator] > 0


def _look(instance: Instance) -> tuple[object, ...]:
    node = instance.node
    kinds = tuple(str(it.dtype) if isinstance(it, np.ndarray) else "" for it in instance.feeds.values())
    return (instance.operator, tuple(map(bool, node.input)), tuple(sorted(a.name for a in node.attribute)), kinds[:1])


def seeds_of(instance: Instance, runtime: str, results: Result) -> Iterator[Seed]:
    """The forms of an instance: declared sizes, free sizes, small constants, all constants, and a reader."""
    imports = {instance.domain: instance.version} | ({} if not instance.domain else {"": 17})
    outputs = declared(instance, results)
    model = model_of([instance.node], instance.feeds, outputs, imports)

    def seed(form: str, made: ModelProto, feeds: Sequence[Feeds]) -> Seed:
        name = f"{instance.operator} {form} ({instance.source})"
        return Seed(name, instance.operator, runtime, made.SerializeToString(), tuple(feeds))

    yield seed("static", model, [instance.feeds, special(instance.feeds)])
    yield seed("free", freed(model), [instance.feeds, *resized(instance.feeds), special(instance.feeds)])
    small = {n for n, it in instance.feeds.items() if isinstance(it, np.ndarray) and 0 < it.size <= SMALL}
    some = small - set(list(instance.feeds)[:1])
    for form, chosen in (("constants", some), ("all constant", small if len(small) == len(instance.feeds) else set())):
        if chosen:
            left = {name: it for name, it in instance.feeds.items() if name not in chosen}
            made = with_constants(model, {name: it for name, it in instance.feeds.items() if name in chosen})
            yield seed(form, made, [left, special(left)] if left else [left])
    if _readable(outputs[0]):
        yield seed("read", with_reader(model), [instance.feeds, special(instance.feeds)])


def special(feeds: Feeds) -> Feeds:
    """The same inputs with a NaN, infinities, zeros of both signs and large numbers among the floats."""
    values = np.array([np.nan, -0.0, np.inf, 0.0, -np.inf, -1.5, 3e4])
    made = {}
    for name, value in feeds.items():
        made[name] = value
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size > 1:
            flat = value.copy().reshape(-1)
            flat[: len(values)] = values[: flat.size].astype(value.dtype)
            made[name] = flat.reshape(value.shape)
    return made


def resized(feeds: Feeds) -> Iterator[Feeds]:
    """The same inputs with each extent that occurs replaced by another one, wherever it occurs."""
    extents = sorted({dim for it in feeds.values() if isinstance(it, np.ndarray) for dim in it.shape if dim > 1})
    for table in ({it: it + 1 for it in extents}, dict.fromkeys(extents[-1:], 1), {it: it * 2 for it in extents[:1]}):
        if table:
            yield {name: _resized(value, table) for name, value in feeds.items()}


def _resized(value: object, table: Mapping[int, int]) -> object:
    if not isinstance(value, np.ndarray) or not value.size:
        return value
    return np.resize(value, [table.get(dim, dim) for dim in value.shape])


def freed(model: ModelProto) -> ModelProto:
    """The model with a symbol for each size of its inputs, and outputs of their type alone."""
    for at, value in enumerate(model.graph.input):
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            dim.dim_param = f"s{at}_{axis}"
    for value in model.graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    return ModelProto.FromString(model.SerializeToString())


def with_constants(model: ModelProto, constants: Mapping[str, object]) -> ModelProto:
    """The model with initializers in the place of some of its inputs."""
    made = ModelProto.FromString(model.SerializeToString())
    kept = [value for value in made.graph.input if value.name not in constants]
    del made.graph.input[:]
    made.graph.input.extend(kept)
    for name in sorted(constants):
        made.graph.initializer.append(numpy_helper.from_array(np.asarray(constants[name]), name))
    return made


def _readable(output: onnx.ValueInfoProto) -> bool:
    tensor = output.type.tensor_type
    return output.type.HasField("tensor_type") and tensor.elem_type == onnx.TensorProto.FLOAT


def with_reader(model: ModelProto) -> ModelProto:
    """The model whose first result is read by an Add with a constant of one element that is stretched."""
    made = ModelProto.FromString(model.SerializeToString())
    output = made.graph.output[0]
    bias = numpy_helper.from_array(np.full([1] * len(output.type.tensor_type.shape.dim), 0.5, np.float32), "bias")
    made.graph.initializer.append(bias)
    made.graph.node.append(helper.make_node("Add", [output.name, "bias"], ["read"]))
    output.name = "read"
    return made
