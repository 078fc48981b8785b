"""Explicit and back on random models of both formats: what folding alone makes, proved, with no node more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from graphfix.results import GraphfixError
from models.builders.tflite.text import Quantized
from models.builders.tflite.text import model as tflite_model
from tests.support.fuzz import round_trip_gaps as gaps
from tests.support.fuzz.onnx.graphs import draft as onnx_draft
from tests.support.fuzz.round_trip import MORE, REFUSED, UNLIKE, UNPROVED, compared, faults, folded
from tests.support.fuzz.structure import Structure, structure
from tests.support.fuzz.tflite.graphs import draft as tflite_draft
from tests.support.notation import model as onnx_model
from tests.support.places import MODELS

SEEDS = [
    pytest.param(range(100), marks=pytest.mark.ci),
    pytest.param(range(100, 4000), marks=pytest.mark.full),
]


def asks(seeds: range, draft: Callable[[int], bytes], folder: Path, format_: str) -> None:
    """Whether exactly the seeds of the tables have these faults."""
    found = {seed: faults(draft(seed), folder, f".{format_}") for seed in seeds}
    tables = {
        REFUSED: gaps.REFUSED[format_],
        UNLIKE: frozenset[int]().union(*gaps.UNLIKE[format_].values()),
        MORE: gaps.MORE[format_],
        UNPROVED: gaps.UNPROVED[format_],
    }
    for kind, table in tables.items():
        wrong = {seed: what[kind] for seed, what in found.items() if kind in what}
        new = {seed: what for seed, what in wrong.items() if seed not in table}
        assert not new, f"not in the table of {kind}: {new}"
        mended = sorted(table.intersection(seeds) - wrong.keys())
        assert not mended, f"take these out of the table of {kind}: {mended}"


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_onnx(seeds: range, tmp_path: Path) -> None:
    asks(seeds, lambda seed: onnx_draft(seed).model.SerializeToString(), tmp_path, "onnx")


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_tflite(seeds: range, tmp_path: Path) -> None:
    asks(seeds, lambda seed: tflite_draft(seed).file(), tmp_path, "tflite")


@pytest.mark.parametrize("share", [pytest.param(6, marks=pytest.mark.ci), pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize("format_", ["onnx", "tflite"])
def test_the_committed_models(format_: str, share: int) -> None:
    """Of the exported models one in `share`, and each that is listed."""
    unlike, more = {}, {}
    for at, path in enumerate(sorted(MODELS.rglob(f"*.{format_}"))):
        name, file = path.relative_to(MODELS).as_posix(), path.read_bytes()
        if name.startswith(("zoo/", "deployed/")):
            continue  # tests/whole/test_targets.py; files with data files, tests/whole/test_deployed.py
        if name.startswith("exported/") and at % share and name not in {*gaps.MODELS, *gaps.LEGACY}:
            continue
        try:
            there = folded(file, "explicit")
        except GraphfixError:
            continue
        found = compared(file, folded(there, "compact"))
        unlike.update({name: found[UNLIKE]} if UNLIKE in found else {})
        more.update({name: int(found[MORE].split()[0])} if MORE in found else {})
    listed = {name for name in gaps.MODELS if name.endswith(format_) and not name.startswith("zoo/")}
    assert unlike.keys() == listed, {name: unlike.get(name, "mended") for name in unlike.keys() ^ listed}
    assert more == {name: count for name, count in gaps.LEGACY.items() if name.endswith(format_)}


@pytest.mark.parametrize("format_", ["onnx", "tflite"])
def test_a_seed_has_one_reason(format_: str) -> None:
    reasons = gaps.UNLIKE[format_].values()
    every = frozenset[int]().union(*reasons)
    assert len(every) == sum(map(len, reasons))
    assert gaps.MORE[format_] <= every


# --- the comparison ---------------------------------------------------------------------------------------------------

BASE = "a[2,4] = Mul(x[2,4], c:const[4]{1,2,3,4})\nb[2,4] = Abs(z[2,4])\ny[2,8] = Concat(a, b, axis=1)"
BODIES = """
y[4] = IF(c:bool[], x[4], then=yes, else=no)
subgraph yes(p[4]) -> q:
q[4] = ADD(p, r:const[4]{1,2,3,4})
subgraph no(s[4]) -> t:
t[4] = MUL(s, u:const[1]{2})
"""


def structures(format_: str, *texts: str) -> list[Structure]:
    make = (lambda text: onnx_model(text).SerializeToString()) if format_ == "onnx" else tflite_model
    return [structure(make(text)) for text in texts]


@pytest.mark.parametrize(
    ("format_", "base", "old", "new"),
    [
        pytest.param("onnx", BASE, "c:", "other:", id="the name of a constant"),
        pytest.param("onnx", BASE, "x[2,4]", "other[2,4]", id="the name of an input"),
        pytest.param("tflite", BODIES, "q", "other", id="the name of a body's value"),
    ],
)
def test_names_do_not_matter(format_: str, base: str, old: str, new: str) -> None:
    one, two = structures(format_, base, base.replace(old, new))
    assert one.unlike(two) == []


def test_the_order_of_nodes_does_not_matter() -> None:
    lines = ["m[2,4] = Min(x[2,4], z[2,4])", "a[2,4] = Abs(x)", "b[2,4] = Neg(z)", "y[2,4] = Mul(a, b)"]
    one, two = structures("onnx", "\n".join(lines), "\n".join([lines[0], lines[2], lines[1], lines[3]]))
    assert one.unlike(two) == []


@pytest.mark.parametrize(
    ("format_", "base", "old", "new"),
    [
        pytest.param("onnx", BASE, "Abs", "Neg", id="an operator"),
        pytest.param("onnx", BASE, "axis=1", "axis=-1", id="an attribute"),
        pytest.param("onnx", BASE, "1,2,3,4}", "1,2,3,5}", id="the numbers of a constant"),
        pytest.param("onnx", BASE, "c:const[4]", "c:const[1,4]", id="the dims of a constant"),
        pytest.param("onnx", BASE, "Concat(a, b", "Concat(b, a", id="the order of operands"),
        pytest.param("onnx", BASE, "Concat(a, b", "Concat(a, a", id="what is read"),
        pytest.param("onnx", BASE, "[2,4]", "[M,4]", id="a size"),
        pytest.param("onnx", BASE, "y[", "other[", id="the name of an output"),
        pytest.param("onnx", BASE, "y[", "d[2,4] = Abs(z)\ny[", id="a node twice"),
        pytest.param("tflite", BODIES, "MUL(s", "SUB(s", id="an operator in a body"),
        pytest.param("tflite", BODIES, "{2}", "{3}", id="a constant in a body"),
    ],
)
def test_everything_else_matters(format_: str, base: str, old: str, new: str) -> None:
    assert old in base
    one, two = structures(format_, base, base.replace(old, new))
    assert one.unlike(two)


def test_a_scale_matters() -> None:
    text = "y:int8[4] = ADD(x:int8[4], c:const:int8[4]{1,2,3,4})"
    one, two = (structure(tflite_model(text, quantization={"c": Quantized(scale)})) for scale in (0.5, 0.25))
    assert one.unlike(two)
