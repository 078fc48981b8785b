"""The load of the second file is observed wherever the first file loads, also where nothing is run or compared."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import TensorProto, helper

import graphfix
from graphfix.checker.runs.loads import OPTIMIZED, PLAIN, Loads, without_runs
from graphfix.cli import commands
from graphfix.results import Load, Verdict
from graphfix.runtimes import process
from graphfix.runtimes.session import RefusedError
from models.builders.tflite.text import model as tflite
from tests.support.notation import model

KERNEL_SETS = ["LiteRT with the reference kernels", "LiteRT with the builtin kernels", "LiteRT with XNNPACK"]

Change = Callable[[onnx.ModelProto], None]


def _base() -> onnx.ModelProto:
    """A small model whose output is random, so that no run can compare anything."""
    proto = model("r[2,3] = RandomNormalLike(x[2,3])\ny[2,3] = Add(r, b:const[3]{0.5,1.5,2.5})", opset=17)
    proto.graph.doc_string = "two"
    return proto


def _node(op: str, inputs: list[str], **attributes: object) -> Change:
    """Return a change that adds a node which nobody reads."""

    def add(proto: onnx.ModelProto) -> None:
        proto.graph.node.append(helper.make_node(op, inputs, ["unused"], **attributes))

    return add


def _functions(*overloads: str, domain: str = "own") -> Change:
    def add(proto: onnx.ModelProto) -> None:
        proto.opset_import.add(domain=domain, version=1)
        for overload in overloads:
            body = [helper.make_node("Neg", ["a"], ["c"])]
            function = helper.make_function(domain, "F", ["a"], ["c"], body, [helper.make_opsetid("", 17)])
            function.overload = overload
            proto.functions.append(function)

    return add


def _set(path: str, value: object) -> Change:
    def put(proto: onnx.ModelProto) -> None:
        *way, last = path.split(".")
        at: object = proto
        for name in way:
            at = at[int(name)] if name.isdigit() else getattr(at, name)  # type: ignore[index] # a repeated field
        setattr(at, last, value)

    return put


def _twice_named(proto: onnx.ModelProto) -> None:
    proto.graph.node[0].name = proto.graph.node[1].name = "same"


def _twice_stored(proto: onnx.ModelProto) -> None:
    proto.graph.node.append(helper.make_node("Neg", ["x"], ["r"]))


def _unsorted(proto: onnx.ModelProto) -> None:
    proto.graph.node.append(helper.make_node("Neg", ["late"], ["early"]))
    proto.graph.node.append(helper.make_node("Neg", ["early"], ["late"]))


def _output_of_nothing(proto: onnx.ModelProto) -> None:
    proto.graph.node[1].output[0] = "z"


def _clashing_constants(proto: onnx.ModelProto) -> None:
    tensor = helper.make_tensor("c", TensorProto.FLOAT, [4], [1, 2, 3, 4])
    proto.graph.initializer.append(tensor)
    proto.graph.node.append(helper.make_node("Add", ["b", "c"], ["unused"]))


def _int4_expand(proto: onnx.ModelProto) -> None:
    proto.opset_import[0].version = 21
    proto.ir_version = 10
    proto.graph.initializer.append(helper.make_tensor("q", TensorProto.INT4, [2], [1, 2]))
    proto.graph.initializer.append(helper.make_tensor("to", TensorProto.INT64, [2], [3, 2]))
    proto.graph.node.append(helper.make_node("Expand", ["q", "to"], ["unused"]))


REFUSED: dict[str, Change] = {
    "an operator that nobody has": _node("Frobnicate", ["x"]),
    "an operator of a domain that is not imported": _node("Frob", ["x"], domain="own"),
    "an attribute that is not known": _node("Neg", ["x"], speed=3),
    "an attribute of another type": _node("Concat", ["x", "x"], axis=1.5),
    "an attribute that is missing": _node("Concat", ["x", "x"]),
    "too many operands": _node("Neg", ["x", "x"]),
    "too few operands": _node("Add", ["x"]),
    "an operand that nobody makes": _node("Neg", ["nowhere"]),
    "an axis beyond the rank": _node("Concat", ["x", "x"], axis=7),
    "a permutation that repeats": _node("Transpose", ["x"], perm=[0, 0]),
    "a cast to no type": _node("Cast", ["x"], to=99),
    "a type that no kernel has": _node("BitShift", ["x", "x"], direction="LEFT"),
    "two types": _node("Add", ["x", "seed"]),
    "sizes that do not multiply": _node("MatMul", ["x", "x"]),
    "sizes that do not meet": _clashing_constants,
    "one node name twice": _twice_named,
    "one value twice": _twice_stored,
    "a cycle": _unsorted,
    "an output of nothing": _output_of_nothing,
    "one function twice": _functions("a", "a"),
    "an operator set of the future": _set("opset_import.0.version", 9999),
    "an IR version of the future": _set("ir_version", 999),
    "a Reshape to a computed type": _node("Reshape", ["x", "x"]),
    "an operator without a kernel for int4": _int4_expand,
}
"""By name: a change after which onnxruntime does not load the model of `_base`."""


def _loads(path: Path, *, optimized: bool = False) -> bool:
    """Return whether onnxruntime loads a file."""
    levels = onnxruntime.GraphOptimizationLevel
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    try:
        onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception:  # noqa: BLE001 -- onnxruntime raises classes of its own
        return False
    return True


def _saved(folder: Path, name: str, change: Change | None = None) -> Path:
    proto = _base()
    if change is not None:
        proto.graph.initializer.append(helper.make_tensor("seed", TensorProto.INT64, [1], [3]))
        change(proto)
    path = folder / f"{name}.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


@pytest.mark.alike(2)
@pytest.mark.parametrize("name", REFUSED)
def test_a_load_that_fails_is_different_although_no_run_compares_anything(name: str, tmp_path: Path) -> None:
    before, after = _saved(tmp_path, "before"), _saved(tmp_path, "after", REFUSED[name])
    assert _loads(before)
    assert not _loads(after)
    verdict = graphfix.verify(before, after, proof="without")
    assert verdict.status == "different", verdict
    assert verdict.reason is not None
    assert "the first " in verdict.reason


HARMLESS: dict[str, Change] = {
    "a node that nobody reads": _node("Neg", ["x"]),
    "one name": _set("graph.node.0.name", "first"),
    "one function": _functions("a"),
    "another IR version": _set("ir_version", 8),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_a_second_file_that_loads_stays_undecided_where_nothing_is_compared(name: str, tmp_path: Path) -> None:
    before, after = _saved(tmp_path, "before"), _saved(tmp_path, "after", HARMLESS[name])
    assert _loads(after)
    verdict = graphfix.verify(before, after, proof="without")
    assert (verdict.status, verdict.load) == ("undecided", Load((PLAIN, OPTIMIZED)))


def _clash_by_folding(proto: onnx.ModelProto) -> None:
    """Add an Add whose operand gets a size, one that does not meet the other, when optimizations fold a constant."""
    proto.graph.initializer.append(helper.make_tensor("part", TensorProto.INT64, [1], [7]))
    proto.graph.initializer.append(helper.make_tensor("c", TensorProto.FLOAT, [2], [1, 2]))
    proto.graph.node.extend(
        [
            helper.make_node("Add", ["part", "part"], ["count"]),
            helper.make_node("Reshape", ["c", "count"], ["long"]),
            helper.make_node("Add", ["x", "long"], ["unused"]),
        ]
    )


@pytest.mark.parametrize(
    ("change", "way"), [(_node("Transpose", ["x"], perm=[0, 0]), PLAIN), (_clash_by_folding, OPTIMIZED)]
)
def test_runs_that_refuse_their_inputs_do_not_hide_a_load_that_fails(
    change: Change, way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first file loads and never runs, because an index is out of range."""
    proto = model("y[2,3] = Gather(x[2,3], i:const[2]{7,9})", opset=17)
    paths = [tmp_path / "before.onnx", tmp_path / "after.onnx"]
    paths[0].write_bytes(proto.SerializeToString())
    change(proto)
    paths[1].write_bytes(proto.SerializeToString())
    assert [_loads(path) for path in paths] == [True, way == OPTIMIZED]
    assert [_loads(path, optimized=True) for path in paths] == [True, False]
    verdict = graphfix.verify(*paths)
    assert (verdict.status, {run.status for run in verdict.runs}) == ("different", {"undecided"})
    assert verdict.load is not None
    assert verdict.reason == verdict.load.failure
    assert commands.main(["verify", *map(str, paths), "--proof-only", "--load"]) == 1
    assert f"different: the second file does not load in {way}, the first does: " in capsys.readouterr().out


@pytest.mark.ci
def test_a_first_file_that_fails_alike_decides_nothing_and_a_note_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change = _node("Frob", ["x"], domain="own")
    paths = [_saved(tmp_path, name, change) for name in ("before", "after")]
    paths[1].write_bytes(paths[1].read_bytes().replace(b"two", b"new"))
    verdict = graphfix.verify(*paths)
    assert (verdict.status, verdict.load and verdict.load.observed) == ("proved", ())
    assert commands.main(["verify", *map(str, paths)]) == 0
    note = f"  note: the load of the second file was not observed in {PLAIN}, {OPTIMIZED}: the first file does not load"
    assert note in capsys.readouterr().out.splitlines()


def test_a_proof_alone_says_that_the_load_was_not_observed_and_load_observes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = _saved(tmp_path, "before")
    after = _saved(tmp_path, "after", _set("doc_string", "new"))
    pair = [str(before), str(after)]
    assert commands.main(["verify", *pair, "--proof-only"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.endswith("proved for all inputs and sizes; nothing was run, and the load was not observed")
    assert commands.main(["verify", *pair, "--proof-only", "--load"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.endswith(f"; nothing was run; the second file loads in {PLAIN}, {OPTIMIZED}")
    refused = _saved(tmp_path, "refused", REFUSED["an attribute that is not known"])
    assert commands.main(["verify", pair[0], str(refused), "--proof-only"]) == 3
    assert commands.main(["verify", pair[0], str(refused), "--proof-only", "--load"]) == 1
    assert f"different: the second file does not load in {PLAIN}, the first does: " in capsys.readouterr().out


@pytest.mark.ci
def test_each_file_is_loaded_once_each_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[tuple[Path | bytes, object]] = []
    original = process.Child._answer

    def counted(child: process.Child, runtime: str, message: tuple[object, ...]) -> object:
        if message[0] == "load":
            *_, model, options = message
            loaded.append((model, options["optimized"]))
        return original(child, runtime, message)

    monkeypatch.setattr(process.Child, "_answer", counted)
    paths = []
    for name in ("one", "two"):
        proto = model("y[N,3] = Add(x[N,3], b:const[3]{0.5,1.5,2.5})", opset=17)
        proto.graph.name = name
        paths.append(tmp_path / f"{name}.onnx")
        paths[-1].write_bytes(proto.SerializeToString())
    verdict = graphfix.verify(*paths, runs=4)
    assert (verdict.status, verdict.load) == ("proved", Load((PLAIN, OPTIMIZED)))
    assert sorted(loaded, key=str) == sorted(((path, way) for path in paths for way in (False, True)), key=str)


TFLITE = {
    "a RESHAPE to another count": "y[2,2] = RESHAPE(x[2,3], s:const:int32[2]{2,2}, new_shape=[2,2])",
    "a TRANSPOSE that XNNPACK alone refuses": "y[2,2] = TRANSPOSE(x[2,3], p:const:int32[2]{0,0})",
    "an ADD of sizes that do not meet": "y[2,3] = ADD(x[2,3], b:const[2]{1.5,2.5})",
    "a CONCATENATION along no axis": "y[2,6] = CONCATENATION(x[2,3], x, axis=7)",
}


@pytest.mark.parametrize("name", TFLITE)
def test_every_kernel_set_is_asked_to_load_and_allocate(name: str, tmp_path: Path) -> None:
    texts = {"before": "y[2,3] = ABS(x[2,3])", "twin": "t[2,3] = ABS(x[2,3])\ny[2,3] = ABS(t)", "after": TFLITE[name]}
    paths = {key: tmp_path / f"{key}.tflite" for key in texts}
    for key, text in texts.items():
        paths[key].write_bytes(tflite(text))
    twin = graphfix.verify(paths["before"], paths["twin"], proof="only", load=True)
    assert (twin.status, twin.load) == ("undecided", Load(tuple(KERNEL_SETS)))
    verdict = graphfix.verify(paths["before"], paths["after"], proof="only", load=True)
    assert verdict.status == "different", verdict
    assert any(f"does not load in {name}, the first does: " in str(verdict.reason) for name in KERNEL_SETS)


def _refusing(error: RefusedError | None) -> Callable[[], object]:
    def opened() -> object:
        if error is not None:
            raise error
        return None

    return opened


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (None, None, ("proved", (OPTIMIZED,), False)),
        (None, RefusedError("no"), ("different", (), False)),
        (None, RefusedError("died", aborted=True), ("different", (), False)),
        (None, RefusedError("late", aborted=True, stopped=True), ("proved", (), True)),
        (RefusedError("no"), RefusedError("no"), ("proved", (), True)),
        (RefusedError("no"), None, ("proved", (OPTIMIZED,), False)),
    ],
)
def test_only_a_load_that_fails_alone_decides(
    first: RefusedError | None, second: RefusedError | None, expected: tuple[str, tuple[str, ...], bool]
) -> None:
    ways = {OPTIMIZED: (_refusing(first), _refusing(second))}
    verdict = Loads(lambda *_: None).judge(Verdict("proved"), ways, {})
    assert verdict.load is not None
    assert (verdict.status, tuple(verdict.load.observed), verdict.load.reason is not None) == expected


def test_a_load_that_is_left_out_is_said() -> None:
    verdict = Loads(lambda *_: None).judge(
        Verdict("equal"), {PLAIN: (_refusing(None), _refusing(None))}, {OPTIMIZED: "why"}
    )
    assert verdict.load == Load((PLAIN,), f"in {OPTIMIZED}: why")


@pytest.mark.ci
def test_a_large_model_is_loaded_with_optimizations_only_if_there_is_memory_for_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = _saved(tmp_path, "before"), _saved(tmp_path, "after", HARMLESS["one name"])
    monkeypatch.setattr("graphfix.checker.runs.onnx.verdict.LARGE", 0)
    monkeypatch.setattr("graphfix.checker.runs.onnx.loads.LARGE", 0)
    assert graphfix.verify(before, after, proof="without").load == Load((PLAIN, OPTIMIZED))
    monkeypatch.setattr("graphfix.checker.runs.onnx.loads.unused", lambda: 0)
    left_out = "that may take 0 MiB of memory, and 0 MiB are unused; --thorough loads it all the same"
    for proof in ("without", "only"):
        verdict = graphfix.verify(before, after, proof=proof, load=True)  # type: ignore[arg-type]  # a literal
        assert verdict.load == Load((PLAIN,), f"in {OPTIMIZED}: {left_out}")
    thorough = graphfix.verify(before, after, proof="only", load=True, thorough=True)
    assert thorough.load == Load((PLAIN, OPTIMIZED))


LATE = RefusedError("late", aborted=True, stopped=True)


def test_each_way_is_tried_once_and_ways_of_one_reason_are_said_together() -> None:
    told: list[str] = []
    ways = {
        "A": (_refusing(LATE), _refusing(None)),
        "B": (_refusing(None), _refusing(LATE)),
        "C": (_refusing(RefusedError("no")), _refusing(RefusedError("no"))),
    }
    loads = Loads(lambda text, *_: told.append(text))
    verdict = loads.judge(Verdict("equal"), ways, {"D": "why", "E": "why"})
    expected = Verdict("equal", load=Load(("A",), "in D, E: why; in B: late; in C: the first file does not load"))
    assert verdict == expected
    asked = [("second", "A"), *((which, way) for way in "BC" for which in ("second", "first"))]
    assert told == [f"loading the {which} model in {way}" for which, way in asked]
    assert loads.judge(Verdict("equal"), ways, {"D": "why", "E": "why"}) == expected
    assert len(told) == 5


def test_a_load_that_a_run_has_shown_is_not_tried_again() -> None:
    loads = Loads(lambda *_: None)
    loads.record_loaded("A")
    found = loads.judge(Verdict("equal"), {"A": (_refusing(LATE), _refusing(LATE))}, {})
    assert found.load == Load(("A",))


def test_the_second_file_is_not_loaded_where_a_run_has_shown_that_the_first_is_refused() -> None:
    told: list[str] = []
    loads = Loads(lambda text, *_: told.append(text))
    with pytest.raises(RefusedError):
        loads.watched(0, lambda **_: _refusing(RefusedError("no"))())()  # type: ignore[arg-type, return-value]
    found = loads.judge(Verdict("equal"), {PLAIN: (_refusing(None), _refusing(None))}, {})
    assert (found.load, told) == (Load((), f"in {PLAIN}: the first file does not load"), [])


def test_a_load_that_fails_is_the_reason_but_where_a_run_differs() -> None:
    ways = {
        "A": (_refusing(None), _refusing(None)),
        "B": (_refusing(None), _refusing(RefusedError("no"))),
        "C": (_refusing(None), _refusing(None)),
    }
    failure = "the second file does not load in B, the first does: no"
    load = Load(("A",), "in D: why", failure)
    for status, reason in (("equal", failure), ("undecided", failure), ("different", "of the run")):
        found = Loads(lambda *_: None).judge(Verdict(status, reason="of the run"), ways, {"D": "why"})  # type: ignore[arg-type]
        assert found == Verdict("different", reason=reason, load=load)


@pytest.mark.parametrize("optimized", [False, True])
@pytest.mark.parametrize("error", [None, RefusedError("no")])
def test_loads_of_the_file_itself_are_recorded_and_those_of_a_copy_are_not(
    optimized: bool, error: RefusedError | None
) -> None:
    asked: list[object] = []

    def load(**options: object) -> object:
        asked.append(options)
        return _refusing(error)() or "a session"

    way = OPTIMIZED if optimized else PLAIN
    for side in (0, 1):
        loads = Loads(lambda *_: None)
        opened = loads.watched(side, load)  # type: ignore[arg-type]
        for options in ({"expose": ("y",), "more": ()}, {"expose": (), "more": ()}):
            assert loads._refusals == {}
            asked.clear()
            if error is None:
                assert opened(optimized=optimized, **options) == "a session"
            else:
                with pytest.raises(RefusedError, match="no"):
                    opened(optimized=optimized, **options)
            assert asked == [{"optimized": optimized, **options}]
        assert loads._refusals == {(way, side): error}
        with suppress(RefusedError):
            opened()
        assert asked[1:] == [{"optimized": False}]
        loads._refusals.pop((PLAIN, side))
        assert loads._refusals == ({(way, side): error} if optimized else {})


@pytest.mark.parametrize(
    ("load", "said"),
    [
        (None, "nothing was run, and the load was not observed: None"),
        (Load(reason="why"), "nothing was run, and the load was not observed: why"),
        (Load(("A", "B"), "why"), "nothing was run; the second file loads in A, B"),
        (Load(("A",), "why", "it fails"), "it fails"),
    ],
)
def test_a_verdict_by_loads_alone_says_where_the_second_file_loads(load: Load | None, said: str) -> None:
    assert without_runs(load) == said
