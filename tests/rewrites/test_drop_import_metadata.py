"""Which metadata entries of a TFLite file go, and that the converter to TOSA is misled by no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from graphfix.graph.edits import DropMetadata, Edit, Refused
from graphfix.targets.tosa.tflite import METADATA
from models.builders.tflite.text import model
from rewrites.tosa.drop_import_metadata import plan_model
from tests.support import engine
from tests.support.named import rules
from tests.support.notation import model as onnx_model
from tests.support.notation import node
from tests.support.runtimes.arm_converter import convert
from tests.support.tflite.fixing import fixed, tree

if TYPE_CHECKING:
    from pathlib import Path

CONSTANTS, DEPENDENCIES = "keep_stablehlo_constant", "model_control_dependencies"
ADD = "y[2,3] = ADD(x[2,3], c:const[2,3])"
TWO = f"{ADD}\nz[2,3] = MUL(x, d:const[2,3])"
EDGE = bytes([1, 1, 1, 0, 2])
"""Version 1, one subgraph, one edge: operator 0 before operator 1."""


def dropped(text: str, *entries: str) -> list[str]:
    planned = node(text)
    planned.graph.metadata = entries
    planned.graph.inputs = [value for value in planned.operands if value is not None]
    edits: list[Edit] = [edit for _, each in plan_model([planned.graph]) for edit in each]
    assert all(isinstance(edit, DropMetadata) and edit.why == METADATA[edit.name] for edit in edits)
    return [edit.name for edit in edits if isinstance(edit, DropMetadata)]


@pytest.mark.parametrize(
    ("text", "entries", "names"),
    [
        ("y[2] = tflite.NEG(x[2])", ("min_runtime_version", CONSTANTS), [CONSTANTS]),
        ("y[2] = tflite.NEG(x[2])", (CONSTANTS, CONSTANTS), [CONSTANTS]),
        ("y[2] = tflite.NEG(x[2])", (DEPENDENCIES, CONSTANTS), [DEPENDENCIES, CONSTANTS]),
        ("y[2] = tflite.NEG(x[2])", ("min_runtime_version", "CONVERSION_METADATA"), []),
        ("y[2] = tflite.RANDOM_UNIFORM(x:int32[1])", (DEPENDENCIES, CONSTANTS), [CONSTANTS]),
        ("y[2] = own.NEG(x[2])", (DEPENDENCIES,), []),
    ],
    ids=["one entry", "one name twice", "both", "entries that do not mislead", "a state orders", "so may a custom one"],
)
def test_entries_that_mislead_the_converter_go(text: str, entries: tuple[str, ...], names: list[str]) -> None:
    assert dropped(text, *entries) == names


@pytest.mark.parametrize("value", [b"true", b"false", b""], ids=["true", "false", "empty"])
def test_the_entry_goes_whatever_it_holds_and_the_others_stay(value: bytes) -> None:
    entries = {"min_runtime_version": b"1.5.0", CONSTANTS: value, "note": b"kept"}
    found = fixed(model(ADD, metadata=entries), rewrites=rules("drop-import-metadata"))
    (site,) = found.outcome.sites
    assert (site.code, site.status, site.rewrite) == ("GF304", "changed", "drop-import-metadata")
    assert site.reason == f"the file has the metadata entry {CONSTANTS!r}: {METADATA[CONSTANTS]}"
    after = tree(found.data)
    kept = {entry.name.decode(): bytes(after.buffers[entry.buffer].data) for entry in after.metadata}
    assert kept == {"min_runtime_version": b"1.5.0", "note": b"kept"}
    assert found.view == ["y[2,3] = ADD(x[2,3], c[2,3])"]


def test_a_file_without_such_an_entry_is_copied() -> None:
    found = fixed(model(ADD, metadata={"note": b"kept"}), rewrites=rules("drop-import-metadata"))
    assert found.data == found.before


def test_the_order_stays_where_an_operator_reads_a_variable() -> None:
    data = model("v:variable[2,3]\ny[2,3] = ADD(v, x[2,3])", metadata={DEPENDENCIES: EDGE})
    assert fixed(data, rewrites=rules("drop-import-metadata")).data == data


def test_what_the_entry_forbade_is_done_once_it_is_gone() -> None:
    text = f"{TWO}\nw[2,3] = ADD(x, v[3])"
    found = fixed(model(text, metadata={DEPENDENCIES: EDGE}), target="tosa")
    assert found.counts == {"drop-import-metadata": 1, "equalize-ranks": 1}
    assert not found.left


def test_an_entry_that_the_file_has_not_is_refused() -> None:
    opened = engine.load(model(ADD))
    with pytest.raises(Refused, match="no metadata entry 'other'"):
        opened.apply(opened.graphs[0].nodes[0], [DropMetadata("other", "", "GF304")])


def test_an_onnx_file_has_no_such_entries() -> None:
    opened = engine.load(onnx_model("y[2] = Neg(x[2])").SerializeToString())
    with pytest.raises(Refused, match="TFLite"):
        opened.apply(opened.graphs[0].nodes[0], [DropMetadata("other", "", "GF304")])


@pytest.mark.alike(2)
@pytest.mark.tosa
@pytest.mark.parametrize(
    "name",
    [
        *METADATA,
        *("min_runtime_version", "CONVERSION_METADATA", "reduced_precision_support", "TFLITE_METADATA"),
        *("buffer_location", "debug_metadata", "LiteRtStamp", "unknown"),
    ],
)
def test_the_converter_is_misled_by_the_listed_entries_alone(name: str, tmp_path: Path) -> None:
    """A version of the converter that reads another entry, or none, fails here."""
    path = tmp_path / "m.tflite"
    value = {DEPENDENCIES: EDGE, "debug_metadata": bytes(16)}.get(name, b"true")
    path.write_bytes(model(TWO, metadata={name: value}, outputs=["y", "z"]))
    made = tmp_path / "m.mlirbc"
    accepted = convert(path, made).accepted
    plain = accepted and b"stablehlo" not in made.read_bytes()
    assert plain is (name not in METADATA)
