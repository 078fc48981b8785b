"""Every case of the reference documents, put to the public functions of the shape algebra."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from graphfix.shapes import shape as shapes
from graphfix.shapes.dim import INVALID, INVALID_SIZE, UNKNOWN, UNRANKED, Incompatible, Shape
from tests.support import shape_dialect as dialect
from tests.support.places import ROOT
from tests.support.shape_dialect import of

if TYPE_CHECKING:
    from collections.abc import Callable

RECORDS: list[dict[str, Any]] = json.loads((ROOT / "tests" / "data" / "reference_cases.json").read_text())

DESCRIPTIVE = {"id", "source", "kind", "op", "why", "spec", "agrees", "also", "flag", "note"}
"""Fields that say where a record comes from; the others are expectations and a check must read them."""

CHOSEN: dict[str, tuple[str, dict[str, Any]]] = {
    "seedB-infer-04": ("infer_result drops an unranked operand as the trait says", {}),
    "seedB-bad-02": ("a declared rank that differs from the inferred one is rejected", {}),
    "seedB-bad-03": ("a cast to static is accepted unless strict", {"strict_only": True}),
    "seedB-row-06": ("a declared rank that differs from the inferred one is rejected", {}),
    "seedR-mod2-01": ("Modification 2 was undone: only strict rejects the cast", {"strict_only": True}),
    "seedR-mod2-02": (
        "main's reading of the same cast, which strict rejects",
        {"ok": False, "strict_only": True},
    ),
    "seedR-rank-01": ("unequal ranks are legal when written: equalize-ranks is there for them", {}),
    "sb-09": ("broadcast answers [*] for an unranked operand, as the shape dialect says", {}),
    "sb-13": ("an invalid operand gives invalid, whatever the others are", {}),
    "sb-17": ("(unknown, 1) is unknown: 1 is unsound", {"result": ["?"], "inferred": ["?"]}),
    "sb-18": ("(1, unknown) is unknown: 1 is unsound", {"result": ["?"], "inferred": ["?"]}),
    "sb-19": ("(0, unknown) is 0: the unknown can only be 0 or 1", {}),
    "sa-08": (
        "any_ gives the first operand where their join is a contradiction",
        {"result": [2, 3], "inferred": [2, 3]},
    ),
    "sa-09": ("an invalid operand gives invalid", {}),
    "ss-19": ("an invalid operand gives invalid parts", {}),
    "sc-08": ("an unranked part makes the whole unranked", {}),
    "sn-06": ("a 0 makes the product 0 whatever the unknown is", {"result": 0, "inferred": 0}),
    "sn-07": ("an unranked shape has an unknown number of elements", {}),
    "sn-09": ("exact: no 64-bit wrap-around", {}),
    "sn-10": ("exact: no 64-bit wrap-around", {}),
    "cb-24": ("an invalid shape broadcasts with nothing", {}),
    "ce-12": ("two unknown sizes are not equal, nor different", {}),
    "ce-14": ("a guaranteed difference on one axis decides", {}),
    "rfc-10": ("unequal ranks are legal when written", {}),
}
"""The records on which documents disagree: the answer chosen here, and what of the record it replaces."""


class Case(dict[str, Any]):
    """A record that knows which of its fields a check has read."""

    def __init__(self, record: dict[str, Any]) -> None:
        super().__init__(record)
        self.read: set[str] = set()

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401  # JSON
        self.read.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ANN401  # JSON
        self.read.add(key)
        return super().get(key, default)

    @property
    def inputs(self) -> tuple[Shape, ...]:
        return tuple(map(decoded, self["inputs"]))

    @property
    def poisoned(self) -> bool:
        return "invalid" in self["inputs"]


def decoded(shape: list[int | str] | str) -> Shape:
    if isinstance(shape, str):
        return {"*": UNRANKED, "invalid": INVALID}[shape]
    return of(*(UNKNOWN if size == "?" else int(size) for size in shape))


def written(shape: list[int | str] | str) -> str:
    """Give the notation of an expected shape, without the code under test."""
    return f"[{shape}]" if isinstance(shape, str) else f"[{', '.join(map(str, shape))}]"


def check_infer(case: Case) -> None:
    assert case["result"] == case["inferred"]
    if not case["ok"]:
        with pytest.raises(Incompatible):
            dialect.infer_result(*case.inputs)
        return
    result = dialect.infer_result(*case.inputs)
    assert (result and str(result)) == (None if case["result"] is None else written(case["result"]))


def accepts(case: Case, *, strict: bool) -> bool:
    try:
        dialect.verify_result(case.inputs, decoded(case["result"]), strict)
    except Incompatible:
        return False
    return True


def check_verify(case: Case) -> None:
    assert accepts(case, strict=True) == case["ok"]
    assert accepts(case, strict=False) == (case["ok"] or case.get("strict_only", False))
    check_inferred(case)


def check_inferred(case: Case) -> None:
    if case["inferred"] is not None:
        assert str(dialect.infer_result(*case.inputs)) == written(case["inferred"])
    elif case["ok"]:
        assert dialect.infer_result(*case.inputs) is None
    else:
        with pytest.raises(Incompatible):
            dialect.infer_result(*case.inputs)


def check_broadcast(case: Case) -> None:
    assert case["result"] == case["inferred"]
    if case["ok"] or case.poisoned:
        assert str(shapes.broadcast(*case.inputs)) == written(case["result"])
        return
    assert case["result"] == "invalid"
    with pytest.raises(Incompatible):
        shapes.broadcast(*case.inputs)


def check_shape(function: Callable[..., Shape]) -> Callable[[Case], None]:
    def check(case: Case) -> None:
        assert case["result"] == case["inferred"]
        result = function(*case.inputs)
        assert str(result) == written(case["result"])
        assert result.valid == (case["ok"] and not case.poisoned)

    return check


def check_split_at(case: Case) -> None:
    assert case["inferred"] is None
    (shape,) = case.inputs
    if not case["ok"]:
        assert case["result"] is None
        with pytest.raises(IndexError):
            dialect.split_at(shape, case["index"])
        return
    assert [str(part) for part in dialect.split_at(shape, case["index"])] == list(map(written, case["result"]))


def check_num_elements(case: Case) -> None:
    assert case["result"] == case["inferred"]
    (shape,) = case.inputs
    assert str(dialect.num_elements(shape)) == str(case["result"])
    assert (dialect.num_elements(shape) == INVALID_SIZE) == (not case["ok"])


def check_witness(function: Callable[..., bool | None]) -> Callable[[Case], None]:
    def check(case: Case) -> None:
        assert case["result"] is case["inferred"] is None
        witness = function(*case.inputs)
        assert witness is case["witness"]
        assert (witness is not False) == case["ok"]
        assert dialect.assuming_all(True, witness) is witness

    return check


def check_rank_equalize(case: Case) -> None:
    check_verify(case)
    check_reshaped(case)


def check_reshaped(case: Case) -> None:
    lifted = dialect.equalize_ranks(*case.inputs)
    for before, after, expected in zip(case.inputs, lifted, case["reshaped"], strict=True):
        assert str(after) == (str(before) if expected is None else written(expected))


def check_lowering(case: Case) -> None:
    if "runtime" in case:
        check_run_time(case)
        return
    assert accepts(case, strict=False) == case["ok"]
    check_inferred(case)
    if not case["ok"]:
        with pytest.raises(Incompatible):
            shapes.stretches(case.inputs, 0)
        return
    answers = [shapes.stretches(case.inputs, operand) for operand in range(len(case.inputs))]
    maybe = [[operand, axis] for operand, axes in enumerate(answers) for axis, is_ in enumerate(axes) if is_ == "maybe"]
    assert maybe == case["cond"]
    result = shapes.broadcast(*case.inputs)
    lifted = dialect.equalize_ranks(*case.inputs)
    unknowns = [sum(shape.dims[axis] == UNKNOWN for shape in lifted) for axis in range(result.rank)]
    assert [axis for axis, count in enumerate(unknowns) if count > 1 and result.dims[axis] == UNKNOWN] == case[
        "maxdims"
    ]
    assert (str(result) != written(case["result"])) == case["cast"]
    if "reshaped" in case:
        check_reshaped(case)


def check_run_time(case: Case) -> None:
    """Hold what is said before the run against what happens in it with these sizes."""
    assert case["inferred"] is None
    actual = tuple(map(decoded, case["runtime"]))
    dialect.verify_result(case.inputs, decoded(case["result"]))
    witness = shapes.cstr_broadcastable(*case.inputs)
    if case["runtime_result"] == "ub":
        assert not case["ok"]
        assert witness is None
        with pytest.raises(Incompatible):
            shapes.broadcast(*actual)
        return
    assert case["ok"]
    assert witness is not False
    assert str(shapes.broadcast(*actual)) == written(case["runtime_result"])
    assert np.broadcast_shapes(*case["runtime"]) == tuple(case["runtime_result"])
    assert shapes.cstr_eq(shapes.broadcast(*case.inputs), decoded(case["runtime_result"])) is not False
    assert shapes.cstr_eq(decoded(case["result"]), decoded(case["runtime_result"])) is not False
    for operand, sizes in enumerate(case["runtime"]):
        repeated = [size != out for size, out in zip(sizes, case["runtime_result"], strict=True)]
        answers = shapes.stretches(case.inputs, operand)
        assert not any(was and said == "no" for was, said in zip(repeated, answers, strict=True))


CHECKS: dict[str, Callable[[Case], None]] = {
    "infer": check_infer,
    "verify": check_verify,
    "rank_equalize": check_rank_equalize,
    "shape_broadcast": check_broadcast,
    "shape_any": check_shape(dialect.any_),
    "shape_join": check_shape(shapes.join),
    "shape_split_at": check_split_at,
    "shape_concat": check_shape(dialect.concat),
    "shape_num_elements": check_num_elements,
    "cstr_broadcastable": check_witness(shapes.cstr_broadcastable),
    "cstr_eq": check_witness(shapes.cstr_eq),
    "dyn_lowering": check_lowering,
}


@pytest.mark.parametrize("record", RECORDS, ids=[record["id"] for record in RECORDS])
def test_the_record_holds_and_every_expectation_in_it_is_read(record: dict[str, Any]) -> None:
    _reason, replaced = CHOSEN.get(record["id"], ("", {}))
    case = Case({**record, **replaced})
    CHECKS[record["kind"]](case)
    assert set(case) - DESCRIPTIVE <= case.read


def test_every_record_is_consumed_once() -> None:
    assert len(RECORDS) == 180
    assert len({record["id"] for record in RECORDS}) == 180
    assert {record["kind"] for record in RECORDS} == set(CHECKS)


def test_every_disagreement_between_documents_has_a_chosen_answer_and_a_reason() -> None:
    flagged = {record["id"] for record in RECORDS if "flag" in record}
    assert flagged | {"seedR-mod2-02"} == set(CHOSEN)
    assert all(reason for reason, _replaced in CHOSEN.values())
