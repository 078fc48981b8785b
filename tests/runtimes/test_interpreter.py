"""What graphfix asks of LiteRT's interpreter and reads from it, with a stand-in where LiteRT itself is not needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from ai_edge_litert.interpreter import OpResolverType

from graphfix.runtimes.litert import interpreter
from graphfix.runtimes.litert.interpreter import InterpreterSession
from graphfix.runtimes.session import RefusedError
from models.builders.tflite.text import Signature
from models.builders.tflite.text import model as tflite

ADD = tflite("y[N,4] = ADD(x[N,4], b:const[4]{1.0,2.0,3.0,4.0})")


class Core:
    """One subgraph of tensors: (name, type, shape); an input is fed, and an output read, by its index."""

    def __init__(
        self,
        *tensors: tuple[str, Any, tuple[int, ...]],
        inputs: Sequence[int] = (),
        outputs: Sequence[int] = (),
        signatures: Mapping[str, tuple[int, dict[str, dict[str, int]]]] | None = None,
    ) -> None:
        self.tensors, self.inputs, self.outputs = tensors, inputs, outputs
        self.signatures = signatures or {}

    def TensorName(self, index: int, _: int) -> str:  # noqa: N802 - LiteRT's name
        return self.tensors[index][0]

    def TensorType(self, index: int, _: int) -> Any:  # noqa: ANN401, N802 - LiteRT's name
        return self.tensors[index][1]

    def TensorSize(self, index: int, _: int) -> np.ndarray[Any, Any]:  # noqa: N802 - LiteRT's name
        return np.int32(self.tensors[index][2])

    def TensorSizeSignature(self, index: int, _: int) -> np.ndarray[Any, Any]:  # noqa: N802 - LiteRT's name
        return np.int32([-1 for _ in self.tensors[index][2]])

    def TensorQuantizationParameters(self, index: int, _: int) -> tuple[list[float], list[int], int]:  # noqa: N802 - LiteRT's name
        return [0.5] * index, [3] * index, index

    def NumTensors(self, _: int) -> int:  # noqa: N802 - LiteRT's name
        return len(self.tensors)

    def GetTensor(self, index: int, _: int) -> str:  # noqa: N802 - LiteRT's name
        return f"tensor {index}"

    def GetSignatureDefs(self) -> dict[str, dict[str, dict[str, int]]]:  # noqa: N802 - LiteRT's name
        return {key: sides for key, (_, sides) in self.signatures.items()}

    def GetSubgraphIndexFromSignature(self, key: str) -> int:  # noqa: N802 - LiteRT's name
        return self.signatures[key][0]

    def InputIndices(self) -> Sequence[int]:  # noqa: N802 - LiteRT's name
        return self.inputs

    def OutputIndices(self) -> Sequence[int]:  # noqa: N802 - LiteRT's name
        return self.outputs


@pytest.mark.parametrize(
    ("names", "unique"),
    [
        (["x", "y"], ["x", "y"]),
        (["", "x"], ["t0", "x"]),
        (["x", "y", "x"], ["t0", "y", "t2"]),
        (["", "t0", "t0_"], ["t0__", "t0", "t0_"]),
        (["t1", "t1", "t0"], ["t0_", "t1", "t0"]),
        (["t0"], ["t0"]),
    ],
)
def test_an_empty_or_repeated_name_gives_way_to_one_that_nothing_else_has(names: list[str], unique: list[str]) -> None:
    assert interpreter._unique_names(Core(*((name, np.float32, ()) for name in names)), 0) == unique


SIDES = {"inputs": {"a": 1}, "outputs": {"b": 0, "also b": 0}}
TENSORS = (("y", np.float32, (2,)), ("x", np.int8, (2, 3)), ("z", np.object_, ()))


def test_an_interface_has_the_tensors_of_the_first_subgraph_with_their_aliases() -> None:
    other = {"inputs": {"no": 1}, "outputs": {}}
    core = Core(*TENSORS, inputs=[1], outputs=[0], signatures={"far": (1, other), "near": (0, SIDES)})
    found = interpreter._interface(core, 0, ["y", "x", "z"], None, ["z"])
    assert [(spec.name, spec.index, spec.alias, spec.dtype) for spec in (*found.inputs, *found.outputs)] == [
        ("x", 1, "a", "int8"),
        ("y", 0, "b", "float32"),
        ("z", 2, "", "object"),
    ]
    assert len(found.inputs) == 1
    (x,) = found.inputs
    assert (x.shape, x.shape_signature) == ((2, 3), (-1, -1))
    assert (x.scales, x.zero_points, x.quantized_axis) == ((0.5,), (3,), 1)
    assert found.signatures == (("far", 1), ("near", 0))


def test_an_interface_of_a_signature_has_its_names() -> None:
    core = Core(*TENSORS, inputs=[0], outputs=[1], signatures={"near": (0, SIDES)})
    found = interpreter._interface(core, 0, ["y", "x", "z"], "near", [])
    assert [(spec.name, spec.index, spec.alias) for spec in found.inputs] == [("a", 1, "")]
    assert [(spec.name, spec.index, spec.alias) for spec in found.outputs] == [("b", 0, ""), ("also b", 0, "")]


def test_the_first_signature_that_has_a_tensor_names_it() -> None:
    first = {"inputs": {"a": 1}, "outputs": {"b": 0}}
    second = {"inputs": {"c": 1, "d": 2}, "outputs": {"e": 0}}
    assert interpreter._aliases([first, second]) == {1: "a", 0: "b", 2: "d"}


def test_a_tensor_of_a_type_that_numpy_lacks_is_refused() -> None:
    with pytest.raises(RefusedError, match="numpy has no type for the tensor 'w'") as refused:
        interpreter._spec(Core(("w", None, ())), 0, 0, "w")
    assert refused.value.missing_kernel


@pytest.mark.parametrize(
    ("kind", "shape", "dtype"),
    [(np.float32, (0, 3), "float32"), (np.int8, (0,), "int8"), (np.bytes_, (2, 0), "object")],
)
def test_a_tensor_without_elements_is_not_asked_for(kind: type, shape: tuple[int, ...], dtype: str) -> None:
    core = Core(("y", kind, shape))
    value: Any = interpreter._value(core, interpreter._spec(core, 0, 0, "y"), 0)
    assert (value.shape, value.dtype.name) == (shape, dtype)


def test_a_resource_has_no_value_and_anything_else_is_read() -> None:
    core = Core(("r", np.object_, ()), ("y", np.float32, (1, 3)))
    values = [interpreter._value(core, interpreter._spec(core, 0, at, ""), 0) for at in range(2)]
    assert values == [None, "tensor 1"]


def test_a_tensor_that_a_kernel_has_added_and_does_not_use_has_no_axes() -> None:
    class Unused(Core):
        def TensorSize(self, index: int, _: int) -> np.ndarray[Any, Any]:  # noqa: N802 - LiteRT's name
            if index:
                raise ValueError("Invalid tensor size.")
            return np.int32([2, 3])

    assert [interpreter._shape(Unused(), index, 0) for index in range(2)] == [(2, 3), ()]


@pytest.mark.parametrize(
    ("kinds", "nodes", "stateful"),
    [
        ([[np.float32]], ["ADD", "NEG"], False),
        ([[np.float32]], ["ADD", "VAR_HANDLE"], True),
        ([[np.object_]], ["ADD"], False),
        ([[np.float32], [np.float32, np.object_]], ["ADD"], True),
        ([[np.object_], [np.float32, np.int8]], ["ADD"], False),
    ],
    ids=["none", "an operator", "a resource of the first subgraph", "one of another", "no other has one"],
)
def test_what_keeps_a_state_is_an_operator_or_a_resource(
    kinds: list[list[type]], nodes: list[str], stateful: bool
) -> None:
    class Graphs:
        def NodeName(self, at: int) -> str:  # noqa: N802 - LiteRT's name
            return nodes[at]

        def NumNodes(self) -> int:  # noqa: N802 - LiteRT's name
            return len(nodes)

        def TensorType(self, index: int, subgraph: int) -> type:  # noqa: N802 - LiteRT's name
            return kinds[subgraph][index]

    assert interpreter._stateful(Graphs(), [len(each) for each in kinds]) == stateful


@pytest.mark.parametrize(
    ("error", "said", "missing", "custom"),
    [
        (
            ValueError("Encountered unresolved custom op: own.Frob.\nSee instructions: https://..."),
            "LiteRT has no kernel for the custom operator 'own.Frob'",
            True,
            "own.Frob",
        ),
        (
            RuntimeError("Select TensorFlow op(s). Node number 3 (FlexErf) failed to prepare."),
            "LiteRT has no kernel for the custom operator 'FlexErf'",
            True,
            "FlexErf",
        ),
        (ValueError("Didn't find op for builtin opcode"), "LiteRT: Didn't find op for builtin opcode", True, ""),
        (ValueError("Didn't find custom operator"), "LiteRT: Didn't find custom operator", True, ""),
        (ValueError("Unsupported data type 7"), "LiteRT: Unsupported data type 7", True, ""),
        (ValueError("sizes differ"), "LiteRT: sizes differ", False, ""),
        (
            RuntimeError("kernels/add.cc: 1 != 2.Node number 0 (ADD) failed."),
            "LiteRT: kernels/add.cc: 1 != 2; node number 0 (ADD) failed.",
            False,
            "",
        ),
        (MemoryError(), "LiteRT: MemoryError", False, ""),
    ],
)
def test_what_litert_raises_is_a_refusal_in_one_line(error: Exception, said: str, missing: bool, custom: str) -> None:
    refused = interpreter._refused(error)
    assert (str(refused), refused.missing_kernel, refused.custom) == (said, missing, custom)


class Running(Core):
    """One subgraph that is run, y = x; `error` is raised by the next run."""

    def __init__(self, *nodes: str) -> None:
        super().__init__(("x", np.float32, (2,)), inputs=[0], outputs=[0])
        self.nodes = nodes
        self.error: Exception | None = None

    def NumSubgraphs(self) -> int:  # noqa: N802 - LiteRT's name
        return 1

    def NumNodes(self) -> int:  # noqa: N802 - LiteRT's name
        return len(self.nodes)

    def NodeName(self, at: int) -> str:  # noqa: N802 - LiteRT's name
        return self.nodes[at]

    def AllocateTensors(self, _: int) -> None: ...  # noqa: N802 - LiteRT's name

    def ResetVariableTensors(self) -> None: ...  # noqa: N802 - LiteRT's name

    def SetTensor(self, *_: object) -> None: ...  # noqa: N802 - LiteRT's name

    def Invoke(self, _: int) -> None:  # noqa: N802 - LiteRT's name
        if self.error is not None:
            raise self.error


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """How each interpreter was made."""
    found: list[dict[str, Any]] = []

    def make(**options: Any) -> object:  # noqa: ANN401 - LiteRT's
        found.append(options)
        return SimpleNamespace(_interpreter=options["model_content"])

    monkeypatch.setattr(interpreter, "Interpreter", make)
    return found


FEEDS = {"x": np.ones(2, np.float32)}


@pytest.mark.parametrize(("node", "interpreters"), [("ADD", 1), ("CALL_ONCE", 3)])
def test_a_model_that_keeps_a_state_gets_a_new_interpreter_for_each_run(
    made: list[dict[str, Any]], node: str, interpreters: int
) -> None:
    session = InterpreterSession(Running(node), "builtin", None, ())  # type: ignore[arg-type]
    assert [session.run(FEEDS) for _ in range(2)] == [["tensor 0"]] * 2
    assert len(made) == interpreters


def test_an_interpreter_that_has_failed_is_not_used_again(made: list[dict[str, Any]]) -> None:
    core = Running("ADD")
    session = InterpreterSession(core, "builtin", None, ())  # type: ignore[arg-type]
    core.error = RuntimeError("no")
    with pytest.raises(RefusedError, match=r"^LiteRT: no$"):
        session.run(FEEDS)
    core.error = None
    assert session.run(FEEDS) == ["tensor 0"]
    assert len(made) == 2


@pytest.mark.parametrize(
    ("kernels", "expose", "resolver", "preserved"),
    [
        ("reference", (), OpResolverType.BUILTIN_REF, False),
        ("builtin", (), OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES, False),
        ("builtin", ("x",), OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES, True),
        ("xnnpack", (), OpResolverType.AUTO, False),
        ("preserving", (), OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES, True),
    ],
)
def test_the_kernels_are_those_that_are_asked_for(
    made: list[dict[str, Any]], kernels: str, expose: tuple[str, ...], resolver: OpResolverType, preserved: bool
) -> None:
    core = Running("ADD")
    InterpreterSession(core, kernels, None, expose)  # type: ignore[arg-type]
    (options,) = made
    assert options == {
        "model_content": core,
        "experimental_op_resolver_type": resolver,
        "experimental_preserve_all_tensors": preserved,
        "num_threads": 1,
    }


# --- with LiteRT ------------------------------------------------------------------------------------------------------


def test_shapes_are_planned_and_what_tensors_hold_is_read() -> None:
    session = interpreter.load(ADD, kernels="preserving")
    at = {name: index for index, name in enumerate(session.tensors())}
    assert session.allocate({at["x"]: [3, 4]})[0][at["y"]] == (3, 4)
    assert session.invoke_on_zeros({})[0][at["y"]] == (3, 4)
    zeros = np.frombuffer(session.elements([at["y"]])[0], np.float32)
    assert zeros.tolist() == [1, 2, 3, 4] * 3
    session.invoke_on_zeros({at["x"]: np.full((3, 4), 10, np.float32)})
    x, y = (np.frombuffer(held, np.float32).tolist() for held in session.elements([at["x"], at["y"]]))
    assert (x, y) == ([10] * 12, [11, 12, 13, 14] * 3)


def test_strings_that_are_not_given_are_empty() -> None:
    column = tflite("y:string[N,1] = RESHAPE(x:string[N], s:const:int32{-1,1})")
    session = interpreter.load(column, kernels="preserving")
    session.allocate({session.tensors().index("x"): [2]})
    assert (2, 1) in session.invoke_on_zeros({})[0]


def test_the_shapes_of_a_run_are_those_of_the_tensors_that_are_named() -> None:
    model = tflite("t[N,4] = ABS(x[N,4])\ny[4,N] = TRANSPOSE(t, p:const:int32{1,0})")
    session = interpreter.load(model, kernels="builtin")
    at = {name: index for index, name in enumerate(session.tensors())}
    for rows in (2, 3):
        (y,), shapes = session.run_observed({"x": np.ones((rows, 4), np.float32)}, [at["y"], at["x"]])
        assert np.asarray(y).shape == (4, rows)
        assert shapes == [(4, rows), (rows, 4)]


def test_what_is_refused_costs_no_later_run() -> None:
    session = interpreter.load(tflite("y[N,4] = ADD(x[N,4], z[N,4])"), kernels="reference")
    with pytest.raises(RefusedError):
        session.run({"x": np.ones((2, 4), np.float32), "z": np.ones((3, 4), np.float32)})
    (y,) = session.run({"x": np.ones((2, 4), np.float32), "z": np.ones((1, 4), np.float32)})
    assert np.asarray(y).tolist() == [[2] * 4] * 2


def test_a_signature_runs_its_subgraph() -> None:
    text = "y[N,4] = ABS(x[N,4])\nsubgraph second:\nq[N,2] = NEG(p[N,2])"
    signatures = {"one": Signature("main", {"a": "x"}, {"b": "y"}), "two": Signature("second", {"c": "p"}, {"d": "q"})}
    session: InterpreterSession = interpreter.load(
        tflite(text, signatures=signatures), kernels="builtin", signature="two", expose=["p"]
    )
    assert [spec.name for spec in session.interface.outputs] == ["d", "p"]
    q, p = session.run({"c": np.ones((3, 2), np.float32)})
    assert (np.asarray(q).tolist(), np.asarray(p).tolist()) == ([[-1, -1]] * 3, [[1, 1]] * 3)
