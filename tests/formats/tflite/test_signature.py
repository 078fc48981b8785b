"""One signature of a model as a model of its own: which subgraphs come along, by which numbers, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.formats.tflite.file.container import Container, read
from graphfix.formats.tflite.file.schema import OPERATORS
from graphfix.formats.tflite.infer.names import operator_name
from graphfix.formats.tflite.signature import extract, keys
from graphfix.results import GraphfixError
from models.builders.tflite.text import Signature, model

TEXT = """y[2] = NEG(x[2])
subgraph yes(v[2]):
t[2] = NEG(v)
subgraph unused(v[2]):
t[2] = COS(v)
subgraph no(v[2]):
s:bool[] = LESS(k:const[]{1.0}, l:const[]{2.0})
t[2] = IF(s, v, then=deep, else=yes)
subgraph deep(v[2]):
t[2] = SIN(v)
subgraph choose(c:bool[], w[2]):
z[2] = IF(c, w, then=yes, else=no)
subgraph twice(c:bool[], w[2]):
z[2] = IF(c, w, then=deep, else=deep)
subgraph alone(w[2]):
z[2] = ABS(w)"""
SIGNATURES = {
    "main": Signature("main", {"x": "x"}, {"y": "y"}),
    "choose": Signature("choose", {"c": "c", "w": "w"}, {"z": "z"}),
    "same": Signature("choose", {"c": "c", "w": "w"}, {"r": "z"}),
    "twice": Signature("twice", {"c": "c", "w": "w"}, {"z": "z"}),
    "alone": Signature("alone", {"w": "w"}, {"z": "z"}),
}
DATA = model(TEXT, signatures=SIGNATURES)


def extracted(key: str, folder: Path, data: bytes = DATA) -> Container:
    (folder / "m.tflite").write_bytes(data)
    extract(folder / "m.tflite", key, folder / "out.tflite")
    return read(folder / "out.tflite")


EXTRACTED = {
    "main": (["main"], [["NEG"]], ["main"]),
    "choose": (
        ["choose", "yes", "no", "deep"],
        [["IF 1 2"], ["NEG"], ["LESS", "IF 3 1"], ["SIN"]],
        ["choose", "same"],
    ),
    "same": (
        ["choose", "yes", "no", "deep"],
        [["IF 1 2"], ["NEG"], ["LESS", "IF 3 1"], ["SIN"]],
        ["choose", "same"],
    ),
    "twice": (["twice", "deep"], [["IF 1 1"], ["SIN"]], ["twice"]),
    "alone": (["alone"], [["ABS"]], ["alone"]),
}


@pytest.mark.parametrize("key", EXTRACTED)
def test_a_signature_takes_along_what_it_runs_by_new_numbers(key: str, tmp_path: Path) -> None:
    found = extracted(key, tmp_path)
    names, operators, kept = EXTRACTED[key]
    assert [graph.name for graph in found.subgraphs] == names
    told = [
        [
            " ".join([operator_name(found, operator), *map(str, found.options(operator).values())])
            if operator_name(found, operator) == "IF"
            else operator_name(found, operator)
            for operator in graph.operators
        ]
        for graph in found.subgraphs
    ]
    assert told == operators
    assert {signature.key: signature.subgraph for signature in found.signatures} == dict.fromkeys(kept, 0)
    used = {name.partition(" ")[0] for each in operators for name in each}
    assert {OPERATORS[code.builtin] for code in found.codes} == used


def test_a_signature_says_its_subgraph(tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(DATA)
    assert keys(tmp_path / "m.tflite") == {"main": 0, "choose": 5, "same": 5, "twice": 6, "alone": 7}


REFUSED = {
    "an unknown signature": ("other", DATA, "no such signature; signatures: main, choose, same, twice, alone"),
    "a model without signatures": ("other", model("y[2] = NEG(x[2])"), "no such signature; signatures: none"),
    "subgraphs that are counted": (
        "alone",
        model(TEXT, signatures=SIGNATURES, metadata={"model_control_dependencies": b"x"}),
        "the metadata 'model_control_dependencies' counts subgraphs, which change; remove it",
    ),
    "an operator of StableHLO": (
        "main",
        model(
            "y[2] = STABLEHLO_COMPOSITE(x[2], decomposition_subgraph_index=inside)\n"
            "subgraph inside(v[2]):\nt[2] = NEG(v)",
            signatures={"main": SIGNATURES["main"]},
        ),
        "an operator of StableHLO names subgraphs; export the signature alone",
    ),
}


@pytest.mark.parametrize(("key", "data", "words"), REFUSED.values(), ids=REFUSED)
def test_what_can_not_be_taken_apart_is_refused(key: str, data: bytes, words: str, tmp_path: Path) -> None:
    with pytest.raises(GraphfixError) as caught:
        extracted(key, tmp_path, data)
    assert words in str(caught.value)
    assert not (tmp_path / "out.tflite").exists()
