"""`--same`: sizes of inputs that are stated to be equal, in the view, in the proof and in the runs of both formats."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

import graphfix
from graphfix import api
from graphfix.results import GraphfixError
from models.builders.tflite.text import model as tflite
from tests.support.checked import verify
from tests.support.notation import model, parsed

FORMATS = ("onnx", "tflite")
SUM = {
    "onnx": "t[N,4] = Add(ids[A,4], mask[B,4])\ny[M,4] = Mul(t, types[C,4])",
    "tflite": "t[?,4] = ADD(ids[?,4], mask[?,4])\ny[?,4] = MUL(t, types[?,4])",
}
APART = {"onnx": "y[A] = Neg(ids[A])\nz[B] = Neg(mask[B])", "tflite": "y[?] = NEG(ids[?])\nz[?] = NEG(mask[?])"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def file(folder: Path, text: str, format_: str, name: str = "before") -> Path:
    path = folder / f"{name}.{format_}"
    path.write_bytes(model(text).SerializeToString() if format_ == "onnx" else tflite(text))
    return path


def sites(path: Path, *same: str, **options: object) -> list[tuple[str, int | None]]:
    """Node and operand of what may be stretched."""
    outcome = api.check(path, same=same, **options)  # type: ignore[arg-type]  # the test's own keywords
    return [(site.op.upper(), site.operand) for site in outcome.sites if site.code == "GF103"]


def inputs(path: Path) -> list[bytes]:
    return [value.SerializeToString() for value in onnx.load(path).graph.input]


@pytest.mark.parametrize("format_", FORMATS)
def test_sizes_that_are_stated_to_be_equal_stretch_no_operand(folder: Path, format_: str) -> None:
    path = file(folder, SUM[format_], format_)
    assert sites(path) == [("ADD", 0), ("ADD", 1), ("MUL", 0), ("MUL", 1)]
    assert sites(path, "ids[0]=mask[0]") == [("MUL", 0), ("MUL", 1)]
    assert sites(path, "ids[0]=mask[0]=types[0]") == []
    assert sites(path, "ids[0]=mask[0]", "types[0]=mask[0]") == []
    assert sites(path, "types[0]=mask[0]") == [("ADD", 0), ("ADD", 1), ("MUL", 1)]


@pytest.mark.ci
@pytest.mark.parametrize("format_", FORMATS)
def test_the_result_is_proved_and_says_what_it_assumes(folder: Path, format_: str) -> None:
    path, after = file(folder, SUM[format_], format_), folder / f"after.{format_}"
    outcome = api.fix_file(path, after, same=[("ids[0]", "mask[0]")])
    stated = "the sizes ids[0], mask[0] are equal (--same)"
    verdict = outcome.verdict
    assert verdict is not None
    assert verdict.status == "proved"
    assert verdict.proof is not None
    assert stated in outcome.assumes
    assert stated in verdict.assumes
    assert stated in verdict.proof["assumes"]
    again = api.verify(path, after, same=[("ids[0]", "mask[0]")])
    assert (again.status, stated in again.assumes) == ("proved", True)


def test_a_symbol_is_a_member_too_and_names_all_its_axes(folder: Path) -> None:
    path = file(folder, "t[N,4] = Add(a[A,4], b[B,4])\nu[N,4] = Add(t, c[B,4])", "onnx")
    assert len(sites(path)) == 3
    assert sites(path, "A=B") == []
    assert sites(path, "a[0]=c[0]") == []


def test_an_axis_without_a_symbol_is_a_member(folder: Path) -> None:
    path = file(folder, "t[?,4] = Add(a[?,4], b[?,4])", "onnx")
    assert len(sites(path)) == 2
    assert sites(path, "a[0]=b[0]") == []


def test_a_name_that_holds_an_equals_sign_is_one_member(folder: Path) -> None:
    proto = model("t[N,4] = Add(a[A,4], b[B,4])")
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "ceil(T=2)"
    path = folder / "named.onnx"
    onnx.save(proto, path)
    assert sites(path, "ceil(T=2)=B") == []


@pytest.mark.ci
def test_the_declared_names_of_the_inputs_stay_and_no_stored_shape_gains_one(folder: Path) -> None:
    # t's stretched operand has the size of `ids` and of `mask`: under which name is nobody's business but the view's
    path, after = file(folder, "t[N,4] = Add(ids[A,4], mask[B,1])", "onnx"), folder / "after.onnx"
    api.fix_file(path, after, same=[("ids[0]", "mask[0]")])
    assert inputs(after) == inputs(path)
    made = {dim.dim_param for value in onnx.load(after).graph.value_info for dim in value.type.tensor_type.shape.dim}
    assert made == {""}
    api.fix_file(path, after)
    named = {dim.dim_param for value in onnx.load(after).graph.value_info for dim in value.type.tensor_type.shape.dim}
    assert named <= {"", "A", "B"}


@pytest.mark.ci
@pytest.mark.parametrize("format_", FORMATS)
def test_one_that_is_bound_binds_all(folder: Path, format_: str) -> None:
    path = file(folder, SUM[format_], format_)
    for options in ({"dims": {"A" if format_ == "onnx" else "ids[0]": 3}}, {"shapes": {"ids": (3, 4)}}):
        after = folder / f"after.{format_}"
        outcome = api.fix_file(path, after, same=[("mask[0]", "ids[0]", "types[0]")], in_place=False, **options)  # type: ignore[arg-type]
        shapes = [value.shape.axes for value in graphfix.load(after).graphs[0].inputs]
        assert shapes == [(3, 4)] * 3
        assert outcome.verdict is not None
        assert outcome.verdict.status == "proved"
        assert all(set(run.bindings.values()) <= {3} for run in outcome.verdict.runs)


@pytest.mark.parametrize("format_", FORMATS)
def test_what_is_equal_to_a_number_of_the_file_is_that_number(folder: Path, format_: str) -> None:
    text = {"onnx": "t[N,4] = Add(ids[A,4], mask[7,4])", "tflite": "t[?,4] = ADD(ids[?,4], mask[7,4])"}[format_]
    path, after = file(folder, text, format_), folder / f"after.{format_}"
    outcome = api.fix_file(path, after, same=[("ids[0]", "mask[0]")])
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert [value.shape.axes for value in graphfix.load(after).graphs[0].inputs] == [(7, 4)] * 2


@pytest.mark.parametrize("format_", FORMATS)
def test_defaults_bind_equal_sizes_to_one_number(folder: Path, format_: str) -> None:
    text = {"onnx": "t[N,N] = MatMul(a[A,B], b[B,C])", "tflite": "t[?,4] = ADD(ids[?,4], mask[?,4])"}[format_]
    path, after = file(folder, text, format_), folder / f"after.{format_}"
    same = ["A=B=C"] if format_ == "onnx" else ["ids[0]=mask[0]"]
    api.fix_file(path, after, same=same, bind_defaults=True)
    assert all(value.shape.static for value in graphfix.load(after).graphs[0].inputs)


def test_ranges_of_equal_sizes_hold_for_all(folder: Path) -> None:
    path = file(folder, "t[N,4] = Add(a[A,4], c[1,4])\nu[N,4] = Add(b[B,4], d[D,4])", "onnx")
    assert sites(path, dims={"A": (2, 9), "D": (2, 9)}) == [("ADD", 0)]  # b's
    assert sites(path, "A=B", dims={"A": (2, 9), "D": (2, 9)}) == []
    with pytest.raises(GraphfixError, match=r"--same A=B: their ranges have no size in common"):
        sites(path, "A=B", dims={"A": (2, 4), "B": (5, 9)})


@pytest.mark.ci
@pytest.mark.parametrize("format_", FORMATS)
def test_the_runs_sweep_equal_sizes_together(folder: Path, format_: str) -> None:
    path = file(folder, APART[format_], format_)
    labels = ("A", "B") if format_ == "onnx" else ("ids[0]", "mask[0]")

    def swept(*same: tuple[str, ...]) -> list[tuple[int, ...]]:
        runs = verify(path, path, same=same, proof="without").runs
        return [tuple(run.bindings[label] for label in labels) for run in runs]

    assert any(a != b for a, b in swept())
    together = swept(("ids[0]", "mask[0]"))
    assert together
    assert all(a == b for a, b in together)


RESHAPED = {
    "onnx": (
        "y[N,4] = Sub(mask[B,4], ids[A,4])",
        "s[2] = Shape(mask[B,4])\nr[N,4] = Reshape(ids[A,4], s)\ny[N,4] = Sub(mask, r)",
    ),
    "tflite": (
        "y[?,4] = SUB(mask[?,4], ids[?,4])",
        "s:int32[2] = SHAPE(mask[?,4], out_type=INT32)\nr[?,4] = RESHAPE(ids[?,4], s)\ny[?,4] = SUB(mask, r)",
    ),
}


@pytest.mark.parametrize("format_", FORMATS)
def test_the_proof_takes_the_sizes_for_one_only_where_it_is_stated(folder: Path, format_: str) -> None:
    # a reshape to the other operand's shape fails where one is 1 and the other is not: the original stretches there
    before, after = RESHAPED[format_]
    paths = file(folder, before, format_), file(folder, after, format_, "after")
    assert verify(*paths, proof="only").status == "undecided"
    assert verify(*paths, same=[("ids[0]", "mask[0]")], proof="only").status == "proved"
    assert verify(*paths, same=[("ids[1]", "mask[1]")], proof="only").status == "undecided"


@pytest.mark.parametrize("format_", FORMATS)
def test_a_wrong_file_stays_wrong(folder: Path, format_: str) -> None:
    op, size = ("Sub", "N") if format_ == "onnx" else ("SUB", "?")
    right = f"t[{size},4] = {op}(ids[{size},4], mask[?,4])"
    wrong = f"n[?,4] = {op}(ids[{size},4], mask[?,4])\nt[{size},4] = {op}(ids, n)"
    paths = file(folder, right, format_), file(folder, wrong, format_, "after")
    verdict = verify(*paths, same=[("ids[0]", "mask[0]")])
    assert verdict.status == "different"
    assert verdict.proof is not None
    assert verdict.proof["status"] == "not proved"


TOTAL = {
    "onnx": "k[K,4] = Concat(old[P,4], new[S,4], axis=0)\ny[T,4] = Add(k, mask[T,4])",
    "tflite": "k[?,4] = CONCATENATION(old[?,4], new[?,4], axis=0)\ny[?,4] = ADD(k, mask[?,4])",
}


@pytest.mark.ci
@pytest.mark.parametrize("format_", FORMATS)
def test_a_size_is_the_sum_of_others(folder: Path, format_: str) -> None:
    path, after = file(folder, TOTAL[format_], format_), folder / f"after.{format_}"
    said = "mask[0]=old[0]+new[0]"
    assert sites(path) == [("ADD", 0), ("ADD", 1)]
    assert sites(path, said) == []
    assert sites(path, "mask[0] = new[0] + old[0]") == []
    assert sites(path, "mask[0]=old[0]+new[0]+1") == [("ADD", 0), ("ADD", 1)]
    verdict = api.fix_file(path, after, same=[said]).verdict
    assert verdict is not None
    assert verdict.status == "proved"
    assert "the sizes mask[0], old[0]+new[0] are equal (--same)" in verdict.assumes
    old, new, mask = ("P", "S", "T") if format_ == "onnx" else ("old[0]", "new[0]", "mask[0]")
    runs = [run.bindings for run in api.verify(path, after, same=[said], proof="without").runs]  # fix runs no copy
    assert runs
    assert all(sizes[mask] == sizes[old] + sizes[new] for sizes in runs)


JOINED = {
    "onnx": "k[K,4] = Concat(old[P,4], new[S,4], axis=0)\nm[T,4] = Neg(mask[T,4])\n",
    "tflite": "k[?,4] = CONCATENATION(old[?,4], new[?,4], axis=0)\nm[?,4] = NEG(mask[?,4])\n",
}
ADDED = {
    "onnx": ("y[T,4] = Add(k, m)", "s[2] = Shape(mask)\nr[T,4] = Reshape(k, s)\ny[T,4] = Add(r, m)"),
    "tflite": (
        "y[?,4] = ADD(k, m)",
        "s:int32[2] = SHAPE(mask, out_type=INT32)\nr[?,4] = RESHAPE(k, s)\ny[?,4] = ADD(r, m)",
    ),
}


@pytest.mark.parametrize("format_", FORMATS)
def test_the_proof_adds_only_what_is_stated(folder: Path, format_: str) -> None:
    before, after = (JOINED[format_] + text for text in ADDED[format_])
    paths = file(folder, before, format_), file(folder, after, format_, "after")
    assert verify(*paths, proof="only").status == "undecided"
    assert verify(*paths, same=[("mask[0]", "old[0]+new[0]")], proof="only").status == "proved"
    assert verify(*paths, same=[("mask[0]", "old[0]+new[0]+1")], proof="only").status == "undecided"
    assert verify(*paths, same=[("mask[0]", "old[0]")], proof="only").status == "undecided"


def test_a_sum_of_symbols_and_equal_parts(folder: Path) -> None:
    path = file(folder, TOTAL["onnx"], "onnx")
    assert sites(path, "T=P+S") == []
    assert sites(path, "T=P+P", "P=S") == []
    assert sites(path, "T=P+S", dims={"P": 3, "S": 2}) == []
    fixed = folder / "fixed.onnx"
    outcome = api.fix_file(path, fixed, same=[("T", "P+S")], dims={"P": 3, "S": 2})
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert graphfix.load(fixed).graphs[0].inputs[2].shape.axes == (5, 4)


@pytest.mark.parametrize(
    ("same", "dims", "why"),
    [
        (("T=P+S",), {"T": "5"}, "sums are not solved"),
        (("T=P+S", "T=P+1"), {}, "sums are not solved"),
        (("T=P+S", "P=S+1"), {}, "a part of a sum is a sum itself"),
        (("T=P+T",), {}, "a part of a sum is a sum itself"),
        (("T=P+U",), {}, "--same U: neither"),
    ],
)
def test_sums_that_are_not_followed_are_refused(
    folder: Path, same: tuple[str, ...], dims: dict[str, str], why: str
) -> None:
    path = file(folder, TOTAL["onnx"], "onnx")
    with pytest.raises(GraphfixError) as error:
        sites(path, *same, dims=dims)
    assert why in str(error.value)
    with pytest.raises(GraphfixError, match="--same"):
        verify(path, path, same=[text.split("=") for text in same], bindings={name: int(n) for name, n in dims.items()})


REFUSED = {
    "an input that is not there": ("msk[0]=ids[0]", "--same msk[0]: "),
    "an axis that is not there": ("ids[2]=mask[0]", "--same ids[2]: 'ids' has 2 axes"),
    "two numbers": ("ids[1]=mask[1]=types[1]", "4 and 8 are not equal"),
    "two numbers in two statements": ("ids[0]=ids[1]", "4 and 8 are not equal"),
    "one size": ("ids[0]", "give two sizes or more"),
    "a member without text": ("ids[0]==mask[0]", "give two sizes or more"),
}
MIXED = {
    "onnx": "y[A,4] = Neg(ids[A,4])\nz[B,4] = Neg(mask[B,4])\nw[C,8] = Neg(types[C,8])",
    "tflite": "y[?,4] = NEG(ids[?,4])\nz[?,4] = NEG(mask[?,4])\nw[?,8] = NEG(types[?,8])",
}


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("case", REFUSED)
def test_what_can_not_be_equal_is_refused_in_one_line(folder: Path, case: str, format_: str) -> None:
    text, why = REFUSED[case]
    path = file(folder, MIXED[format_], format_)
    with pytest.raises(GraphfixError) as error:
        api.check(path, same=[text, "ids[0]=types[1]"])
    assert why in str(error.value)
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("members", [("msk[0]", "ids[0]"), ("ids[2]", "mask[0]"), ("ids[1]", "types[1]")])
def test_the_checker_refuses_by_itself(folder: Path, format_: str, members: tuple[str, ...]) -> None:
    path = file(folder, MIXED[format_], format_)
    for proof in ("only", "without"):
        with pytest.raises(GraphfixError, match="--same"):
            verify(path, path, same=[members], proof=proof)  # type: ignore[arg-type]  # both are its words


def test_an_input_without_a_rank_has_no_axis_to_name(folder: Path) -> None:
    proto = parsed("g (float a, float[B,4] b) => (float y) { y = Add(a, b) }")
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    path = folder / "unranked.onnx"
    onnx.save(proto, path)
    with pytest.raises(GraphfixError, match=r"the rank of 'a' is not known; give its --shape"):
        sites(path, "a[0]=b[0]")
    assert sites(path, "a[0]=b[0]", shapes={"a": (None, 4)}) == []
