"""The published JSON Schema: what commands write of real models fits it, and no field of that is missing."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from graphfix.cli.commands import main
from graphfix.report.forms import registry
from graphfix.report.forms.json import json_text
from graphfix.report.text import Entry, Failure
from graphfix.results import Conversion, Gap, OpenSizes, Outcome, Run, Site, Verdict
from graphfix.results.claims import Contradiction, Facts
from tests.support.notation import model
from tests.support.places import ROOT

Document = dict[str, Any]
SCHEMA: Document = json.loads(registry.schema_text())
SHUT = copy.deepcopy(SCHEMA)
"""The schema with no room for fields that it does not name."""


def objects(part: object) -> Iterator[Document]:
    """Every description of an object with named fields."""
    if isinstance(part, dict):
        if isinstance(part.get("properties"), dict):
            yield part
        part = list(part.values())
    if isinstance(part, list):
        for each in part:
            yield from objects(each)


for described in objects(SHUT):
    described["additionalProperties"] = False


def fits(document: object, schema: Document = SCHEMA) -> bool:
    return jsonschema.Draft202012Validator(schema).is_valid(document)


EVERYTHING = Outcome(
    "tosa",
    "m.tflite",
    "tflite",
    target="tosa",
    output="o.tosa",
    changed=True,
    rewrites={"equalize-ranks": 1},
    sites=(Site("GF101", "ADD#0", "ADD", "main", None, (1, "N", None), None, "left", None, "why", 4, True, "rounds"),),
    verdict=Verdict(
        "different",
        runs=(Run({"N": 1}, "off", "different", 1, math.inf, "why", "builtin", "serve"),),
        exceptions=({"class": "nan-payload", "output": "y", "site": None, "count": 1, "kernels": "xnnpack"},),
        first_difference={
            "tensor": "y",
            "producer": "ADD#0",
            "index": [0, "key"],
            "before": math.nan,
            "after": True,
            "count": 1,
        },
        reason="why",
        proof={
            "status": "not proved",
            "reason": "why",
            "first": {
                "before": "Add 'n'",
                "after": None,
                "nodes": {
                    "before": {
                        "graph": "main",
                        "node": "n",
                        "notation": "y = Add(a, b)",
                        "maps": [{"operand": 0, "value": "a", "map": "(d0) -> (d0)", "of": None, "through": None}],
                    },
                    "after": None,
                },
            },
            "assumes": ["a"],
            "notes": ["n"],
            "inexact": ["GELU#0"],
            "seconds": 0.1,
        },
        assumes=("a",),
        facts=Facts(1, 1, 1, Contradiction("y", "[2]", (3,), "")),
        seed=1,
        versions={"LiteRT": "2"},
        sha256={"before": "0" * 64, "after": "f" * 64},
        newer=("n",),
    ),
    assumes=("a",),
    open_sizes=(OpenSizes(1, ("N", "2"), "--dim N=<size>", "text"),),
    notes=("n",),
    seconds={"load": 0.5},
    conversion=Conversion(
        "differs", "torch-mlir", "why", {"tosa.add": 1}, "o.mlirbc", (Gap("y", math.inf, None, False, 0.1, 2.0),), 1
    ),
)
"""Each field has something in it."""


def written(*entries: Entry) -> Document:
    document: Document = json.loads(json_text(entries))
    return document


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert SCHEMA["$id"]


@pytest.mark.ci
def test_every_field_that_can_be_written_is_described() -> None:
    jsonschema.validate(written(EVERYTHING), SHUT, jsonschema.Draft202012Validator)
    failed = Failure("check", "bad.onnx", "bad.onnx: empty")
    jsonschema.validate(written(failed), SHUT, jsonschema.Draft202012Validator)
    jsonschema.validate(written(EVERYTHING, failed), SHUT, jsonschema.Draft202012Validator)
    assert fits(written())


def test_fields_may_be_added() -> None:
    assert fits({**written(EVERYTHING), "news": 1})
    assert not fits({**written(EVERYTHING), "news": 1}, SHUT)


def places(part: object) -> Iterator[tuple[Any, Any]]:
    """Every field of every object in a document, and the elements of its lists: container and key."""
    if isinstance(part, dict):
        for key, value in part.items():
            yield part, key
            yield from places(value)
    elif isinstance(part, list):
        for value in part:
            yield from places(value)


FREE = {"before", "after", "reason", "first_difference", "operand"}
"""Fields that may be of more than one kind, or null: a null is no mistake there."""


@pytest.mark.ci
def test_a_field_that_is_missing_or_of_another_type_is_refused() -> None:
    document = written(EVERYTHING)
    optional = {"index", "producer", "count", "kernels", "before", "after"}  # of a difference and an exception
    mappings = [document["rewrites"], document["seconds"], document["conversion"]["operators"]]
    mappings += [document["conversion"]["versions"], *(document["verdict"][key] for key in ("versions", "sha256"))]
    mappings += [document["verdict"]["runs"][0]["bindings"]]
    loose = [document["verdict"]["first_difference"], *document["verdict"]["exceptions"]]
    asked = 0
    for holder, key in list(places(document)):
        value = holder[key]
        holder[key] = {"of another": "type"} if not isinstance(value, dict) else "of another type"
        assert not fits(document), f"{key} may be anything"
        del holder[key]
        named = not any(holder is each for each in mappings)
        if named and not (key in optional and any(holder is each for each in loose)):
            assert not fits(document), f"{key} may be left out"
        holder[key] = value
        asked += 1
    assert asked > 80
    assert fits(document)


def test_a_status_that_nobody_knows_is_refused() -> None:
    document = written(EVERYTHING)
    document["sites"][0]["status"] = "lost"
    assert not fits(document)


def test_a_command_without_a_verdict_fits() -> None:
    assert fits(written(replace(EVERYTHING, command="check", verdict=None, conversion=None, target=None)), SHUT)


# --- what the commands write ------------------------------------------------------------------------------------------


def asked(capsys: pytest.CaptureFixture[str], *arguments: object) -> Document:
    main([*map(str, arguments), "--json"])
    document: Document = json.loads(capsys.readouterr().out)
    return document


@pytest.mark.ci
@pytest.mark.parametrize("name", ["encoder.onnx", "rfc_rank_expansion.tflite", "bodies/if.onnx", "bodies/while.tflite"])
def test_what_fix_check_and_verify_write_of_a_model(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, output = ROOT / "models" / name, tmp_path / f"out{Path(name).suffix}"
    for line in (["check", source], ["fix", source, "-o", output], ["verify", source, output, "--runs", "1"]):
        jsonschema.validate(asked(capsys, *line), SHUT, jsonschema.Draft202012Validator)


@pytest.mark.ci
def test_what_is_written_of_models_that_differ_or_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, line in (("one", "y[2,3] = Add(x[2,3], b[3])"), ("two", "y[2,3] = Sub(x[2,3], b[3])")):
        (tmp_path / f"{name}.onnx").write_bytes(model(line).SerializeToString())
    (tmp_path / "bad.onnx").write_bytes(b"")
    different = asked(capsys, "verify", tmp_path / "one.onnx", tmp_path / "two.onnx")
    assert different["verdict"]["first_difference"]
    assert different["verdict"]["proof"]["first"]["nodes"]["before"]["maps"]
    several = asked(capsys, "check", tmp_path / "one.onnx", tmp_path / "bad.onnx")
    assert "error" in several["models"][1]
    for document in (different, several, asked(capsys, "check", tmp_path / "bad.onnx")):
        jsonschema.validate(document, SHUT, jsonschema.Draft202012Validator)


@pytest.mark.ci
@pytest.mark.tosa
def test_what_tosa_writes_of_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = ROOT / "models" / "matmul.onnx"
    options = ("--bind-defaults", "--no-verify", "--run")
    document = asked(capsys, "tosa", source, "-o", tmp_path / "m.tosa", *options)
    assert document["conversion"]["gaps"]
    jsonschema.validate(document, SHUT, jsonschema.Draft202012Validator)
