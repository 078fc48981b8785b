"""How far two outputs are apart, what is within the tolerance, and which inputs are made; without the TOSA tools."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from graphfix.engine.request import Request
from graphfix.formats.neutral import publish
from graphfix.results import Conversion, Gap, GraphfixError
from graphfix.runtimes import tosa
from graphfix.runtimes.session import RefusedError
from graphfix.tosa import agreement, judge
from tests.support.runtimes.tosa_loop import onnx_file, tflite

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

DONE = Conversion("converted", "a converter")
"""What the runs are asked of."""

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("want", "got", "apart"),
    [
        ([1.0, 2.0], [1.0, 2.5], 0.5),
        ([NAN, 1.0], [NAN, 1.0], 0.0),
        ([NAN, 1.0], [0.0, 1.0], INF),
        ([0.0, 1.0], [NAN, 1.0], INF),
        ([INF, 1.0], [INF, 0.5], 0.5),
        ([INF], [-INF], INF),
        ([INF], [1.0], INF),
        ([1.0], [INF], INF),
        ([1.0, 2.0], [[1.0, 2.0]], INF),
        ([], [], 0.0),
        ([127, -128], [-128, 127], 255.0),
        ([True, False], [True, True], 1.0),
    ],
)
def test_the_distance_of_two_arrays(want: list[float], got: list[float], apart: float) -> None:
    narrow = np.int8 if all(type(value) is int for value in want) and want else None
    assert judge.distance(np.array(want, narrow), np.array(got, narrow)) == apart


@pytest.mark.parametrize(
    ("values", "extent"),
    [([1.0, -3.0], (4.0, 3.0)), ([NAN, 2.0, INF], (0.0, 2.0)), ([], (0.0, 0.0)), ([7], (0.0, 7.0))],
)
def test_the_extent_of_an_array_is_that_of_its_finite_values(values: list[float], extent: tuple[float, float]) -> None:
    assert judge.extent(np.array(values)) == extent


Values = tuple[list[float], list[float]]


@pytest.mark.parametrize(
    ("runs", "status", "gap"),
    [
        # a range of 10: 0.009 is within a thousandth of it, 0.02 is not
        ([([0.0, 10.0], [0.009, 10.0])], "agrees", Gap("y", 0.009, 0.0009, within=True)),
        ([([0.0, 10.0], [0.02, 10.0])], "differs", Gap("y", 0.02, 0.002, within=False)),
        # the worst run counts, by the range of its own values
        ([([0.0, 10.0], [0.0, 10.0]), ([0.0, 1.0], [0.002, 1.0])], "differs", Gap("y", 0.002, 0.002, within=False)),
        # a constant output is held to a thousandth of 1, or of what it is
        ([([5e-6], [1e-5])], "agrees", Gap("y", 5e-6, None, within=True)),
        ([([0.5], [0.6])], "differs", Gap("y", 0.1, None, within=False)),
        ([([2000.0], [2001.0])], "agrees", Gap("y", 1.0, None, within=True)),
    ],
)
def test_an_output_agrees_by_the_range_of_its_values(
    runs: Sequence[Values], status: str, gap: Gap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = compared(runs, tmp_path, monkeypatch)
    assert (found.status, found.runs) == (status, len(runs))
    (shown,) = found.gaps
    assert (shown.output, shown.within) == (gap.output, gap.within)
    assert shown.largest == pytest.approx(gap.largest)
    assert shown.relative == (None if gap.relative is None else pytest.approx(gap.relative))
    assert (": y; give inputs" in (found.reason or "")) == (status == "differs")


def compared(runs: Sequence[Values], folder: Path, monkeypatch: pytest.MonkeyPatch, **limits: float) -> Conversion:
    """The verdict on an identity whose reference model answers something else in each run."""
    size = len(runs[0][0])
    model = onnx_file(folder, f"g (double[{size}] x) => (double[{size}] y) {{y = Identity(x)}}")
    inputs = []
    for number, (want, _) in enumerate(runs):
        inputs.append(folder / f"{number}.npz")
        np.savez(inputs[-1], x=np.array(want))
    answers = iter(got for _, got in runs)
    monkeypatch.setattr(tosa, "run", lambda *_: tosa.Computed([np.array(next(answers))], "valid"))
    return agreement.agreement(DONE, model, model, folder / "m.tosa", Request(run_on=inputs, **limits))


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({}, "differs by more than 0.001 of its range: y; "),
        ({"atol": 0.01}, "differs by more than atol 0.01, rtol 0: y; "),
        ({"rtol": 0.01}, "differs by more than atol 0, rtol 0.01: y; "),
        ({"atol": 0.001, "rtol": 0.01}, "differs by more than atol 0.001, rtol 0.01: y; "),
        ({"atol": 0.05}, None),
        ({"rtol": 1.0}, None),
        ({"atol": 0.01, "rtol": 0.9}, None),
    ],
)
def test_the_limits_that_a_request_gives_are_those_that_are_told(
    limits: dict[str, float], said: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = compared([([0.02, 10.0], [0.04, 10.0])], tmp_path, monkeypatch, **limits)
    assert found.status == ("agrees" if said is None else "differs")
    assert (found.reason or "").startswith(said or "")


def test_a_model_that_the_runtime_does_not_have_is_not_run(tmp_path: Path) -> None:
    model = tflite(tmp_path, "y[2] = CUSTOM.Own(x[2])")
    found = agreement.agreement(DONE, model, model, tmp_path / "m.tosa", Request())
    assert found.status == "not run"
    assert "'Own'" in (found.reason or "")


def test_an_original_that_reads_what_nothing_has_written_is_not_run(tmp_path: Path) -> None:
    """It is a row of the table of exceptions that `verify` asks too."""
    model = tflite(
        tmp_path,
        "h:resource[] = VAR_HANDLE(container='', shared_name='s')\nv[2] = READ_VARIABLE(h)\ny[2] = ADD(x[2], v)",
    )
    found = agreement.agreement(DONE, model, model, tmp_path / "m.tosa", Request())
    assert found.status == "not run"
    assert "the variable 's', which nothing has written" in (found.reason or "")


def test_an_output_that_is_nan_throughout_agrees_with_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = compared([([NAN, NAN], [NAN, NAN])] * 2, tmp_path, monkeypatch)
    assert (found.status, found.reason) == ("not run", "in every run NaN throughout, so that nothing was compared: y")
    assert compared([([NAN, NAN], [NAN, NAN]), ([1, NAN], [1, NAN])], tmp_path, monkeypatch).status == "agrees"
    assert compared([([NAN, NAN], [NAN, 1])], tmp_path, monkeypatch).status == "differs"


@pytest.mark.parametrize(("where", "status"), [(False, "agrees"), (True, "unpredictable")], ids=["NaN", "numbers"])
def test_seeded_inputs_of_which_the_original_makes_only_nan_need_no_result(
    where: bool, status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a mask that hides everything does; the reference model meets what TOSA leaves open where `m` is `where`."""
    model = onnx_file(
        tmp_path,
        "g (float[2] x, bool[1] m) => (float[2] y) "
        "{zero = Constant<value = float {0.0}>() nan = Div(zero, zero) y = Where(m, x, nan)}",
    )
    masks: set[bool] = set()

    def answer(_: Path, inputs: Sequence[np.ndarray]) -> tosa.Computed:
        x, m = inputs
        masks.add(bool(m[0]))
        return tosa.Computed([np.where(m, x, np.float32(NAN))], "unpredictable" if m[0] == where else "valid")

    monkeypatch.setattr(tosa, "run", answer)
    assert agreement.agreement(DONE, model, model, tmp_path / "m.tosa", Request(seed=4)).status == status
    assert masks == {False, True}


def test_a_reference_model_that_dies_is_not_a_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def dying(*_: object) -> tosa.Computed:
        raise RefusedError("the reference model aborts the process (SIGFPE)", aborted=True)

    monkeypatch.setattr(tosa, "run", dying)
    model = onnx_file(tmp_path, "g (float[2] x) => (float[2] y) {y = Neg(x)}")
    found = agreement.agreement(DONE, model, model, tmp_path / "m.tosa", Request())
    assert (found.status, found.reason) == ("not run", "the reference model aborts the process (SIGFPE)")


def test_inputs_are_floats_from_minus_1_to_1_and_indices_in_range(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tflite(tmp_path, "g[50,3] = GATHER(x[5,3], i:int32[50])\ny[50,3] = MUL(g, b[3])")
    fed: list[list[np.ndarray]] = []
    monkeypatch.setattr(
        tosa, "run", lambda _, given: fed.append(given) or SimpleNamespace(outputs=[np.zeros((50, 3))], status="valid")
    )
    agreement.agreement(DONE, model, model, tmp_path / "m.tosa", Request(seed=7))
    assert len(fed) == 3
    for x, i, b in fed:
        assert (x.dtype, i.dtype) == (np.float32, np.int32)
        assert np.abs(x).max() <= 1
        assert np.abs(b).max() <= 1
        assert set(i.tolist()) <= set(range(5))
    assert len({x.tobytes() for x, _, _ in fed}) == 3


def test_of_two_files_both_appear_or_neither(tmp_path: Path) -> None:
    made = tmp_path / "first.made"
    made.write_bytes(b"1")
    with pytest.raises(GraphfixError, match="can't be written"):
        publish.publish_pair((made, tmp_path / "first"), (tmp_path / "absent.made", tmp_path / "second"))
    assert list(tmp_path.iterdir()) == []


def test_a_scratch_folder_is_gone_afterwards_and_no_error_names_it(tmp_path: Path) -> None:
    def fill() -> None:
        with publish.scratch_folder(tmp_path / "m.tosa") as folder:
            (folder / "fixed.onnx").write_bytes(b"1")
            raise GraphfixError(f"{folder / 'fixed.onnx'}: too big")

    with pytest.raises(GraphfixError) as raised:
        fill()
    assert str(raised.value) == f"{tmp_path / 'm.tosa'}: too big"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("met", "said"),
    [
        ("OpPow: x is less than 0", "tosa.pow met values for which TOSA defines no result: x is less than 0"),
        ("OpPow", "tosa.pow met values for which TOSA defines no result"),
        (None, "an operator met values for which TOSA defines no result"),
    ],
)
def test_what_has_no_result_is_named_as_far_as_it_is_known(met: str | None, said: str) -> None:
    assert agreement._undefined(met) == said


def test_the_first_run_that_has_no_result_ends_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = onnx_file(tmp_path, "g (float[2] x) => (float[2] y) {y = Neg(x)}")
    answers = iter([("valid", None), ("unpredictable", "OpPow: why"), ("valid", None)])

    def answer(_: Path, inputs: Sequence[np.ndarray]) -> tosa.Computed:
        return tosa.Computed([-inputs[0]], *next(answers))  # type: ignore[arg-type] -- the two statuses

    monkeypatch.setattr(tosa, "run", answer)
    found = agreement.agreement(DONE, model, model, tmp_path / "m.tosa", Request())
    assert (found.status, found.runs, [gap.output for gap in found.gaps]) == ("unpredictable", 2, ["y"])
    assert found.reason == agreement._undefined("OpPow: why")


def test_where_no_kernel_set_has_a_model_the_first_ones_reason_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(_: object, __: Path, kernels: str) -> None:
        raise RefusedError(f"not in the {kernels} kernels")

    monkeypatch.setattr(agreement.Child, "load_tflite", refusing)
    model = tflite(tmp_path, "y[2] = NEG(x[2])")
    found = agreement.agreement(DONE, model, model, tmp_path / "m.tosa", Request())
    assert (found.status, found.reason) == ("not run", f"not in the {agreement._LITERT_KERNELS[0]} kernels")


def test_a_model_of_other_outputs_is_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = onnx_file(tmp_path, "g (float[2] x) => (float[2] y) {y = Neg(x)}")
    monkeypatch.setattr(tosa, "run", lambda _, given: tosa.Computed([-given[0]] * 2, "valid"))
    found = agreement.agreement(DONE, model, model, tmp_path / "m.tosa", Request())
    assert (found.status, found.reason) == ("not run", "the TOSA file has 2 outputs, the original 1")


def test_an_output_is_told_at_its_worst() -> None:
    worst = agreement._Worst()
    for largest, relative, within in ((0.25, 0.5, True), (1.0, None, False), (0.5, 0.125, True)):
        worst.widen(judge.Judged(largest, relative, within))
    assert (worst.largest, worst.relative, worst.within) == (1.0, 0.5, False)
