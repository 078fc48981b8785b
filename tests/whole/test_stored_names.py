"""Sizes that an ONNX file stores of inner values: proved, refuted, left out, or believed on request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
import pytest
from onnx import TensorProto, helper

import graphfix
from graphfix import api
from graphfix.formats.onnx.infer.analysis import analyse
from graphfix.results.claims import StoredSize
from tests.support import engine
from tests.support.checked import verify

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from graphfix.results import Outcome

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def counted(stored: str | int | None = "4*N", y: str = "4*N", output: str | None = None) -> onnx.ModelProto:
    """z[2,K] = Add(m[2,K], y[4 N]), where K counts the elements of x[N,4] that are not 0: all, and no rule knows that.

    `stored`: what the file says of K.
    """
    nodes = [
        helper.make_node("Abs", ["x"], ["a"]),
        helper.make_node("Add", ["a", "one"], ["b"]),
        helper.make_node("NonZero", ["b"], ["k"]),
        helper.make_node("Cast", ["k"], ["m"], to=FLOAT),
        helper.make_node("Reshape", ["x", "flat"], ["y"]),
        helper.make_node("Add", ["m", "y"], ["z"], name="sum"),
    ]
    constants = [
        helper.make_tensor("one", FLOAT, [1, 1], [1]),
        helper.make_tensor("flat", INT64, [1], [-1]),
    ]
    named = [
        helper.make_tensor_value_info("k", INT64, [2, stored]),
        helper.make_tensor_value_info("y", FLOAT, [y]),
    ]
    graph = helper.make_graph(
        nodes,
        "counted",
        [helper.make_tensor_value_info("x", FLOAT, ["N", 4])],
        [helper.make_tensor_value_info("z", FLOAT, [2, output])],
        constants,
        value_info=named,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def saved(folder: Path, model: onnx.ModelProto, name: str = "model") -> Path:
    path = folder / f"{name}.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def codes(outcome: Outcome) -> set[str]:
    return {site.code for site in outcome.sites}


def believed(outcome: Outcome) -> list[str]:
    return [text for text in outcome.assumes if text.startswith("the stored size of")]


def test_an_open_size_is_unknown_unless_it_is_trusted(tmp_path: Path) -> None:
    path = saved(tmp_path, counted())
    plain, trusting = api.check(path), api.check(path, trust_stored=True)
    assert "GF103" in codes(plain)
    assert believed(plain) == []
    assert "GF103" not in codes(trusting)
    assert believed(trusting) == ["the stored size of 'k'[1] in main is '4*N'"]


@pytest.mark.ci
def test_what_is_believed_is_proved_and_seen_by_the_runs(tmp_path: Path) -> None:
    path, after = saved(tmp_path, counted()), tmp_path / "after.onnx"
    outcome = api.fix_file(path, after, trust_stored=True)
    verdict = outcome.verdict
    assert verdict is not None
    assert verdict.status == "proved"
    assert verdict.facts is not None
    assert verdict.facts.contradicted == 0
    assert len({run.bindings["N"] for run in verdict.runs}) > 1
    assert "the stored size of 'k'[1] in main is '4*N'" in verdict.assumes
    assert not [node for node in onnx.load(after).graph.node if node.op_type in ("Max", "Where")]  # no size at run time
    assert "GF103" not in codes(api.check(after, trust_stored=True))


@pytest.mark.ci
@pytest.mark.parametrize("stored", ["4*N + 1", "2*N", "N", "-N", 12, "Max(8, 4*N)"])
def test_a_run_that_contradicts_what_is_believed_is_the_answer(tmp_path: Path, stored: str | int) -> None:
    path, after = saved(tmp_path, counted(stored)), tmp_path / "after.onnx"
    outcome = api.fix_file(path, after, trust_stored=True)
    assert outcome.verdict is not None
    assert outcome.verdict.status == "contradicted"
    assert f"'{stored}' of axis 1 of 'k'" in str(outcome.verdict.reason)
    assert "\n" not in str(outcome.verdict.reason)
    assert outcome.output is None
    assert not after.exists()


@pytest.mark.ci
def test_nothing_is_believed_unasked(tmp_path: Path) -> None:
    after = tmp_path / "after.onnx"
    outcome = api.fix_file(saved(tmp_path, counted("4*N + 1")), after)
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert believed(outcome) == []


@pytest.mark.ci
def test_verify_asks_the_runs_for_what_its_proof_believes(tmp_path: Path) -> None:
    honest, lying = saved(tmp_path, counted()), saved(tmp_path, counted("4*N + 1"), "lying")
    for path, status in ((honest, "proved"), (lying, "contradicted")):
        model = onnx.load(path)
        model.producer_name = "another"
        other = saved(tmp_path, model, f"{path.stem}_too")
        verdict = verify(path, other, trust_stored=True)
        assert verdict.status == status
        assert verify(path, other).status == "proved"


def test_the_proof_believes_the_first_file_alone(tmp_path: Path) -> None:
    before, after = counted(None), counted()
    node = after.graph.node[-1]
    after.graph.node.remove(node)
    after.graph.node.extend(
        [
            helper.make_node("Shape", ["m"], ["s"], start=1),
            helper.make_node("Reshape", ["y", "s"], ["r"]),  # y itself only where K is 4 N
            helper.make_node("Add", ["m", "r"], ["z"], name="sum"),
        ]
    )
    paths = saved(tmp_path, before), saved(tmp_path, after, "after")
    assert verify(*paths, proof="only", trust_stored=True).status == "undecided"
    told = saved(tmp_path, counted(), "told"), paths[1]
    assert verify(*told, proof="only").status == "undecided"
    verdict = verify(*told, proof="only", trust_stored=True)
    assert verdict.status == "proved"
    assert "the stored size of 'k'[1] in main is '4*N'" in verdict.assumes


# --- hypotheses ------------------------------------------------------------------------------------------------------

UNDERSTOOD = {
    "4*N": "4*N",
    "a sum": "3*N + N",
    "a rounded quotient": "8*N//2",
    "rounding down": "floor((8*N + 1)/2)",
    "rounding up": "ceiling((8*N - 1)/2)",
    "the greater": "Max(1, 4*N, 2)",
    "the lesser": "Min(4*N, 5*N)",
    "a rest": "4*N + Mod(2*N, 2)",
    "a power": "(N + 2)**2 - N**2 - 4",
    "a sign": "-(-4*N)",
}


@pytest.mark.parametrize("text", UNDERSTOOD.values(), ids=UNDERSTOOD)
def test_what_exporters_write_is_understood(tmp_path: Path, text: str) -> None:
    model = counted(text)
    facts = analyse(model, {}, trust=True)
    assert facts.believed == [StoredSize("k", 1, text)]
    path = saved(tmp_path, model)
    verdict = api.fix_file(path, tmp_path / "after.onnx", trust_stored=True).verdict
    assert verdict is not None
    assert verdict.status in ("proved", "equal")


LEFT_OUT = [
    "unk__7",
    "u0",
    "N + u0",
    "batch size",
    "N if N else 2",
    "f(N)",
    "2x",
    "N/0",
    "N//0",
    "(",
    "N.x",
    "True",
    "1e3",
    "N, N",
]


@pytest.mark.ci
@pytest.mark.parametrize("text", LEFT_OUT)
def test_what_is_not_understood_is_left_out(tmp_path: Path, text: str) -> None:
    path, after = saved(tmp_path, counted(text)), tmp_path / "after.onnx"
    outcome = api.fix_file(path, after, trust_stored=True)
    assert believed(outcome) == []
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"


@pytest.mark.parametrize(
    ("stored", "why"),
    [
        ("4*N", None),
        ("N + 3*N", None),
        ("4*N + 1", "the stored size '4*N + 1' of 'y'[0] contradicts the computed 4*{N}"),
        ("N", "the stored size 'N' of 'y'[0] contradicts the computed 4*{N}"),
        ("4*N + N//100000000", None),  # the same at all sizes that are tried
        ("Max(16, 4*N)", None),  # and at some
        ("u0", None),
    ],
)
def test_a_name_that_is_refuted_is_reported(tmp_path: Path, stored: str, why: str | None) -> None:
    outcome = api.check(saved(tmp_path, counted(y=stored)))
    assert [site.reason for site in outcome.sites if site.code == "GF204"] == ([why] if why else [])
    trusting = api.check(saved(tmp_path, counted(y=stored)), trust_stored=True)
    assert not why or not any("'y'" in text for text in believed(trusting))


def test_a_name_of_another_input_relates_sizes_and_is_not_refuted(tmp_path: Path) -> None:
    path = saved(tmp_path, counted(y="M"))
    model = onnx.load(path)
    model.graph.input.append(helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["M"]))
    onnx.save(model, path)
    assert not [site for site in api.check(path).sites if site.code == "GF204"]


@pytest.mark.ci
def test_a_refuted_name_does_not_keep_from_planning(tmp_path: Path) -> None:
    outcome = api.fix_file(saved(tmp_path, counted(y="N")), tmp_path / "after.onnx")
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert [site.status for site in outcome.sites if site.code == "GF204"] == ["changed"]


def test_names_that_hold_below_a_bound_are_not_refuted() -> None:
    nodes = [helper.make_node("Slice", ["table", "zero", "n", "zero"], ["y"])]
    nodes.insert(0, helper.make_node("Shape", ["x"], ["n"]))
    graph = helper.make_graph(
        nodes,
        "bounded",
        [helper.make_tensor_value_info("x", FLOAT, ["N"])],
        [helper.make_tensor_value_info("y", FLOAT, ["N"])],
        [helper.make_tensor("table", FLOAT, [16], [0.0] * 16), helper.make_tensor("zero", INT64, [1], [0])],
    )
    facts = analyse(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), {}, trust=True)
    assert facts.main.misstated == {}
    assert facts.believed == [StoredSize("y", 0, "N")]  # and min(16, N) where nothing is trusted


@pytest.mark.parametrize(
    "asked", [{"dims": {"N": 3}}, {"shapes": {"x": (3, 4)}}, {"dims": {"N": (2, 9)}}], ids=["dim", "shape", "range"]
)
def test_names_follow_the_sizes_that_are_bound(tmp_path: Path, asked: Mapping[str, Mapping[str, str]]) -> None:
    after = tmp_path / "after.onnx"
    outcome = api.fix_file(saved(tmp_path, counted()), after, trust_stored=True, **asked)  # type: ignore[arg-type]
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert "GF103" not in codes(outcome)


def test_what_no_runtime_runs_is_planned_by_what_is_asked_for(tmp_path: Path) -> None:
    """Nobody sees the sizes: they are listed as assumed."""
    model = counted()
    model.opset_import.append(helper.make_opsetid("custom", 1))
    model.graph.node.append(helper.make_node("Odd", ["z"], ["w"], domain="custom"))
    model.graph.output.append(helper.make_tensor_value_info("w", FLOAT, None))
    outcome = api.fix_file(saved(tmp_path, model), tmp_path / "after.onnx", trust_stored=True)
    assert believed(outcome) == ["the stored size of 'k'[1] in main is '4*N'"]
    assert "GF103" not in codes(outcome)


def test_in_tflite_there_is_nothing_to_trust() -> None:
    path = "models/prelu.tflite"
    plain, trusting = (api.check(path, trust_stored=trust) for trust in (False, True))
    assert plain.sites == trusting.sites
    assert plain.assumes == trusting.assumes


def test_show_prints_what_is_believed(tmp_path: Path) -> None:
    path = saved(tmp_path, counted("N"))
    assert any("k[2,?] =" in line for line in graphfix.show(path))
    assert any("k[2,N] =" in line for line in graphfix.show(path, trust_stored=True))


def test_a_size_that_two_others_leave_open_is_believed_of_their_sum() -> None:
    """The sum is an operator without attributes, whose answer is looked up."""
    nodes = [helper.make_node("NonZero", [name], [f"{name}_at"]) for name in "xy"]
    nodes += [helper.make_node("Cast", [f"{name}_at"], [f"{name}_float"], to=FLOAT) for name in "xy"]
    nodes.append(helper.make_node("Add", ["x_float", "y_float"], ["sum"]))
    nodes.append(helper.make_node("Neg", ["sum"], ["out"]))
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, FLOAT, ["N", 4]) for name in "xy"],
        [helper.make_tensor_value_info("out", FLOAT, [2, None])],
        value_info=[helper.make_tensor_value_info("sum", FLOAT, [2, "N"])],
    )
    opened = engine.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))
    opened.trust_stored(trust=True)
    assert opened.believed == [StoredSize("sum", 1, "N")]
