"""UNIDIRECTIONAL_SEQUENCE_LSTM as its steps: what LiteRT returns for both forms, what is proved, what stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ai_edge_litert.schema_py_generated as schema
import flatbuffers
import numpy as np
import pytest

import graphfix
from graphfix.tosa.command import tosa_file
from tests.support import engine
from tests.support.checked import verify
from tests.support.runtimes.tosa_loop import litert_reference, needs_tools, tflite

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from graphfix.results import Outcome

BATCH, STEPS, INPUTS, HIDDEN = 2, 3, 5, 4


def constant(name: str, *sizes: int) -> str:
    values = np.random.default_rng(sum(map(ord, name))).uniform(-1, 1, sizes).ravel()
    return f"{name}:const[{','.join(map(str, sizes))}]{{{','.join(f'{value:.4f}' for value in values)}}}"


def text(*, time_major: bool, steps: int = STEPS, options: str = "", **operands: str) -> str:
    """A model of one operator; `operands` stand at their place."""
    shape = f"{steps},{BATCH}" if time_major else f"{BATCH},{steps}"
    given = {f"o{at}": "" for at in range(24)}
    given |= {f"o{at}": constant(f"w{at}", HIDDEN, INPUTS) for at in range(1, 5)}
    given |= {f"o{at}": constant(f"r{at}", HIDDEN, HIDDEN) for at in range(5, 9)}
    given |= {f"o{at}": constant(f"b{at}", HIDDEN) for at in range(12, 16)}
    given |= {
        "o0": f"x[{shape},{INPUTS}]",
        "o18": f"h:variable[{BATCH},{HIDDEN}]",
        "o19": f"c:variable[{BATCH},{HIDDEN}]",
    }
    listed = ", ".join((given | operands).values())
    said = options or "fused_activation_function=TANH"
    return f"y[{shape},{HIDDEN}] = UNIDIRECTIONAL_SEQUENCE_LSTM({listed}, {said}, time_major={time_major})"


def prove(before: Path, after: Path) -> str:
    proof = verify(before, after, proof="only").proof
    assert proof is not None
    return str(proof["status"])


def written(folder: Path, model: str) -> tuple[Path, Path, Outcome]:
    before, after = tflite(folder, model), folder / "after.tflite"
    return before, after, graphfix.fix_file(before, after, target="tosa")


@pytest.mark.parametrize(("time_major", "steps"), [(True, STEPS), (False, STEPS), (False, 1)])
def test_the_steps_compute_the_same_numbers(*, time_major: bool, steps: int, tmp_path: Path) -> None:
    before, after = tflite(tmp_path, text(time_major=time_major, steps=steps)), tmp_path / "after.tflite"
    loaded = engine.load(before)
    assert engine.fix(loaded, target="tosa").rewrites["unroll-recurrence"] == 1
    after.write_bytes(loaded.tobytes())
    x = np.random.default_rng(2).uniform(-2, 2, (steps, BATCH, INPUTS) if time_major else (BATCH, steps, INPUTS))
    want, got = (litert_reference(path, {"x": x.astype(np.float32)})["y"] for path in (before, after))
    np.testing.assert_allclose(got, want, atol=1e-6)


@pytest.mark.ci
@pytest.mark.parametrize("steps", [1, STEPS])
@pytest.mark.parametrize("time_major", [True, False])
def test_it_is_proved_but_for_its_rounding_and_held_to_it(*, time_major: bool, steps: int, tmp_path: Path) -> None:
    before, after, outcome = written(tmp_path, text(time_major=time_major, steps=steps))
    assert outcome.rewrites["unroll-recurrence"] == 1
    assert outcome.verdict is not None
    assert (outcome.verdict.status, outcome.verdict.proof["status"]) == ("equal", "bounded")  # type: ignore[index]  # it was asked
    assert any("states of UNIDIRECTIONAL_SEQUENCE_LSTM at zero" in line for line in outcome.verdict.proof["assumes"])  # type: ignore[index]  # as above
    x = np.random.default_rng(1).uniform(-2, 2, (steps, BATCH, INPUTS) if time_major else (BATCH, steps, INPUTS))
    want, got = (litert_reference(path, {"x": x.astype(np.float32)})["y"] for path in (before, after))
    np.testing.assert_allclose(got, want, atol=1e-6)
    assert not graphfix.fix_file(after, tmp_path / "again.tflite", target="tosa").changed


@pytest.mark.ci
@needs_tools
def test_tosa_computes_the_same(tmp_path: Path) -> None:
    outcome = tosa_file(tflite(tmp_path, text(time_major=False)), tmp_path / "m.tosa", run=True)
    assert outcome.conversion is not None
    assert (outcome.conversion.status, outcome.conversion.reason) == ("agrees", None)


STAYING = {
    "coupled gates": ({"o1": "", "o5": "", "o12": ""}, "", "coupled gates"),
    "peepholes": ({f"o{at}": constant(f"p{at}", HIDDEN) for at in (9, 10, 11)}, "", "peepholes"),
    "a clip": ({}, "fused_activation_function=TANH, cell_clip=0.5", "clip"),
    "another activation": ({}, "fused_activation_function=RELU6", "TANH"),
    "too many steps": ({"steps": 200}, "", "4096"),
}


@pytest.mark.parametrize("case", STAYING)
def test_what_stays_is_named_with_its_reason(case: str, tmp_path: Path) -> None:
    operands, options, word = STAYING[case]
    model = tflite(tmp_path, text(time_major=True, options=options, **operands))  # type: ignore[arg-type]  # the steps too
    (site,) = graphfix.check(model, target="tosa").sites
    assert (site.code, site.blocks) == ("GF305", True)
    assert word in str(site.reason)


TWICE = text(time_major=True).replace("y[", "z[").replace("x[", "v[")
SHARED = {
    "two operators of the same states": (f"{text(time_major=True)}\n{TWICE}", 2),
    "a state that is read by another operator": (f"{text(time_major=True)}\nz[{BATCH},{HIDDEN}] = ADD(h, h)", 1),
    "both states are one": (text(time_major=True, o19="h"), 1),
}


@pytest.mark.parametrize("case", SHARED)
def test_states_that_something_else_reads_stay_and_the_file_is_written(case: str, tmp_path: Path) -> None:
    """In one run, not only in the next, they hold what another operator reads: zeros are not their values."""
    model, count = SHARED[case]
    _, after, outcome = written(tmp_path, model)
    assert outcome.rewrites["unroll-recurrence"] == 0
    assert [site.code for site in outcome.sites if site.op == "UNIDIRECTIONAL_SEQUENCE_LSTM"] == ["GF305"] * count
    assert all("nothing else reads" in str(site.reason) for site in outcome.sites if site.code == "GF305")
    assert after.exists()


BODY = text(time_major=True).replace(f"x[{STEPS},{BATCH},{INPUTS}]", "u").replace("y[", "w[")
LOOP = f"""
subgraph main(i0:int32[], u0[{STEPS},{BATCH},{INPUTS}], w0[{STEPS},{BATCH},{HIDDEN}]) -> y:
n:int32[], v[{STEPS},{BATCH},{INPUTS}], y[{STEPS},{BATCH},{HIDDEN}] = WHILE(i0, u0, w0, cond=test, body=turn)
subgraph test(i:int32[], u[{STEPS},{BATCH},{INPUTS}], q[{STEPS},{BATCH},{HIDDEN}]) -> b:
b:bool[] = LESS(i, most:const:int32[]{{2}})
subgraph turn(i:int32[], u[{STEPS},{BATCH},{INPUTS}], q[{STEPS},{BATCH},{HIDDEN}]) -> k, u, w:
k:int32[] = ADD(i, one:const:int32[]{{1}})
{BODY}
"""


def test_the_body_of_a_loop_keeps_its_states_from_trip_to_trip(tmp_path: Path) -> None:
    sites = graphfix.check(tflite(tmp_path, LOOP), target="tosa").sites
    (site,) = [site for site in sites if site.op == "UNIDIRECTIONAL_SEQUENCE_LSTM"]
    assert (site.code, site.blocks) == ("GF305", True)
    assert "main graph" in str(site.reason)


# --- what is no unrolled form ---------------------------------------------------------------------------------------


def changed(path: Path, change: Callable[[schema.SubGraphT, list[str]], None]) -> None:
    """Change the operators of a file, whose names are given beside."""
    model = schema.ModelT.InitFromPackedBuf(path.read_bytes(), 0)
    names = {number: name for name, number in vars(schema.BuiltinOperator).items() if isinstance(number, int)}
    codes = [names[max(code.builtinCode, code.deprecatedBuiltinCode)] for code in model.operatorCodes]
    graph = model.subgraphs[0]
    change(graph, [codes[operator.opcodeIndex] for operator in graph.operators])
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    path.write_bytes(bytes(builder.Output()))


def gates_swapped(graph: schema.SubGraphT, names: list[str]) -> None:
    first, second = [at for at, name in enumerate(names) if name == "LOGISTIC"][:2]
    one, two = graph.operators[first], graph.operators[second]
    one.inputs, two.inputs = two.inputs, one.inputs


def steps_swapped(graph: schema.SubGraphT, names: list[str]) -> None:
    joined = graph.operators[names.index("CONCATENATION")]
    joined.inputs = [joined.inputs[1], joined.inputs[0], *joined.inputs[2:]]


def the_wrong_activation(graph: schema.SubGraphT, names: list[str]) -> None:
    graph.operators[names.index("TANH")].opcodeIndex = graph.operators[names.index("LOGISTIC")].opcodeIndex


@pytest.mark.ci
@pytest.mark.parametrize(
    "fault", [gates_swapped, steps_swapped, the_wrong_activation], ids=lambda fault: fault.__name__
)
def test_a_wrong_form_is_not_proved(fault: Callable[[schema.SubGraphT, list[str]], None], tmp_path: Path) -> None:
    before, after, _ = written(tmp_path, text(time_major=True))
    assert prove(before, after) == "bounded"
    changed(after, fault)
    assert prove(before, after) == "not proved"


def test_a_state_that_something_else_reads_is_kept(tmp_path: Path) -> None:
    """Where it stands among others counts then."""
    model = text(time_major=True)
    other = model.replace("y[", "z[").replace("x[", "v[")
    before, after = tmp_path / "before.tflite", tmp_path / "after.tflite"
    before.write_bytes(tflite(tmp_path, f"{model}\n{other}").read_bytes())
    after.write_bytes(tflite(tmp_path, f"{other}\n{model}").read_bytes())
    assert prove(before, after) == "not proved"
