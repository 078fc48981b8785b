"""A pair that is proved is run once on each kernel set, while the proof is looked for; all else is swept as before."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
import pytest

import graphfix
from graphfix.checker import proof
from graphfix.checker.files.pair import Pair
from graphfix.checker.runs import original_runs
from graphfix.checker.runs.early import MODULES, EarlyRuns, briefly_run
from graphfix.checker.runs.tflite.pace import ORDER, Pace
from graphfix.checker.task import Criterion, Task
from graphfix.results import GraphfixError, Verdict
from graphfix.results.faults import InternalError
from graphfix.results.progress import silent
from graphfix.runtimes import process
from graphfix.runtimes.session import RefusedError
from graphfix.runtimes.sessions import InThisProcess
from models.builders.tflite.text import model as tflite
from tests.support.notation import model

ADD = "y[N,3] = Add(x[N,3], b:const[{shape}]{{0.5,1.5,{last}}})"
TFLITE_ADD = "y[N,3] = ADD(x[N,3], b:const[{shape}]{{0.5,1.5,{last}}})"


@dataclass(frozen=True)
class Models:
    """Two models of one format: `equal` has the operand in another shape, `different` another element."""

    before: Path
    equal: Path
    different: Path


@pytest.fixture(params=["onnx", "tflite"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Models:
    """Return the three models in one format."""
    paths = []
    for name, shape, last in (("before", "3", "2.5"), ("equal", "1,3", "2.5"), ("different", "1,3", "3.5")):
        paths.append(tmp_path / f"{name}.{request.param}")
        if request.param == "onnx":
            content = model(ADD.format(shape=shape, last=last)).SerializeToString()
        else:
            content = tflite(TFLITE_ADD.format(shape=shape, last=last))
        paths[-1].write_bytes(content)
    return Models(*paths)


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str]]:
    """Return what is asked of the runtimes' processes from now on: (the process, `load` or the session's method)."""
    asked: list[tuple[int, str]] = []

    def counting(answer: Callable[..., object]) -> Callable[..., object]:
        def counted(child: process.Child, runtime: str, message: tuple[object, ...]) -> object:
            asked.append((id(child), str(message[0] if message[0] == "load" else message[2])))
            return answer(child, runtime, message)

        return counted

    for each in (process.Child, InThisProcess):
        monkeypatch.setattr(each, "_answer", counting(each._answer))
    return asked


def ran(verdict: Verdict) -> list[tuple[str, str, int]]:
    """List the runs: the kernel set, with or without optimizations, and the size of N."""
    return [(run.kernels, run.optimizations, run.bindings["x[0]" if run.kernels else "N"]) for run in verdict.runs]


def brief_task(before: Path, after: Path) -> Task:
    pair = Pair(before, after, tflite=before.suffix == ".tflite")
    return Task(pair, None, None, 0, Criterion(), "with", silent, brief=True)


def children() -> set[int]:
    """Return the processes of the runs that are there."""
    found = set()
    for each in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it has just ended: onnx's inference ends by itself
            if "graphfix.runtimes.worker" in each.cmdline():
                found.add(each.pid)
    return found


@pytest.mark.ci
def test_a_proved_pair_is_run_once_on_each_kernel_set(pair: Models) -> None:
    verdict = graphfix.verify(pair.before, pair.equal)
    assert verdict.status == "proved"
    if pair.before.suffix == ".onnx":
        assert ran(verdict) == [("", "off", 3)]
    else:
        assert [run.kernels for run in verdict.runs] == [*ORDER]
        assert {run.status for run in verdict.runs} == {"equal"}
    assert verdict.load is not None
    assert len(verdict.load.observed) == (2 if pair.before.suffix == ".onnx" else 3)


def test_brief_runs_load_and_run_each_model_once(pair: Models, requests: list[tuple[int, str]]) -> None:
    verdict = briefly_run(brief_task(pair.before, pair.equal))
    assert verdict is not None
    assert verdict.status == "equal"
    names = [name for _, name in requests]
    if pair.before.suffix == ".onnx":  # the second model is loaded with optimizations, too
        assert sorted(names) == ["load", "load", "load", "run", "run"]
    else:
        assert (names.count("load"), names.count("run")) == (6, 6)


@pytest.mark.parametrize("options", [{"runs": 4}, {"thorough": True}, {"atol": 1e-6}], ids=str)
def test_more_runs_are_made_where_they_are_asked_for(pair: Models, options: Mapping[str, object]) -> None:
    verdict = graphfix.verify(pair.before, pair.equal, **options)  # type: ignore[arg-type]
    assert verdict.status == "proved"
    sizes = {size for _, optimized, size in ran(verdict) if optimized == "off"}
    assert sizes == {0, 1, 2, 3}


@pytest.mark.ci
def test_a_pair_that_is_not_proved_is_swept(pair: Models) -> None:
    verdict = graphfix.verify(pair.before, pair.different)
    assert verdict.status == "different"
    assert {size for _, _, size in ran(verdict)} >= {0, 1, 2, 3}


@pytest.mark.ci
def test_early_runs_that_are_dropped_leave_no_process(pair: Models) -> None:
    before = children()
    graphfix.verify(pair.before, pair.different)
    assert children() == before


def test_an_interrupt_of_the_proof_ends_the_runs(pair: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(proof, "prove", interrupted)
    before = children()
    with pytest.raises(KeyboardInterrupt):
        graphfix.verify(pair.before, pair.equal)
    assert children() == before


@pytest.mark.ci
def test_what_differs_at_first_sight_is_looked_into(pair: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    proved = proof.prove(brief_task(pair.before, pair.equal).pair)
    monkeypatch.setattr(proof, "prove", lambda *_, **__: proved)
    verdict = graphfix.verify(pair.before, pair.different)
    assert verdict.status == "different"
    assert verdict.first_difference is not None
    assert {size for _, _, size in ran(verdict)} >= {1, 2, 3}


def test_the_runs_raise_what_is_wrong_with_the_request(pair: Models) -> None:
    with pytest.raises(GraphfixError, match="--dim M: no input has a dim of that name"):
        graphfix.verify(pair.before, pair.equal, dims={"M": 3})


def test_a_model_that_takes_few_sizes_is_searched_for_a_short_time_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = []
    for name, shape in (("one", "4"), ("two", "1,4")):
        text = f"r[P,4] = Reshape(x[N,M], s:const:int64[2]{{-1,4}})\ny[P,4] = Add(r, b:const[{shape}]{{1.,2.,3.,4.}})"
        paths.append(tmp_path / f"{name}.onnx")
        paths[-1].write_bytes(model(text).SerializeToString())
    found = graphfix.verify(*paths)
    assert found.status == "proved"
    assert [run.status for run in found.runs] == ["equal", "undecided"]
    monkeypatch.setattr(original_runs, "_SEARCH_SECONDS", 0)
    shorter = briefly_run(brief_task(*paths))
    assert shorter is not None
    assert next((run.status, dict(run.bindings)) for run in shorter.runs) == ("equal", {"N": 2, "M": 2})


@pytest.mark.parametrize(
    ("taken", "kernels", "sizes", "share"),
    [
        ([], "xnnpack", {}, "same"),
        ([0.01], "builtin", {"x[0]": 3}, "same"),
        ([0.3], "builtin", {"x[0]": 3}, "least"),
        ([0.1], "builtin", {}, "same"),
        ([0.05, 0.2], "reference", {}, "none"),
        ([0.05, 0.1], "reference", {"x[0]": 3}, "least"),
        ([0.3, 0.2], "reference", {"x[0]": 1}, "none"),
        ([4.0, 0.2], "reference", {}, "same"),
        ([2.0, 0.2], "reference", {}, "none"),
        ([2.0, 0.5], "reference", {}, "none"),
    ],
)
def test_a_slow_kernel_set_runs_what_it_has_time_for(
    taken: list[float], kernels: str, sizes: Mapping[str, int], share: str
) -> None:
    assert Pace(taken).share(kernels, sizes) == share


def test_a_kernel_set_without_time_is_named_with_the_reason_and_its_load_is_observed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / "one.tflite", tmp_path / "two.tflite"]
    for path, shape in zip(paths, ("3", "1,3"), strict=True):
        path.write_bytes(tflite(TFLITE_ADD.format(shape=shape, last="2.5")))
    monkeypatch.setattr(Pace, "share", lambda _pace, kernels, _sizes: "none" if kernels == "reference" else "same")
    verdict = briefly_run(brief_task(*paths))
    assert verdict is not None
    assert verdict.status == "equal"
    (left,) = [run for run in verdict.runs if run.status == "undecided"]
    assert (left.kernels, left.reason) == (
        "reference",
        "not run: the reference kernels take long, and the models are proved equal; --thorough runs them",
    )
    assert verdict.load is not None
    assert "LiteRT with the reference kernels" in verdict.load.observed


# --- the process ----------------------------------------------------------------------------------------------------


def test_a_child_keeps_the_models_that_it_has_room_for(pair: Models, requests: list[tuple[int, str]]) -> None:
    if pair.before.suffix == ".tflite":
        pytest.skip("one format is enough: the requests are the same")
    with process.Child() as child:
        child.kept = 2
        for path in (pair.before, pair.equal, pair.before, pair.different, pair.equal, pair.before):
            session = child.load(path)
            (value,) = session.run({"x": np.ones((2, 3), np.float32)})
            assert np.array_equal(value, np.float32([[1.5, 2.5, 4.5 if path == pair.different else 3.5]] * 2))
    assert [name for _, name in requests].count("load") == 4


@pytest.mark.ci
def test_a_runtime_that_ends_the_process_of_the_brief_runs_is_left_to_the_whole_sweep(
    pair: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EarlyRuns, "__init__", _ended)
    verdict = graphfix.verify(pair.before, pair.equal)
    assert verdict.status == "proved"
    assert {size for _, _, size in ran(verdict)} >= {1, 2, 3}


def _ended(early: EarlyRuns, task: Task) -> None:
    assert task.pair.tflite == (task.pair.before.suffix == ".tflite")
    early._child, early._is_free = process.Child(), False
    early._child.begin("os", "abort")


def test_what_a_function_in_the_process_raises_is_an_internal_error() -> None:
    with process.Child() as child:
        child.begin("math", "sqrt", -1)
        with pytest.raises(InternalError):
            child.finish()
        child.begin("math", "sqrt", 4)
        assert child.finish() == 2


def test_what_a_function_in_the_process_refuses_is_refused_here() -> None:
    with process.Child() as child:
        child.begin("graphfix.runtimes.onnx.onnxruntime", "load", b"no model")
        with pytest.raises(RefusedError, match="rotobuf"):
            child.finish()


def test_a_process_that_ended_between_two_loads_is_started_again() -> None:
    first, second = (model(f"y[N] = {op}(x[N])").SerializeToString() for op in ("Abs", "Neg"))
    with process.Child() as child:
        child.memory = 1 << 30
        child.load(first)
        assert child._process is not None
        child._process.kill()  # by the system, say, when memory is scarce
        assert child.load(second).run({"x": np.float32([1])})


@pytest.mark.ci
def test_a_limit_of_memory_holds_for_sessions_in_this_process(tmp_path: Path) -> None:
    program = f"""
import numpy as np
from pathlib import Path
from graphfix.runtimes.sessions import InThisProcess
from graphfix.runtimes.session import RefusedError
with InThisProcess() as sessions:
    sessions.memory = 1 << 20
    session = sessions.load(Path({str(tmp_path / "m.onnx")!r}))
    try:
        session.run({{"n": np.int64([1 << 32])}})
    except RefusedError as error:
        print("stopped" if error.stopped else error)
"""
    (tmp_path / "m.onnx").write_bytes(model("y[N] = ConstantOfShape(n:int64[1])").SerializeToString())
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("stopped\n", 0), done.stderr


def test_the_process_of_the_runs_imports_neither_onnx_nor_psutil(pair: Models) -> None:
    tflite = pair.before.suffix == ".tflite"
    with process.Child() as child:
        child.start("LiteRT" if tflite else "onnxruntime", MODULES["LiteRT" if tflite else "onnxruntime"])
        child.begin("graphfix.checker.runs.early", "briefly_run", brief_task(pair.before, pair.equal))
        verdict = child.finish()
        found = []
        for name in ("numpy", "onnx", "psutil", "importlib.metadata"):
            child.begin("tests.support.loaded", "imported", name)
            found.append(child.finish())
    assert verdict.status == "equal"
    assert found == [True, False, False, False]
