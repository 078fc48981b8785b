"""What the checker says of two TFLite files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from graphfix.checker.runs.tflite.kernel_run import KernelRun
from graphfix.checker.runs.tflite.verdict import _only
from graphfix.report.forms import registry
from graphfix.report.verdict import verdict_text
from graphfix.results import GraphfixError, Outcome, Verdict
from graphfix.runtimes.litert.evaluation import KERNELS
from models.builders.grammar import constant
from models.builders.tflite.text import Quantized, Signature
from models.builders.tflite.text import model as tflite
from tests.support.by_runs import verify

Saved = Callable[[bytes], Path]
BIAS = np.float32([1, 2, 3, 4])


def add(bias: np.ndarray = BIAS, *, x: str = "x[N,4]", y: str = "y[N,4]") -> bytes:
    """A model of a sum: t = |x|, y = t + bias."""
    return tflite(f"t{x[1:]} = ABS({x})\n{y} = ADD(t, {constant('b', bias)})")


def reshaped(literal: list[int]) -> bytes:
    """A RESHAPE of x[?,4] to what `literal` says."""
    return tflite(f"y[N,2,2] = RESHAPE(x[N,4], {constant('s', np.int32(literal))}, new_shape={literal})")


def statuses(verdict: Verdict) -> dict[str, set[str]]:
    """Give kernel set -> the statuses of its runs."""
    return {kernels: {run.status for run in verdict.runs if run.kernels == kernels} for kernels in KERNELS}


def test_a_lifted_constant_is_equal_on_every_kernel_set_over_swept_sizes(saved: Saved) -> None:
    verdict = verify(saved(add()), saved(add(BIAS[None])))
    assert verdict.status == "equal"
    swept = [{"x[0]": 3}, {"x[0]": 1}, {"x[0]": 2}, {"x[0]": 0}]
    for kernels in KERNELS:
        assert [dict(run.bindings) for run in verdict.runs if run.kernels == kernels] == swept
    assert {run.status for run in verdict.runs} == {"equal"}
    assert verdict.versions.keys() == {"numpy", "ai-edge-litert"}
    assert verdict_text(verdict).startswith("equal: 1 output bit-equal over 4 runs on 3 kernel sets (ai-edge-litert ")


def test_the_report_tells_the_kernel_sets(saved: Saved) -> None:
    verdict = verify(saved(add()), saved(add()), runs=1)
    text = registry.TEXTS["markdown"]([Outcome("verify", "a.tflite", "tflite", output="b.tflite", verdict=verdict)])
    assert "| sizes | kernels | status |" in text
    assert "| x[0]=3 | xnnpack | equal | 1 |" in text


@pytest.mark.ci
def test_one_flipped_bit_of_a_constant_is_a_difference_at_its_operator(saved: Saved) -> None:
    flipped = BIAS.copy()
    flipped.view(np.uint32)[2] ^= 1
    verdict = verify(saved(add()), saved(add(flipped)))
    assert verdict.status == "different"
    assert verdict.first_difference is not None
    assert verdict.first_difference["tensor"] == "y"
    assert verdict.first_difference["producer"] == "ADD#1"
    assert verdict.first_difference["index"][-1] == 2
    assert verdict.reason == "the outputs differ: y"
    assert statuses(verdict)["xnnpack"] >= {"different"}


@pytest.mark.ci
def test_the_first_of_several_differing_tensors_is_named(saved: Saved) -> None:
    def model(first: str) -> bytes:
        return tflite(f"t[N,4] = {first}(x[N,4])\nu[N,4] = NEG(t)\ny[N,4] = NEG(u)")

    verdict = verify(saved(model("ABS")), saved(model("NEG")))
    assert verdict.first_difference is not None
    assert (verdict.first_difference["tensor"], verdict.first_difference["producer"]) == ("t", "ABS#0")


@pytest.mark.ci
@pytest.mark.parametrize("lost", ["operand", "operator", "swapped"])
def test_a_changed_graph_is_a_difference(saved: Saved, lost: str) -> None:
    def model(operation: str) -> bytes:
        return tflite(f"subgraph main(x[N,4], z[N,4]):\ny[N,4] = {operation}")

    good = model("SUB(x, z)")
    bad = {"operand": model("SUB(x, x)"), "operator": model("ADD(x, z)"), "swapped": model("SUB(z, x)")}
    assert verify(saved(good), saved(bad[lost])).status == "different"


@pytest.mark.ci
def test_a_reshape_with_a_literal_batch_is_a_difference_where_the_originals_is_free(saved: Saved) -> None:
    verdict = verify(saved(reshaped([-1, 2, 2])), saved(reshaped([1, 2, 2])))
    assert verdict.status == "different"
    assert verdict.reason is not None
    assert "the second model fails where the first runs" in verdict.reason


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (add(y="z[N,4]"), "the outputs differ: [y] only in the first, [z] only in the second"),
        (add(x="w[N,4]"), "the inputs differ: [x] only in the first, [w] only in the second"),
        (add(x="x[N,5]", y="y[N,5]", bias=np.float32([1])), "the input 'x'"),
    ],
    ids=["output name", "input name", "size"],
)
def test_another_interface_is_a_difference(saved: Saved, change: bytes, said: str) -> None:
    verdict = verify(saved(add()), saved(change))
    assert verdict.status == "different"
    assert verdict.reason is not None
    assert said in verdict.reason
    assert verdict.runs == ()


@pytest.mark.ci
def test_what_the_runs_return_counts_where_an_output_is_declared_otherwise(saved: Saved) -> None:
    right, wrong = add(), add(y="y[N,1,4]")
    assert verify(saved(right), saved(wrong)).status == "equal"
    assert verify(saved(wrong), saved(right)).status == "equal"


def quantized(scale: float) -> bytes:
    return tflite("y:int8[2,3] = RELU(x:int8[2,3])", quantization=dict.fromkeys("xy", Quantized(scale, 1)))


def test_another_quantization_or_type_of_an_input_is_a_difference(saved: Saved) -> None:
    verdict = verify(saved(quantized(0.5)), saved(quantized(0.25)))
    assert verdict.status == "different"
    assert "the input 'x' has another quantization" in str(verdict.reason)
    plain = tflite("y:int32[2,3] = ABS(x:int32[2,3])")
    assert "is tensor of int8 in the first, tensor of int32" in str(verify(saved(quantized(0.5)), saved(plain)).reason)


@pytest.mark.ci
def test_quantized_inputs_take_the_whole_range_of_their_type(saved: Saved) -> None:
    """Two clamps that differ for the largest numbers only."""

    def model(op: str) -> bytes:
        return tflite(f"y:int8[64] = {op}(x:int8[64])", quantization=dict.fromkeys("xy", Quantized(1 / 8)))

    # RELU6 clamps at 6.0 = 48 of 127, beyond what small integers reach
    assert verify(saved(model("RELU")), saved(model("RELU6"))).status == "different"


@pytest.mark.ci
def test_an_operator_that_aborts_is_undecided_by_its_name(saved: Saved) -> None:
    model = tflite("""
        t[1,2,1,2,1,2,1,2,1] = NEG(x[1,2,1,2,1,2,1,2,1])
        y[2,2,2,2,2,2,2,2,2] = ADD(t, b[2,1,2,1,2,1,2,1,2])
    """)
    verdict = verify(saved(model), saved(model))
    assert verdict.status == "undecided"
    assert verdict.reason is not None
    assert "LiteRT aborts the process (SIG" in verdict.reason
    assert verdict.reason.endswith(" at ADD#1")
    assert {run.status for run in verdict.runs} == {"undecided"}


def test_a_kernel_set_without_the_operator_does_not_decide(saved: Saved) -> None:
    """The reference kernels know TILE up to version 2."""
    model = tflite("y:int32[6] = TILE(x:int32[2], m:const:int32{3}, version=3)")
    verdict = verify(saved(model), saved(model))
    assert verdict.status == "equal"
    assert statuses(verdict) == {"reference": {"undecided"}, "builtin": {"equal"}, "xnnpack": {"equal"}}
    assert "over 4 runs on 2 kernel sets" in verdict_text(verdict)


def test_unstable_outputs_are_undecided_by_name(saved: Saved) -> None:
    text = "r[5] = RANDOM_UNIFORM(s:const:int32{5}, seed=0, seed2=0)\ny[5] = ABS(x[5])"
    model = tflite(text, outputs=["y", "r"])
    verdict = verify(saved(model), saved(model))
    assert verdict.status == "undecided"
    assert verdict.reason == "two runs of the first model itself differ in: r"


@pytest.mark.ci
def test_a_kernel_that_reads_past_its_operand_is_unstable_and_not_different(saved: Saved) -> None:
    """ATAN2 does not look at the sizes of its second operand; what lies behind it changes with each loading."""
    text = "subgraph main(x[4,4], z[1,1]):\ny[4,4] = ATAN2({})"
    model = tflite(text.format("x, z"))
    verdict = verify(saved(model), saved(model))
    assert verdict.status in ("undecided", "equal")  # as it happens to find the same there, or not
    other = tflite(text.format("z, x"))
    verdict = verify(saved(model), saved(other))
    assert verdict.status == "undecided"
    assert verdict.reason in (
        "ATAN2#0 reads past the end of an operand, and does not determine: y",
        "two runs of the first model itself differ in: y",
    )


@pytest.mark.ci
def test_a_difference_behind_a_variable_is_placed(saved: Saved) -> None:
    """A resource has no values to compare, and asking LiteRT for them ends the process."""

    def model(bias: float) -> Path:
        text = f"""
        h:resource[] = VAR_HANDLE(container='', shared_name='v')
        ASSIGN_VARIABLE(h, x[2])
        t[2] = READ_VARIABLE(h)
        y[2] = ADD(t, b:const:float32[1]{{{bias}}})
        """
        return saved(tflite(text, outputs=["y", "h"]))

    assert verify(model(1), model(1)).status == "equal"
    first = verify(model(1), model(2)).first_difference
    assert first is not None
    assert first["producer"] == "ADD#3"


@pytest.mark.ci
def test_a_seeded_random_operator_is_compared(saved: Saved) -> None:
    def model(seed: int) -> Path:
        return saved(tflite(f"r[N] = RANDOM_UNIFORM(s:int32[1], seed={seed}, seed2=4)"))

    assert verify(model(3), model(3)).status == "equal"
    assert verify(model(3), model(5)).status == "different"


@pytest.mark.ci
def test_strings_are_fed_and_compared(saved: Saved) -> None:
    def model(shape: list[int]) -> bytes:
        return tflite(f"y:string[N,1] = RESHAPE(x:string[N], {constant('s', np.int32(shape))})")

    assert verify(saved(model([-1, 1])), saved(model([-1, 1]))).status == "equal"
    assert verify(saved(model([-1, 1])), saved(model([1, -1]))).status == "different"


@pytest.mark.ci
@pytest.mark.parametrize(("op", "status"), [("EQUAL", "equal"), ("NOT_EQUAL", "different")])
def test_single_strings_are_fed(saved: Saved, op: str, status: str) -> None:
    before, after = (tflite(f"y:bool[] = {each}(x:string[], z:string[])") for each in ("EQUAL", op))
    assert verify(saved(before), saved(after)).status == status


@pytest.mark.ci
def test_integers_that_index_stay_inside_what_they_index(saved: Saved) -> None:
    """The index goes through a CAST and a constant before it reaches a table of 3 rows."""

    def model(row: float) -> bytes:
        return tflite(f"""
        c:int32[N] = CAST(i:int64[N])
        j:int32[N] = ADD(c, k:const:int32{{1}})
        y[N,2] = GATHER(table:const:float32[3,2]{{1,2,3,4,5,{row}}}, j)
        """)

    verdict = verify(saved(model(6)), saved(model(6)))
    assert verdict.status == "equal"
    assert {run.status for run in verdict.runs} == {"equal"}
    assert verify(saved(model(6)), saved(model(7))).status == "different"  # so the last row is reached


@pytest.mark.ci
@pytest.mark.parametrize("factor", ["0.25", "10.0"])
def test_floats_that_become_an_index_reach_the_last_row(saved: Saved, factor: str) -> None:
    def model(row: float) -> bytes:
        return tflite(f"""
        s[N] = MUL(x[N], k:const:float32{{{factor}}})
        f[N] = FLOOR(s)
        j:int32[N] = CAST(f)
        y[N,2] = GATHER(table:const:float32[5,2]{{1,2,3,4,5,6,7,8,9,{row}}}, j)
        """)

    verdict = verify(saved(model(6)), saved(model(6)))
    assert {run.status for run in verdict.runs} == {"equal"}
    assert verify(saved(model(6)), saved(model(7))).status == "different"


@pytest.mark.ci
@pytest.mark.parametrize(
    "index",
    [
        (
            "n:bool[N] = LESS(i:int32[N], z:const:int32{0})\na:int32[N] = ADD(i, f:const:int32{5})\n"
            "j:int32[N] = SELECT_V2(n, a, i)"
        ),
        "r[N] = RELU(x[N])\nj:int32[N] = CAST(r)",
    ],
    ids=["counted from the end where it is negative", "not below 0"],
)
def test_an_index_that_is_made_positive_reaches_the_last_row(index: str, saved: Saved) -> None:
    """Only row 0 was compared."""

    def model(row: float) -> bytes:
        return tflite(f"{index}\ny[N,2] = GATHER(table:const:float32[5,2]{{1,2,3,4,5,6,7,8,9,{row}}}, j)")

    verdict = verify(saved(model(6)), saved(model(6)))
    assert {run.status for run in verdict.runs} == {"equal"}
    assert verify(saved(model(6)), saved(model(7))).status == "different"


def test_sizes_of_zero_that_a_kernel_set_refuses_do_not_decide(saved: Saved) -> None:
    model = add()
    verdict = verify(saved(model), saved(model), bindings={"x[0]": 0})
    assert verdict.status in ("equal", "undecided")
    assert {dict(run.bindings)["x[0]"] for run in verdict.runs} == {0}


def two_signatures(second: str) -> bytes:
    return tflite(
        f"y[N,4] = ABS(x[N,4])\nsubgraph second:\nq[N,2] = {second}(p[N,2])",
        signatures={
            "one": Signature("main", {"in": "x"}, {"out": "y"}),
            "two": Signature("second", {"c": "p"}, {"d": "q"}),
        },
    )


@pytest.mark.ci
def test_every_signature_is_run_under_its_name(saved: Saved) -> None:
    verdict = verify(saved(two_signatures("NEG")), saved(two_signatures("NEG")))
    assert verdict.status == "equal"
    assert {(run.kernels, run.signature) for run in verdict.runs} == {(k, s) for k in KERNELS for s in ("", "two")}
    different = verify(saved(two_signatures("NEG")), saved(two_signatures("ABS")))
    assert different.status == "different"
    assert different.reason == "signature 'two': the outputs differ: d"


def test_another_name_in_a_signature_is_a_difference(saved: Saved) -> None:
    def model(name: str, key: str) -> Path:
        signatures = {key: Signature("main", {name: "x"}, {"out": "y"})}
        return saved(tflite("y[N,4] = ABS(x[N,4])", signatures=signatures))

    assert "calls 'x' 'a' in the first, 'b'" in str(verify(model("a", "k"), model("b", "k")).reason)
    assert "the signatures differ: k (subgraph 0) in the first, l" in str(
        verify(model("a", "k"), model("a", "l")).reason
    )


def custom(*, options: bytes = b"", bias: float = 1, last: str = "NEG") -> bytes:
    return tflite(f"""
    t[N,4] = ADD(x[N,4], b:const:float32[1]{{{bias}}})
    u[N,4] = CUSTOM.own.Frob(t, custom_options={options!r})
    y[N,4] = {last}(u)
    """)


@pytest.mark.ci
def test_a_custom_operator_that_litert_does_not_know_is_cut_out_of_both(saved: Saved) -> None:
    verdict = verify(saved(custom()), saved(custom()))
    assert verdict.status == "equal"
    assert verdict.assumes == (
        "the custom operator 'own.Frob' returns the same results for the same operands (LiteRT has no kernel for it)",
    )
    whole = [run for run in verdict.runs if run.status == "undecided"]
    assert {run.kernels for run in whole} == set(KERNELS)
    assert all("'own.Frob'" in str(run.reason) for run in verdict.runs)


@pytest.mark.ci
@pytest.mark.parametrize("change", [{"bias": 2}, {"last": "ABS"}], ids=["before it", "behind it"])
def test_a_change_around_a_custom_operator_is_a_difference(saved: Saved, change: dict[str, object]) -> None:
    assert verify(saved(custom()), saved(custom(**change))).status == "different"


def test_custom_operators_that_are_not_alike_are_undecided(saved: Saved) -> None:
    verdict = verify(saved(custom(options=b"a")), saved(custom(options=b"b")))
    assert verdict.status == "undecided"
    assert verdict.reason is not None
    assert "'own.Frob'" in verdict.reason
    assert "do not have it alike" in verdict.reason
    assert verdict.assumes == ()


def stretched(times: int, other: str = "MAXIMUM") -> bytes:
    """MAXIMUM(k, SQRT(x)), where negative numbers make NaN; k[1,1] is stretched by a TILE `times` times an axis."""
    return tflite(f"""
    r[4,4] = SQRT(x[4,4])
    l[{times},{times}] = TILE(k[1,1], m:const:int32{{{times},{times}}})
    y[4,4] = {other}(l, r)
    """)


@pytest.mark.ci
def test_xnnpacks_own_way_with_nan_is_a_difference(saved: Saved) -> None:
    verdict = verify(saved(stretched(1)), saved(stretched(4)))
    assert verdict.status == "different"
    assert {run.kernels for run in verdict.runs if run.status == "different"} == {"xnnpack"}


@pytest.mark.ci
def test_a_number_against_a_number_is_no_exception(saved: Saved) -> None:
    verdict = verify(saved(stretched(1)), saved(stretched(4, "MINIMUM")))
    assert verdict.status == "different"


def test_a_difference_of_one_kernel_set_names_it() -> None:
    kernel_runs = [KernelRun(kernels, "", Verdict("equal"), cases=()) for kernels in KERNELS]
    kernel_runs[2] = replace(kernel_runs[2], verdict=Verdict("different", reason="the outputs differ: y"))
    assert _only(kernel_runs, kernel_runs[2]) == "only with XNNPACK: "
    kernel_runs[1] = replace(kernel_runs[1], verdict=kernel_runs[2].verdict)
    assert _only(kernel_runs, kernel_runs[1]) == "only with the builtin kernels and XNNPACK: "


@pytest.mark.ci
def test_inputs_from_a_file_are_named_as_tensors_or_as_the_signature_does(saved: Saved, tmp_path: Path) -> None:
    flipped = BIAS.copy()
    flipped[3] = 5
    a, b = (
        tflite(
            f"y[N,4] = ADD(x[N,4], {constant('b', bias)})",
            signatures={"main": Signature("main", {"picture": "x"}, {"sum": "y"})},
        )
        for bias in (BIAS, flipped)
    )
    for name in ("x", "picture"):
        path = tmp_path / f"{name}.npz"
        np.savez(path, **{name: np.float32([[1, 2, 3, 4]])})
        assert verify(saved(a), saved(a), inputs=path).status == "equal"
        first = verify(saved(a), saved(b), inputs=path).first_difference
        assert first is not None
        assert (first["before"], first["after"], first["index"]) == (8.0, 9.0, [0, 3])
    np.savez(tmp_path / "wrong.npz", z=np.float32([1]))
    with pytest.raises(GraphfixError, match="no input 'z'"):
        verify(saved(a), saved(a), inputs=tmp_path / "wrong.npz")


@pytest.mark.ci
def test_a_bound_second_model_is_compared_at_its_sizes(saved: Saved) -> None:
    bound = add(x="x[3,4]", y="y[3,4]")
    verdict = verify(saved(add()), saved(bound), bindings={"x[0]": 3})
    assert verdict.status == "equal"
    assert {tuple(run.bindings.items()) for run in verdict.runs} == {(("x[0]", 3),)}
    assert verify(saved(add()), saved(bound), shapes={"x": (3, 4)}).status == "equal"
    assert verify(saved(add()), saved(bound)).status == "equal"


def test_a_name_that_no_input_has_is_an_error(saved: Saved) -> None:
    with pytest.raises(GraphfixError, match=r"--dim N: no input has a dim of that name; free: x\[0\]"):
        verify(saved(add()), saved(add()), bindings={"N": 3})


@pytest.mark.ci
def test_one_seed_gives_one_verdict(saved: Saved) -> None:
    pair = saved(add()), saved(add(BIAS + 1))
    assert verify(*pair, seed=5) == verify(*pair, seed=5)


def test_the_other_format_and_what_is_no_model_are_refused_by_name(saved: Saved, tmp_path: Path) -> None:
    good, other = saved(add()), tmp_path / "other.onnx"
    other.write_bytes(b"\x08\x08")
    for pair in ((good, other), (other, good)):
        with pytest.raises(GraphfixError, match=r"m0\.tflite is a TFLite model, .*other\.onnx is none"):
            verify(*pair)
    wrong = saved(b"\x1c\0\0\0TFL3" + bytes(60))
    for pair in ((good, wrong), (wrong, good)):
        with pytest.raises(GraphfixError, match=rf"{wrong.name}: no TFLite model"):
            verify(*pair)


@pytest.mark.ci
def test_a_tolerance_is_said(saved: Saved) -> None:
    near = BIAS * np.float32(1 + 1e-6)
    assert verify(saved(add()), saved(add(near))).status == "different"
    verdict = verify(saved(add()), saved(add(near)), rtol=1e-3)
    assert verdict.status == "equal"
    assert "not bit for bit" in str(verdict.reason)


@pytest.mark.parametrize(
    ("data", "options"),
    [("1,4,6,3", "padding=SAME, stride_h=2, stride_w=2"), ("1,4,10,3", "padding=VALID, stride_h=2, stride_w=1")],
    ids=["SAME", "VALID"],
)
def test_the_shape_that_an_input_asks_of_a_transposed_convolution_is_one_that_it_can_have(
    saved: Saved, data: str, options: str
) -> None:
    weights = constant("w", np.ones((2, 3, 3, 3), np.float32))
    model = saved(tflite(f"y[N,M,K,2] = TRANSPOSE_CONV(s:int32[4], {weights}, x[{data}], {options})"))
    verdict = verify(model, model)
    assert (verdict.status, {run.status for run in verdict.runs}) == ("equal", {"equal"})
