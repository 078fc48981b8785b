"""An outcome that was written as JSON is the same when it is read, and what is of another shape is none."""

from __future__ import annotations

import json
import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphfix.api import pipeline
from graphfix.batch.jobs.outcome_json import TAGS, converter
from graphfix.engine.request import Request
from graphfix.results import Outcome, Run, Site, Verdict
from graphfix.tosa import command
from tests.support.places import ROOT, model_id
from tests.support.tiers import in_turn, of_ci

FLOATS = st.floats().map(lambda number: number + 0.0)
"""All but -0.0, which is the default 0.0, and so left out."""
PLAIN = st.none() | st.booleans() | st.integers() | FLOATS | st.text()
ANY = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text() | st.sampled_from(sorted(TAGS)) | st.integers() | st.none(), inner, max_size=2)
    ),
    max_leaves=6,
)


def values(kind: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401, C901, PLR0911 -- a type's form
    """Values of a declared type, at their usual and at their odd ends."""
    origin, inside = get_origin(kind), get_args(kind)
    if kind is Any:
        return ANY
    if origin is Final:
        return values(inside[0])
    if origin is Literal:
        return st.sampled_from(inside)
    if origin in (Union, types.UnionType):
        return st.one_of([values(each) for each in inside])
    if origin is tuple and inside[-1] is not Ellipsis:
        return st.tuples(*map(values, inside))
    if origin in (tuple, Sequence):
        return st.lists(values(inside[0]), max_size=3).map(tuple)
    if origin is Mapping:
        return st.dictionaries(values(inside[0]), values(inside[1]), max_size=3)
    plain = {int: st.integers(), float: FLOATS, bool: st.booleans(), str: st.text(), types.NoneType: st.none()}
    if kind in plain:
        return plain[kind]
    hints = get_type_hints(kind)
    return st.builds(kind, **{each.name: values(hints[each.name]) for each in fields(kind)})


def there_and_back(outcome: Outcome) -> Outcome:
    return converter().structure(json.loads(json.dumps(converter().unstructure(outcome), allow_nan=False)), Outcome)


@pytest.mark.ci
@given(st.deferred(lambda: values(Outcome)))
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
def test_each_field_of_an_outcome_comes_back(outcome: Outcome) -> None:
    assert repr(there_and_back(outcome)) == repr(outcome)  # NaN is itself, and 1 is not 1.0 or (1,) not [1]


def same(value: object) -> object:
    """A record by its fields; a sequence is a tuple, whatever it was where it was made."""
    if is_dataclass(value):
        return type(value), {each.name: same(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {key: same(each) for key, each in value.items()}
    return tuple(map(same, value)) if isinstance(value, Sequence) and not isinstance(value, str) else value


MODELS = sorted(
    path
    for suffix in (".onnx", ".tflite")
    for path in (ROOT / "models").rglob(f"*{suffix}")
    if "zoo" not in path.parts and path.stat().st_size < 100_000 and "incompatible" not in path.name
)


@pytest.mark.parametrize(("path", "excerpt"), in_turn(of_ci(MODELS[::40], model_id), [False, True]))
def test_what_is_said_of_real_models_comes_back(tmp_path: Path, path: Path, excerpt: bool) -> None:
    request = Request(excerpt=excerpt, unknown="assume")
    for outcome in (pipeline.check(path, request), pipeline.fix_file(path, tmp_path / path.name, request)):
        assert same(there_and_back(outcome)) == same(outcome)
        assert (outcome.excerpt is not None) is excerpt


def test_a_difference_comes_back(tmp_path: Path) -> None:
    model = onnx.load(ROOT / "models" / "rfc" / "static_to_static.onnx")
    for node in model.graph.node:
        node.op_type = {"Add": "Sub", "Mul": "Add"}.get(node.op_type, node.op_type)
    onnx.save(model, tmp_path / "other.onnx")
    outcome = pipeline.verify(ROOT / "models" / "rfc" / "static_to_static.onnx", tmp_path / "other.onnx", Request())
    assert outcome.verdict is not None
    assert outcome.verdict.first_difference is not None
    assert there_and_back(outcome) == outcome


@pytest.mark.ci
@pytest.mark.tosa
@pytest.mark.parametrize("name", ["matmul.onnx", "prelu_int8.tflite"])
def test_a_conversion_comes_back(tmp_path: Path, name: str) -> None:
    request = Request(bind_defaults=True, run=True)
    outcome = command.fix_and_convert(ROOT / "models" / name, tmp_path / "m.tosa", request)
    assert outcome.conversion is not None
    assert there_and_back(outcome) == outcome


SITE = Site("GF101", "a", "Add", "main", 0, (1, "N", None), None, "found")
OUTCOME = Outcome("fix", "m.onnx", "onnx", sites=(SITE,), seconds={"load": 0.5})


@pytest.mark.parametrize(
    "change",
    [
        {"command": 3},
        {"changed": "yes"},
        {"changed": 1},
        {"suppressed": "3"},
        {"suppressed": 3.0},
        {"suppressed": True},
        {"seconds": {"load": "0.5"}},
        {"seconds": {"load": True}},
        {"seconds": [["load", 0.5]]},
        {"sites": "abc"},
        {"sites": {"a": 1}},
        {"sites": [{"code": "GF101"}]},
        {"sites": [{**converter().unstructure(OUTCOME)["sites"][0], "status": "unheard of"}]},
        {"sites": [{**converter().unstructure(OUTCOME)["sites"][0], "before": [1.5]}]},
        {"sites": [{**converter().unstructure(OUTCOME)["sites"][0], "before": 3}]},
        {"assumes": [1]},
        {"verdict": []},
        {"verdict": {"status": "proved", "proof": {"first": {"float": 3}}}},
        {"verdict": {"status": "proved", "proof": {"first": {"tuple": 3}}}},
        {"verdict": {"status": "proved", "proof": {"first": {"map": [1]}}}},
        {"own_codes": {"a": None}},
        {"another": 1},
    ],
    ids=str,
)
def test_another_shape_is_refused(change: dict[str, Any]) -> None:
    data = converter().unstructure(OUTCOME)
    assert converter().structure(data, Outcome) == OUTCOME
    with pytest.raises(Exception):  # noqa: B017, PT011 -- cattrs has many; whoever reads a record takes all
        converter().structure({**data, **change}, Outcome)


def test_a_default_takes_no_room() -> None:
    assert set(converter().unstructure(replace(OUTCOME, sites=(), seconds={}))) == {"command", "source", "format"}


TOLD = Outcome(
    "fix",
    "m.onnx",
    "onnx",
    changed=True,
    sites=(SITE,),
    verdict=Verdict(
        "different",
        runs=(Run({"N": 3}, "on", "different", 12, math.inf),),
        first_difference={"tensor": "y", "index": (0, 1), "before": math.nan, "count": 6, "more": {1: None}},
    ),
    seconds={"load": 0.25, "verify": 1.0},
)


def test_shapes_sequences_and_numbers_of_all_kinds_come_back() -> None:
    forms = converter()
    text = json.dumps(forms.unstructure(TOLD), allow_nan=False)
    found = forms.structure(json.loads(text), Outcome)
    assert repr(found) == repr(TOLD)
    assert found.sites == TOLD.sites
    assert isinstance(found.sites[0].before, tuple)
    assert found.verdict is not None
    assert TOLD.verdict is not None
    assert repr(found.verdict.first_difference) == repr(TOLD.verdict.first_difference)
    assert found.verdict.runs == TOLD.verdict.runs


def test_what_json_has_no_form_for_is_tagged_and_nothing_else() -> None:
    written = converter().unstructure(TOLD)
    assert written["seconds"] == {"load": 0.25, "verify": 1.0}
    assert written["verdict"]["runs"][0]["largest_difference"] == {"float": "inf"}
    assert written["verdict"]["first_difference"] == {
        "tensor": "y",
        "index": {"tuple": [0, 1]},
        "before": {"float": "nan"},
        "count": 6,
        "more": {"map": [[1, None]]},
    }


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, None),
        (True, True),
        (3, 3),
        ("a", "a"),
        (0.5, 0.5),
        (-math.inf, {"float": "-inf"}),
        ((1, (2,)), {"tuple": [1, {"tuple": [2]}]}),
        ([1, (2,)], [1, {"tuple": [2]}]),
        ({"a": (1,), "b": 2}, {"a": {"tuple": [1]}, "b": 2}),
        ({"float": 1}, {"map": [["float", 1]]}),
        ({"float": 1, "tuple": 2}, {"float": 1, "tuple": 2}),
        ({1: (2,)}, {"map": [[1, {"tuple": [2]}]]}),
        ({"a": 1, None: 2}, {"map": [["a", 1], [None, 2]]}),
        ({}, {}),
    ],
    ids=str,
)
def test_a_value_of_any_type_has_one_form_and_comes_back(value: object, written: object) -> None:
    outcome = replace(OUTCOME, verdict=Verdict("different", first_difference={"it": value}))
    data = converter().unstructure(outcome)
    assert repr(data["verdict"]["first_difference"]) == repr({"it": written})
    found = converter().structure(data, Outcome).verdict
    assert found is not None
    assert repr(found.first_difference) == repr({"it": value})


def test_a_value_that_json_has_no_form_for_is_an_error_that_names_its_type() -> None:
    outcome = replace(OUTCOME, verdict=Verdict("different", first_difference={"it": b"bytes"}))
    with pytest.raises(TypeError, match=r"^bytes: no form of it as JSON is known$"):
        converter().unstructure(outcome)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"changed": 1}, "1 is no bool"),
        ({"suppressed": "3"}, "'3' is no int"),
        ({"command": 3}, "3"),
        ({"sites": "abc"}, "'abc' is no list"),
        ({"seconds": {"load": True}}, "True is no number"),
        ({"verdict": {"status": "proved", "proof": {"first": {"tuple": 3}}}}, "3 is no list"),
        ({"verdict": {"status": "proved", "proof": {"first": {"float": 3}}}}, "3 is no str"),
    ],
    ids=str,
)
def test_a_field_of_another_type_is_said_by_its_value(change: dict[str, Any], said: str) -> None:
    with pytest.raises(Exception, match=said):
        converter().structure({**converter().unstructure(OUTCOME), **change}, Outcome)


def test_a_whole_number_where_a_float_is_declared_stays_one() -> None:
    found = converter().structure({**converter().unstructure(OUTCOME), "seconds": {"load": 2}}, Outcome)
    assert repr(found.seconds) == "{'load': 2}"
