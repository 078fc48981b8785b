"""What the report says is not known of sizes, and the options that it says would decide it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from graphfix import api
from graphfix.engine.open_sizes import _Names
from graphfix.report.forms import registry
from graphfix.report.table import table
from graphfix.results import OpenSizes, Outcome
from models.builders.tflite.text import model as tflite
from tests.support.notation import model

BATCH = {
    "onnx": "t[N,4] = Add(ids[A,4], mask[B,4])\ny[M,4] = Mul(t, types[C,4])",
    "tflite": "t[?,4] = ADD(ids[?,4], mask[?,4])\ny[?,4] = MUL(t, types[?,4])",
}


def checked(folder: Path, text: str, format_: str = "onnx", **options: object) -> Outcome:
    path = folder / f"m.{format_}"
    path.write_bytes(model(text).SerializeToString() if format_ == "onnx" else tflite(text))
    return api.check(path, **options)  # type: ignore[arg-type]  # the test's own keywords


def found(folder: Path, text: str, format_: str = "onnx", **options: object) -> list[tuple[int, str]]:
    """How many nodes depend on what the options decide; what is only slow is left out."""
    outcome = checked(folder, text, format_, **options)
    return [(each.nodes, each.option) for each in outcome.open_sizes if "slowly" not in each.text]


@pytest.mark.parametrize("format_", BATCH)
def test_free_first_axes_are_proposed_as_one_batch_in_a_form_to_paste(tmp_path: Path, format_: str) -> None:
    (said, *_) = checked(tmp_path, BATCH[format_], format_).open_sizes
    option = "--same 'ids[0]=mask[0]=types[0]'"
    assert said == OpenSizes(
        2,
        ("ids[0]", "mask[0]", "types[0]"),
        option,
        "2 nodes depend on whether ids[0], mask[0] and types[0] are equal; these inputs each have a free first axis: "
        f"if they are one batch, say {option}",
    )
    same = [shlex.split(said.option)[1]]
    assert found(tmp_path, BATCH[format_], format_, same=same) == []
    assert all(site.code != "GF103" for site in checked(tmp_path, BATCH[format_], format_, same=same).sites)


def test_other_axes_are_proposed_by_their_symbols(tmp_path: Path) -> None:
    text = "y[4,N] = Add(x[4,A], b[4,B])"
    assert found(tmp_path, text) == [(1, "--same A=B")]
    assert found(tmp_path, text, same=[("A", "B")]) == []


def test_statements_that_do_not_meet_stay_apart_and_the_one_of_more_nodes_is_first(tmp_path: Path) -> None:
    text = "y[N,4] = Add(x[A,4], b[B,4])\nz[N,4] = Add(c[C,4], d[D,4])\nw[N,4] = Mul(c, d)"
    assert found(tmp_path, text) == [(2, "--same 'c[0]=d[0]'"), (1, "--same 'x[0]=b[0]'")]


NOTHING = {
    "nothing is free": ("y[3,4] = Add(x[3,4], b[1,4])", {}),
    "the symbol is one": ("y[N,4] = Add(x[N,4], b[N,4])", {}),
    "free inputs that do not meet": ("y[A] = Neg(x[A])\nz[B] = Neg(b[B])", {}),
    "a stretch that is certain": ("y[N,4] = Add(x[N,4], b[1,4])", {}),
    "ranks are all that is asked for": ("y[N,4] = Add(x[A,4], b[B,4])", {"target": "ranks"}),
    "it is assumed": ("y[N,4] = Add(x[A,4], b[B,4])", {"unknown": "assume"}),
}


@pytest.mark.parametrize("case", NOTHING)
def test_nothing_is_proposed_where_nothing_depends_on_it(tmp_path: Path, case: str) -> None:
    text, options = NOTHING[case]
    assert list(checked(tmp_path, text, **options).open_sizes) == []


def test_what_is_left_counts_too(tmp_path: Path) -> None:
    assert found(tmp_path, "y[N,4] = Add(x[A,4], b[B,4])", unknown="keep") == [(1, "--same 'x[0]=b[0]'")]


def test_a_size_that_meets_a_number_is_decided_by_that_number(tmp_path: Path) -> None:
    text = "y[T,4] = Add(x[T,4], w[7,4])"
    assert found(tmp_path, text) == [(1, "--dim T=7")]
    assert found(tmp_path, text, dims={"T": 7}) == []


def test_what_is_computed_is_decided_by_the_sizes_that_it_follows_from(tmp_path: Path) -> None:
    text = "c[M,4] = Concat(x[N,4], x, axis=0)\ny[M,4] = Add(c, b[T,4])"
    (said,) = checked(tmp_path, text).open_sizes
    assert (said.sizes, said.option) == (("2*N", "T"), "--dim 'N=<size>' --dim 'T=<size>'")
    assert found(tmp_path, text, dims={"N": 2, "T": 4}) == []


def test_a_size_that_meets_a_sum_of_others_may_be_that_sum(tmp_path: Path) -> None:
    text = "k[K,4] = Concat(old[P,4], new[S,4], axis=0)\ny[T,4] = Add(k, mask[T,4])"
    assert found(tmp_path, text) == [(1, "--same T=P+S")]
    assert found(tmp_path, text, same=[("T", "P+S")]) == []
    text = "k[?,4] = CONCATENATION(old[?,4], one[1,4], axis=0)\ny[?,4] = ADD(k, mask[?,4])"
    assert found(tmp_path, text, "tflite") == [(1, "--same 'mask[0]=old[0]+1'")]
    assert found(tmp_path, text, "tflite", same=[("mask[0]", "old[0]+1")]) == []


def test_a_size_without_a_name_is_bound_with_its_whole_input(tmp_path: Path) -> None:
    assert found(tmp_path, "y[?,4] = Add(x[?,4], w[7,4])") == [(1, "--shape 'x=<size>,4'")]


def test_what_follows_from_no_size_alone_is_bound_with_all_inputs(tmp_path: Path) -> None:
    found_at = "z:int64[2,M] = NonZero(x[A,4])\nt:int64[M,2] = Transpose(z, perm=[1,0])"
    text = f"{found_at}\ny:int64[M,2] = Add(t, b:int64[B,2])"
    assert found(tmp_path, text) == [(1, "--dim 'A=<size>' --dim 'B=<size>'")]


def test_a_node_with_something_else_on_another_axis_is_not_decided_by_equal_inputs(tmp_path: Path) -> None:
    text = "y[N,M] = Add(x[A,T], b[B,7])"
    assert found(tmp_path, text) == [(1, "--dim T=7")]


def test_a_tflite_model_that_stretches_to_free_sizes_is_told_what_that_costs(tmp_path: Path) -> None:
    (said,) = checked(tmp_path, "y[?,4] = ADD(x[?,4], b[1,4])", "tflite").open_sizes
    assert (said.nodes, said.option) == (1, "--shape 'x=<size>,4'")
    assert "BROADCAST_TO" in said.text
    assert list(checked(tmp_path, "y[?,4] = ADD(x[?,4], b[1,4])", "tflite", dims={"x[0]": 3}).open_sizes) == []
    assert list(checked(tmp_path, "y[N,4] = Add(x[N,4], b[1,4])").open_sizes) == []


def test_every_report_says_it(tmp_path: Path) -> None:
    outcome = checked(tmp_path, BATCH["onnx"])
    (said,) = outcome.open_sizes
    assert f"  {said.text}" in table(outcome).splitlines()
    for suffix in ("json", "md"):
        registry.write(tmp_path / f"r.{suffix}", [outcome])
    (entry,) = json.loads((tmp_path / "r.json").read_text())["open_sizes"]
    assert entry == {"nodes": 2, "sizes": [*said.sizes], "option": said.option, "text": said.text}
    assert "### What is not known of sizes" in (tmp_path / "r.md").read_text()


NAMES = _Names({"p": "P", "s": "S", "t": "T", "m": "mask[0]"}, {}, frozenset(), "")


@pytest.mark.parametrize(
    ("meeting", "sizes", "option"),
    [
        ({"t", "?={p}+{s}"}, ("T", "P+S"), "--same T=P+S"),
        ({"t", "?={s}+{p}"}, ("T", "P+S"), "--same T=P+S"),
        ({"t", "?={p}+{p}"}, ("T", "P+P"), "--same T=P+P"),
        ({"t", "?={p}+12"}, ("T", "P+12"), "--same T=P+12"),
        ({"m", "?={p}+{s}+1"}, ("mask[0]", "P+S+1"), "--same 'mask[0]=P+S+1'"),
    ],
)
def test_a_size_may_be_the_sum_that_it_meets(meeting: set[str], sizes: tuple[str, ...], option: str) -> None:
    assert NAMES.summed(frozenset(meeting)) == (sizes, option)


@pytest.mark.parametrize(
    "meeting",
    [
        {"t", "?={p}+{other}"},
        {"t", "?={p}+{t}"},
        {"t", "s", "?={p}+{s}"},
        {"t", "?={p}+{s}", "?={p}+{m}"},
        {"t", "?={p}+{s}", 4},
        {"t", "?={p}+{s}", "other"},
        {"other", "?={p}+{s}"},
        {"t", "?=2*{p}"},
        {"?={p}+{s}"},
        {"t"},
    ],
)
def test_a_size_is_no_sum_where_something_else_meets_or_a_part_has_no_name(meeting: set[str | int]) -> None:
    assert NAMES.summed(frozenset(meeting)) is None
