"""Custom operators that no kernel set knows are taken out of both models: no runtime is loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from graphfix.checker.files.tflite.graphs import read_graphs
from graphfix.checker.runs.tflite import cut_models
from graphfix.checker.runs.tflite.cut_models import CutModels
from models.builders.tflite.text import Signature
from models.builders.tflite.text import model as tflite

Saved = Callable[[bytes], Path]

CHAIN = "t[4] = NEG(x[4])\nu[4] = CUSTOM.Own(t)\ny[4] = ABS(u)"


def taken(saved: Saved, one: bytes, two: bytes | None = None, *names: str) -> CutModels:
    """Take the custom operators (Own, if none is named) out of two models, in a folder of their own."""
    paths = saved(one), saved(one if two is None else two)
    made = CutModels(paths, paths[0].parent)
    for name in names or ("Own",):
        made.take(name)
    return made


def left(path: Path) -> tuple[list[str], list[str], list[str]]:
    """The operators of a model, its inputs and its outputs."""
    graph = read_graphs(path)[0]
    return (
        [op.name for op in graph.ops],
        [graph.names[i] for i in graph.inputs],
        [graph.names[i] for i in graph.outputs],
    )


CUTS: dict[str, tuple[str, list[str] | None, tuple[str, ...], tuple[str, str, str]]] = {
    "in the middle": (CHAIN, None, ("Own",), ("NEG ABS", "x u", "y t")),
    "of an input": ("u[4] = CUSTOM.Own(x[4])\ny[4] = ABS(u)", None, ("Own",), ("ABS", "x u", "y")),
    "an output": ("t[4] = NEG(x[4])\ny[4] = CUSTOM.Own(t)", None, ("Own",), ("NEG", "x y", "t")),
    "beside another output": (CHAIN, ["u", "t", "y"], ("Own",), ("NEG ABS", "x u", "t y")),
    "of nothing": ("u[4] = CUSTOM.Own()\ny[4] = ADD(u, x[4])", None, ("Own",), ("ADD", "x u", "y")),
    "of a constant": ("u[4] = CUSTOM.Own(x[4], c:const[4])\ny[4] = ABS(u)", None, ("Own",), ("ABS", "x u", "y")),
    "without an operand": ("t[4] = NEG(x[4])\nu[4] = CUSTOM.Own(t, )\ny[4] = ABS(u)", None, ("Own",),
                           ("NEG ABS", "x u", "y t")),
    "twice in a row": ("t[4] = NEG(x[4])\nu[4] = CUSTOM.Own(t)\nv[4] = CUSTOM.Own(u)\ny[4] = ABS(v)", None, ("Own",),
                       ("NEG ABS", "x u v", "y t")),
    "of one value twice": ("t[4] = NEG(x[4])\nu[4] = CUSTOM.Own(t, t)\nv[4] = CUSTOM.Own(t)\ny[4] = ADD(u, v)", None,
                           ("Own",), ("NEG ADD", "x u v", "y t")),
    "two results": ("t[4] = NEG(x[4])\nu[4], v[4] = CUSTOM.Own(t)\ny[4] = ADD(u, v)", None, ("Own",),
                    ("NEG ADD", "x u v", "y t")),
    "another one stays": (CHAIN + "\nz[4] = CUSTOM.Other(u)", None, ("Own",), ("NEG ABS Other", "x u", "y z t")),
    "both of them": (CHAIN + "\nz[4] = CUSTOM.Other(u)", None, ("Own", "Other"), ("NEG ABS", "x u z", "y t")),
    "the same one again": (CHAIN, None, ("Own", "Own"), ("NEG ABS", "x u", "y t")),
    "one that is not there": (CHAIN, None, ("Oth",), ("NEG Own ABS", "x", "y")),
}  # fmt: skip


@pytest.mark.parametrize(("text", "outputs", "names", "expected"), CUTS.values(), ids=CUTS)
def test_results_of_what_is_taken_out_become_inputs_and_what_it_reads_outputs(
    saved: Saved, text: str, outputs: list[str] | None, names: tuple[str, ...], expected: tuple[str, str, str]
) -> None:
    made = taken(saved, tflite(text, outputs=outputs), None, *names)
    assert made.fault is None
    assert made.names == list(dict.fromkeys(names))
    for which in (0, 1):
        assert left(made.written(which)) == tuple(each.split() for each in expected)  # type: ignore[arg-type]


def test_both_models_are_written_once_for_what_was_taken_so_far(saved: Saved) -> None:
    first, second = (
        tflite(CHAIN + "\nz[4] = CUSTOM.Other(u)"),
        tflite(CHAIN.replace("ABS", "EXP") + "\nz[4] = CUSTOM.Other(u)"),
    )
    made = taken(saved, first, second)
    assert [made.written(which).name for which in (0, 1)] == ["before-1.tflite", "after-1.tflite"]
    assert [left(made.written(which))[0][1] for which in (0, 1)] == ["ABS", "EXP"]
    made.written(0).write_bytes(b"kept")
    assert made.written(0).read_bytes() == b"kept"
    made.take("Other")
    assert made.written(0).name == "before-2.tflite"
    assert left(made.written(0))[0] == ["NEG", "ABS"]
    assert not list(made.folder.glob("before-0*"))


def test_a_model_that_is_cut_has_no_signatures(saved: Saved) -> None:
    made = taken(saved, tflite(CHAIN, signatures={"serve": Signature()}))
    assert cut_models._read(made.paths[0]).signatureDefs
    assert cut_models._read(made.written(0)).signatureDefs is None


BODIES = """
y[4] = IF(c:bool[], x[4], then=yes, else=no)
z[4] = {0}
subgraph yes:
t[4] = {1}
subgraph no:
t[4] = {2}
"""
UNLIKE = "the two models do not have it alike"
FAULTS: dict[str, tuple[str, str | None, str | None]] = {
    "in the first body": (BODIES.format("NEG(y)", "CUSTOM.Own(x[4])", "NEG(x[4])"), None,
                          "it stands in a body that can't be cut"),
    "in the last body": (BODIES.format("NEG(y)", "NEG(x[4])", "CUSTOM.Own(x[4])"), None,
                         "it stands in a body that can't be cut"),
    "beside bodies": (BODIES.format("CUSTOM.Own(y)", "NEG(x[4])", "ABS(x[4])"), None, None),
    "another one in a body": (BODIES.format("CUSTOM.Own(y)", "NEG(x[4])", "CUSTOM.Other(x[4])"), None, None),
    "nothing else": ("y[4] = CUSTOM.Own(x[4])", None, "nothing is left without it"),
    "nothing else in the second": (CHAIN, "y[4] = CUSTOM.Own(x[4])", "nothing is left without it"),
    "nothing else in the first": ("y[4] = CUSTOM.Own(x[4])", CHAIN, "nothing is left without it"),
    "what is around it may differ": (CHAIN, CHAIN.replace("ABS", "EXP").replace("NEG", "COS"), None),
    "other options": (CHAIN, CHAIN.replace("(t)", "(t, custom_options=b'a')"), UNLIKE),
    "empty options are none": (CHAIN, CHAIN.replace("(t)", "(t, custom_options=b'')"), None),
    "the same options": (CHAIN.replace("(t)", "(t, custom_options=b'a')"),
                         CHAIN.replace("(t)", "(t, custom_options=b'a')"), None),
    "another operand": (CHAIN, CHAIN.replace("t", "s"), UNLIKE),
    "another result": (CHAIN, CHAIN.replace("u", "s"), UNLIKE),
    "an operand more": (CHAIN, CHAIN.replace("(t)", "(t, )"), UNLIKE),
    "an absent operand beside another last value": (
        CHAIN.replace("(t)", "(t, )"), CHAIN.replace("(t)", "(t, )").replace("y[4]", "z[4]"), None),
    "missing in the second": (CHAIN, CHAIN.replace("CUSTOM.Own", "COS"), UNLIKE),
}  # fmt: skip


@pytest.mark.parametrize(("one", "two", "fault"), FAULTS.values(), ids=FAULTS)
def test_models_that_can_not_be_cut_alike(saved: Saved, one: str, two: str | None, fault: str | None) -> None:
    made = taken(saved, tflite(one), None if two is None else tflite(two))
    assert made.fault == fault


def test_nothing_is_taken_behind_a_fault(saved: Saved) -> None:
    made = taken(saved, tflite("y[4] = CUSTOM.Own(x[4])"), None, "Own", "Other")
    assert (made.names, made.fault) == (["Own"], "nothing is left without it")


@pytest.mark.parametrize("large", [0, 1])
def test_a_large_model_is_not_cut(saved: Saved, large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = saved(tflite(CHAIN)), saved(tflite(CHAIN))
    monkeypatch.setattr(cut_models, "too_large", lambda path: path == paths[large])
    made = CutModels(paths, paths[0].parent)
    made.take("Own")
    assert made.fault == "a model above 1 GiB is not cut there"
