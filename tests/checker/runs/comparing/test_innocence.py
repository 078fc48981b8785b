"""A difference counts where the first model is innocent: fresh interpreters, unwritten variables, only NaN."""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from graphfix.checker.runs.comparing import exceptions
from graphfix.checker.runs.comparing.comparison import Comparison, weigh
from graphfix.checker.runs.comparing.difference import difference
from graphfix.checker.runs.comparing.unwritten_variables import unwritten_outputs
from graphfix.checker.runs.inputs.seeded_inputs import Case
from graphfix.checker.runs.original_runs import Answer, Answers
from graphfix.checker.runs.tflite import verdict as tflite_runs
from graphfix.checker.task import Criterion
from graphfix.cli import commands
from graphfix.report.verdict import verdict_text
from graphfix.results import Run, Verdict
from graphfix.runtimes.process import Child
from graphfix.runtimes.session import RefusedError
from models.builders.tflite.text import Signature
from models.builders.tflite.text import model as tflite
from tests.support.by_runs import verify as by_runs
from tests.support.checked import verify
from tests.support.written import Written

Saved = Callable[[bytes], Path]


def said(argv: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, object]]:
    """Run a command; return its status and the verdict of its document."""
    status = commands.main([*argv, "--json"])
    verdict: dict[str, object] = json.loads(capsys.readouterr().out)["verdict"]
    return status, verdict


# --- interpreters that have run other sizes -------------------------------------------------------------------------


def by_batch(scale: float = 2.0, bias: str = "1.,2.") -> bytes:
    """What a converter writes for reshape(x * scale, [batch, 2, 2]) and a sum."""
    return tflite(f"""
    s:int32[2] = SHAPE(x[N,4], out_type=INT32)
    n:int32[] = STRIDED_SLICE(s, i:const:int32{{0}}, j:const:int32{{1}}, k:const:int32{{1}}, shrink_axis_mask=1)
    p:int32[3] = PACK(n, a:const:int32[]{{2}}, b:const:int32[]{{2}}, values_count=3, axis=0)
    t[N,4] = MUL(x, c:const[]{{{scale}}})
    u[N,4] = ADD(t, d:const[1,4]{{{bias},3.,4.}})
    y[?,?,?] = RESHAPE(u, p)
    """)


def test_an_output_without_elements_is_read_though_litert_does_not_hand_it_out(saved: Saved) -> None:
    path = saved(by_batch())
    bare = Interpreter(str(path), experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
    feed, output = bare.get_input_details()[0]["index"], bare.get_output_details()[0]["index"]
    for size in (3, 0):
        bare.resize_tensor_input(feed, (size, 4))
        bare.allocate_tensors()
        bare.invoke()
    with pytest.raises(ValueError, match="Invalid tensor size"):
        bare.get_tensor(output)
    with Child() as child:
        session = child.load_tflite(path, "builtin")
        for size in (3, 0):
            (found,) = session.run({"x": np.ones((size, 4), np.float32)})
            assert (np.shape(found), np.asarray(found).dtype) == ((size, 2, 2), np.float32)


def test_a_model_without_elements_after_another_size_equals_itself(saved: Saved) -> None:
    verdict = by_runs(saved(by_batch()), saved(by_batch()))
    assert (verdict.status, verdict.exceptions) == ("equal", ())
    assert [run.status for run in verdict.runs if dict(run.bindings) == {"x[0]": 0}] == ["equal"] * 3


@pytest.mark.ci
def test_fix_and_verify_of_such_a_model_end_well(
    saved: Saved, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = saved(by_batch()), tmp_path / "after.tflite"
    status, verdict = said(["fix", str(before), "-o", str(after)], capsys)
    assert (status, verdict["status"], after.exists()) == (0, "proved", True)
    status, verdict = said(["verify", str(before), str(after)], capsys)
    assert (status, verdict["status"]) == (0, "proved")


@pytest.mark.ci
@pytest.mark.parametrize("change", [{"scale": 2.5}, {"bias": "1.,2.5"}], ids=["scale", "bias"])
def test_another_weight_in_such_a_model_is_a_difference(
    saved: Saved, change: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    status, verdict = said(["verify", str(saved(by_batch())), str(saved(by_batch(**change)))], capsys)  # type: ignore[arg-type]
    assert (status, verdict["status"]) == (1, "different")


@dataclass
class Scripted:
    """A session that answers by a function of how often it has run before."""

    answer: Callable[[int], float]
    runs: int = 0
    outputs: tuple[str, ...] = ("y",)

    def run(self, _: Mapping[str, object]) -> list[object]:
        self.runs += 1
        value = self.answer(self.runs)
        if np.isinf(value):
            raise RefusedError("LiteRT: no")
        return [np.float32([value])]


@dataclass
class Opened:
    """Opens sessions, each with the next of the answers, the last of them again and again."""

    answers: list[Callable[[int], float]] = field(default_factory=list)
    count: int = 0

    def __call__(self) -> Scripted:
        at = min(self.count, len(self.answers) - 1)
        self.count += 1
        return Scripted(self.answers[at])


FAILS = float("inf")


def always(value: float) -> Callable[[int], float]:
    return lambda _: value


def first(value: float, then: float) -> Callable[[int], float]:
    return lambda run: value if run == 1 else then


def weighed(before: Opened, after: Opened, sizes: tuple[int, ...] = (3, 0)) -> Verdict:
    """Weigh two scripted models; the first one has answered 1 at each size."""
    cases = [Case({"N": size}, {}) for size in sizes]
    answers = Answers(tuple(Answer(case, {"y": np.float32([1])}) for case in cases))
    comparison = Comparison((before, after), Criterion(), lambda *_: None, "LiteRT", lambda *_: None)
    return weigh(comparison, answers)


def test_a_failure_that_the_first_model_shares_from_a_fresh_interpreter_decides_nothing() -> None:
    verdict = weighed(Opened([always(FAILS)]), Opened([first(1, FAILS), always(FAILS)]))
    assert verdict.status == "undecided"
    assert verdict.reason == "the first model itself fails from a fresh interpreter: LiteRT: no"
    assert [run.status for run in verdict.runs] == ["equal", "undecided"]
    assert [(entry["class"], entry["site"]) for entry in verdict.exceptions] == [("shared-failure", "N=0")]


def test_a_failure_of_the_second_model_alone_is_a_difference() -> None:
    verdict = weighed(Opened([always(1)]), Opened([first(1, FAILS), always(FAILS)]))
    assert verdict.status == "different"
    assert verdict.reason == "the second model fails where the first runs: LiteRT: no"


def test_a_failure_that_comes_and_goes_decides_nothing() -> None:
    verdict = weighed(Opened([always(1)]), Opened([first(1, FAILS), always(FAILS), always(1)]))
    assert verdict.status == "undecided"
    assert "now and then" in str(verdict.reason)


def test_other_values_of_a_reused_interpreter_are_asked_again_of_fresh_ones() -> None:
    assert weighed(Opened([always(1)]), Opened([first(1, 2), always(1)])).status == "equal"
    assert weighed(Opened([always(1)]), Opened([first(1, 2), always(2)])).status == "different"
    # the first model's own value depends on what it ran before, the second one's is neither of the two
    verdict = weighed(Opened([always(3)]), Opened([first(1, 2), always(2)]))
    assert (verdict.status, verdict.reason) == ("undecided", "two runs of the first model itself differ in: y")


def test_a_difference_at_another_size_counts_beside_a_shared_failure() -> None:
    verdict = weighed(Opened([always(1), always(FAILS)]), Opened([first(2, FAILS), always(2), always(FAILS)]))
    assert verdict.status == "different"
    assert [run.status for run in verdict.runs] == ["different", "undecided"]


def test_each_run_of_a_state_in_a_body_begins_anew(saved: Saved) -> None:
    """A sum over runs, kept in a body: LiteRT lists no operators of a body, and begins each run anew all the same."""
    model = tflite("""
    subgraph main(x[2], c:bool[]):
    y[2] = IF(c, x, then=body, else=body)
    subgraph body:
    CALL_ONCE(init=setup)
    h:resource[] = VAR_HANDLE(container='', shared_name='sum')
    v[2] = READ_VARIABLE(h)
    q[2] = ADD(v, p[2])
    ASSIGN_VARIABLE(h, q)
    r[2] = ABS(q)
    subgraph setup:
    h:resource[] = VAR_HANDLE(container='', shared_name='sum')
    ASSIGN_VARIABLE(h, z:const[2]{0.,0.})
    """)

    path = saved(model)
    feeds = {"x": np.float32([1, 2]), "c": np.array(True)}
    with Child() as child:
        session = child.load_tflite(path, "builtin")
        first_run, second_run = session.run(feeds), session.run(feeds)
    assert np.array_equal(np.asarray(first_run[0]), np.asarray(second_run[0]))


# --- variables that nothing has written -----------------------------------------------------------------------------

HANDLE = "h:resource[] = VAR_HANDLE(container='', shared_name='state')"
READ = f"{HANDLE}\nv[3] = READ_VARIABLE(h)\ny[3] = ADD(x[3], v)"
WRITTEN = f"{HANDLE}\nASSIGN_VARIABLE(h, x[3])\nv[3] = READ_VARIABLE(h)\ny[3] = ADD(x, v)"
IN_A_BRANCH = f"subgraph yes:\n{HANDLE}\nASSIGN_VARIABLE(h, p[3])\nt[3] = NEG(p)"
BOTH = f"{HANDLE}\nu[3] = IF(c:bool[], x[3], then=yes, else=no)\nv[3] = READ_VARIABLE(h)\ny[3] = ADD(u, v)\n"


def unwritten(bias: float = 1, other: float = 2) -> bytes:
    """Two outputs: y follows from a variable that nothing writes, z does not."""
    text = f"""
    {HANDLE}
    v[3] = READ_VARIABLE(h)
    z[2,3] = ADD(x[2,3], b:const[3]{{{bias},2.,3.}})
    w[2,3] = MUL(x, c:const[3]{{{other},2.,3.}})
    y[2,3] = ADD(w, v)
    """
    return tflite(text, outputs=["y", "z"])


CAUSE = "the first model reads the variable 'state', which nothing has written (READ_VARIABLE#1)"


@pytest.mark.ci
def test_runs_of_a_variable_that_nothing_writes_are_undecided_by_its_name(saved: Saved) -> None:
    verdict = by_runs(saved(unwritten()), saved(unwritten()))
    assert verdict.status == "undecided"
    assert verdict.reason == f"{CAUSE}, and does not determine: y"
    with_xnnpack = [run for run in verdict.runs if run.kernels == "xnnpack"]
    assert {(run.status, run.outputs) for run in with_xnnpack} == {("undecided", 1)}
    assert {(e["class"], e["output"], e["site"]) for e in verdict.exceptions} == {
        ("unwritten-variable", "y", "READ_VARIABLE#1")
    }


@pytest.mark.ci
def test_a_complete_proof_decides_where_a_variable_is_unwritten(
    saved: Saved, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = saved(unwritten()), tmp_path / "after.tflite"
    status, verdict = said(["fix", str(before), "-o", str(after)], capsys)
    assert (status, verdict["status"], after.exists()) == (0, "proved", True)
    assert CAUSE in str(verdict["reason"])
    assert commands.main(["verify", str(before), str(after)]) == 0
    assert f"proved for all inputs and sizes; {CAUSE}" in capsys.readouterr().out


@pytest.mark.ci
def test_another_weight_before_an_output_that_is_determined_is_a_difference(
    saved: Saved, capsys: pytest.CaptureFixture[str]
) -> None:
    status, verdict = said(["verify", str(saved(unwritten())), str(saved(unwritten(bias=1.5)))], capsys)
    assert (status, verdict["status"]) == (1, "different")
    assert "the outputs differ: z" in str(verdict["reason"])


@pytest.mark.ci
def test_another_weight_before_an_undetermined_output_is_neither_proved_nor_different(
    saved: Saved, capsys: pytest.CaptureFixture[str]
) -> None:
    status, verdict = said(["verify", str(saved(unwritten())), str(saved(unwritten(other=3)))], capsys)
    assert (status, verdict["status"]) == (3, "undecided")
    assert CAUSE in str(verdict["reason"])


def test_kernels_that_refuse_an_unwritten_variable_are_undecided_by_its_name(saved: Saved) -> None:
    """XNNPACK leaves an int64 to the other kernels, so that no kernel set runs the model."""
    model = tflite(
        "h:resource[] = VAR_HANDLE(container='', shared_name='count')\nv:int64[3] = READ_VARIABLE(h)\n"
        "y:int64[3] = ADD(x:int64[3], v)"
    )
    verdict = by_runs(saved(model), saved(model))
    assert verdict.status == "undecided"
    assert "the variable 'count', which nothing has written" in str(verdict.reason)


def texts() -> Iterator[tuple[str, str, bool]]:
    """Yield (what, a model, whether its output y follows from an unwritten variable)."""
    yield "read alone", READ, True
    yield "written before", WRITTEN, False
    yield "written later", f"{READ}\nASSIGN_VARIABLE(h, y)", True
    for what, key in (
        ("another variable", "container='', shared_name='g'"),
        ("container", "container='c', shared_name='state'"),
    ):
        yield f"{what} is written", f"g:resource[] = VAR_HANDLE({key})\nASSIGN_VARIABLE(g, x[3])\n{READ}", True
    setup = f"subgraph setup:\n{HANDLE}\nASSIGN_VARIABLE(h, z:const[3]{{0.,0.,0.}})"
    yield "an initialization", f"CALL_ONCE(init=setup)\n{READ}\n{setup}", False
    yield "an initialization too late", f"{READ}\nCALL_ONCE(init=setup)\n{setup}", True
    other = IN_A_BRANCH.replace("yes", "no")
    yield "in both branches", f"{BOTH}{IN_A_BRANCH}\n{other}", False
    yield "in one branch", f"{BOTH}{IN_A_BRANCH}\nsubgraph no:\nt[3] = NEG(p[3])", True
    yield (
        "by way of another variable",
        f"""{HANDLE}
    v[3] = READ_VARIABLE(h)
    g:resource[] = VAR_HANDLE(container='', shared_name='g')
    ASSIGN_VARIABLE(g, v)
    u[3] = READ_VARIABLE(g)
    y[3] = ADD(x[3], u)""",
        True,
    )
    choice = "subgraph main(x[3], c:bool[]):\ny[3] = IF(c, x, then=yes, else=no)"
    yield "in a branch", f"{choice}\nsubgraph yes:\n{READ}\nsubgraph no:\nt[3] = NEG(p[3])", True
    loop = "i2:int32[], y[3] = WHILE(i:int32[], x[3], cond=test, body=step)"
    test = "subgraph test(k:int32[], p[3]):\nc:bool[] = LESS(k, q:const:int32[]{3})"
    step = f"""subgraph step(k:int32[], p[3]):
    {HANDLE}
    v[3] = READ_VARIABLE(h)
    m:int32[] = ADD(k, o:const:int32[]{{1}})
    t[3] = ADD(p, v)
    ASSIGN_VARIABLE(h, t)
    r[3] = ABS(t)"""
    yield "in a loop's first turn", f"{loop}\n{test}\n{step}", True
    yield "before a loop", f"{HANDLE}\nASSIGN_VARIABLE(h, x[3])\n{loop}\n{test}\n{step}", False


@pytest.mark.parametrize(("text", "follows"), [pytest.param(*rest, id=what) for what, *rest in texts()])
def test_an_output_follows_from_an_unwritten_variable(saved: Saved, text: str, follows: bool) -> None:
    path = saved(tflite(text, outputs=["y"]))
    with Child() as child:
        found = unwritten_outputs(path, child.load_tflite(path, "builtin").interface)
    assert ("y" in found) == follows


def test_what_another_signature_writes_is_not_there(saved: Saved) -> None:
    text = f"{READ}\nsubgraph writing:\n{HANDLE}\nASSIGN_VARIABLE(h, p[3])\nq[3] = NEG(p)"
    reading, writing = Signature("main", {"a": "x"}, {"b": "y"}), Signature("writing", {"c": "p"}, {"d": "q"})
    signatures = {"read": reading, "write": writing}
    path = saved(tflite(text, outputs=["y"], signatures=signatures))
    with Child() as child:
        for key, names in (("read", ["b"]), ("write", [])):
            session = child.load_tflite(path, "builtin", signature=key)
            assert list(unwritten_outputs(path, session.interface, key)) == names


# --- outputs that show nothing --------------------------------------------------------------------------------------


def test_an_output_that_is_nan_throughout_in_every_run_is_undecided_by_name(written: Written) -> None:
    text = "g (float[N] x) => (float[N] y, float[N] z) {{ z = Abs(x) n = Neg(z) m = Sub(n, one) y = {}(m) }}"
    one = np.float32([1])
    verdict = by_runs(written(text.format("Log"), one=one), written(text.format("Sqrt"), one=one))
    assert verdict.status == "undecided"
    assert verdict.reason == "in every run NaN throughout, so that nothing was compared: y"


@pytest.mark.ci
def test_a_run_that_shows_nothing_but_nan_is_undecided_beside_one_that_shows_numbers(
    written: Written, tmp_path: Path
) -> None:
    text = "g (float[2] x) => (float[2] y) { y = Log(x) }"
    model = written(text)
    for values, statuses, status in (([-1, -2], {"undecided"}, "undecided"), ([1, -2], {"equal"}, "equal")):
        np.savez(tmp_path / "x.npz", x=np.float32(values))
        verdict = by_runs(model, model, inputs=tmp_path / "x.npz")
        assert verdict.status == status
        assert {run.status for run in verdict.runs if run.optimizations == "off"} == statuses
    assert verify(model, model, inputs=tmp_path / "x.npz").status == "proved"


# --- the table and what is said -------------------------------------------------------------------------------------


def test_every_row_of_the_table_says_how_it_is_recognized_and_what_shows_it() -> None:
    keys = [(row.name, row.runtimes, row.operators) for row in exceptions.TABLE]
    assert len(set(keys)) == len(keys)
    body = ast.parse(inspect.getsource(exceptions)).body
    texts = {
        ast.unparse(row.targets[0]): ast.unparse(text) for row, text in pairwise(body) if isinstance(row, ast.Assign)
    }
    rows = {name: texts[name] for name, value in vars(exceptions).items() if isinstance(value, exceptions.Row)}
    assert len(rows) == len(exceptions.TABLE)
    assert all("Recognized by: " in text and "Evidence: " in text for text in rows.values())


def run(kernels: str, status: Literal["equal", "different", "undecided"] = "equal", **changes: object) -> Run:
    return replace(Run({"x[0]": 3}, "off", status, outputs=1, kernels=kernels), **changes)  # type: ignore[arg-type]


ALONE = run("xnnpack", "different")
SIBLINGS = (run("reference"), run("builtin"))


@pytest.mark.parametrize(
    ("runs", "excused"),
    [
        pytest.param((*SIBLINGS, ALONE), True, id="the others are equal"),
        pytest.param((run("reference", "undecided", outputs=0), run("builtin"), ALONE), True, id="one has no kernel"),
        pytest.param((run("reference"), run("builtin", "different"), ALONE), False, id="two differ"),
        pytest.param((*SIBLINGS, replace(ALONE, outputs=0)), False, id="it fails there"),
        pytest.param((*SIBLINGS, ALONE, run("builtin", "different", outputs=0)), False, id="another one fails"),
        pytest.param((*SIBLINGS, replace(ALONE, largest_difference=np.inf)), False, id="another shape"),
        pytest.param((ALONE,), False, id="no other ran"),
        pytest.param((*SIBLINGS, replace(ALONE, bindings={"x[0]": 0})), False, id="the others ran other sizes"),
        pytest.param((*SIBLINGS, replace(ALONE, signature="two")), False, id="the others ran another signature"),
        pytest.param((run(""), replace(ALONE, kernels="")), False, id="a runtime of one set"),
    ],
)
def test_a_difference_of_values_on_one_kernel_set_is_excused_where_the_proof_is_complete(
    saved: Saved, monkeypatch: pytest.MonkeyPatch, runs: tuple[Run, ...], excused: bool
) -> None:
    shown = Verdict("different", runs=runs, reason="only with XNNPACK: the outputs differ: y")
    monkeypatch.setattr(tflite_runs, "by_runs", lambda _task, _child: shown)
    before = saved(tflite("y[N,4] = ADD(x[N,4], b:const[4]{1.,2.,3.,4.})"))
    after = saved(tflite("y[N,4] = ADD(x[N,4], b:const[1,4]{1.,2.,3.,4.})"))
    other = saved(tflite("y[N,4] = ADD(x[N,4], b:const[4]{1.,2.,3.,5.})"))
    verdict = verify(before, after)
    assert verdict.status == ("proved" if excused else "different")
    assert [entry["class"] for entry in verdict.exceptions] == ["one-kernel-set"] * excused
    text = "only with XNNPACK: the outputs differ: y; 1 exception of the runtime: one-kernel-set at xnnpack"
    assert (text in verdict_text(verdict)) == excused
    assert verify(before, other).status == "different"


@pytest.mark.parametrize(
    ("runtime", "op", "excused"),
    [
        ("onnxruntime", "Add", True),
        ("onnxruntime", "Sub", False),
        ("onnxruntime", None, False),
        ("LiteRT", "MAXIMUM", False),
        ("XNNPACK", "MAXIMUM", False),
        ("XNNPACK", "ADD", False),
    ],
)
def test_a_sign_of_zero_is_excused_by_runtime_and_operator(
    runtime: exceptions.Runtime, op: str | None, excused: bool
) -> None:
    found = difference(np.float32([0, 1]), np.float32([-0.0, 1]), Criterion())
    assert found is not None
    assert exceptions.excused(found, runtime, op) == excused
    number = difference(np.float32([0, 1]), np.float32([-0.0, 2]), Criterion())
    assert number is not None
    assert not exceptions.excused(number, runtime, op)


@pytest.mark.ci
def test_a_difference_without_a_place_is_said_of_the_output(saved: Saved) -> None:
    def model(op: str) -> bytes:
        text = f"y[3] = ABS(x[3])\nsubgraph second:\nq[2] = {op}(p[2])"
        return tflite(text, signatures={"two": Signature("second", {"c": "p"}, {"d": "q"})})

    verdict = by_runs(saved(model("NEG")), saved(model("ABS")))
    assert verdict.first_difference is not None
    assert verdict.first_difference["producer"] == ""
    text = verdict_text(verdict)
    assert "the output 'd' differs (no tensor before it could be shown to) at [" in text
    assert "not found" not in text
