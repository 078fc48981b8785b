"""Results of a TFLite file whose rank is not stated: their shapes are."""

from __future__ import annotations

import pytest

from graphfix.graph.edits import Refused, StateShape
from models.builders.tflite.text import model
from rewrites.tosa.state_ranks import plan
from tests.support import engine
from tests.support.named import rules
from tests.support.notation import model as onnx_model
from tests.support.notation import node
from tests.support.tflite.fixing import fixed, tree

MAX = "m[] = REDUCE_MAX(x[2,3], a:const:int32[2]{0,1}, keep_dims=False)\ny[2,3] = SUB(x, m)"


@pytest.mark.parametrize(
    ("text", "unstated", "stated"),
    [
        ("y[] = tflite.REDUCE_MAX(x[2], a:const:int32[1]{0})", True, ["y[]"]),
        ("y[2] = tflite.NEG(x[2])", True, ["y[2]"]),
        ("y[] = tflite.REDUCE_MAX(x[2], a:const:int32[1]{0})", False, []),
        ("y[*] = tflite.NEG(x[*])", True, []),
        ("y[?] = tflite.NEG(x[?])", True, []),
    ],
    ids=["a scalar", "a vector", "it is stated", "the rank is not known", "a size is not known"],
)
def test_a_shape_that_is_known_and_not_stated_is_stated(text: str, unstated: bool, stated: list[str]) -> None:
    planned = node(text)
    planned.graph.without_rank = set(planned.results) - {None} if unstated else ()
    edits = [edit for edit in plan(planned) if isinstance(edit, StateShape)]
    assert [str(edit.value) for edit in edits] == stated
    assert [edit.why for edit in edits] == [f"the file states no rank for the result {value}" for value in stated]


def test_the_rank_of_a_computed_scalar_is_written_and_nothing_else() -> None:
    found = fixed(model(MAX, has_rank=False), rewrites=rules("state-ranks"))
    (site,) = found.outcome.sites
    assert (site.code, site.op, site.reason) == ("GF304", "REDUCE_MAX", "the file states no rank for the result m[]")
    before, after = (tree(data).subgraphs[0] for data in (found.before, found.data))
    assert [tensor.name for tensor in after.tensors if tensor.hasRank] == [b"m"]
    for old, new in zip(before.tensors, after.tensors, strict=True):
        assert (old.name, old.type, old.buffer) == (new.name, new.type, new.buffer)
        assert list([] if old.shape is None else old.shape) == list([] if new.shape is None else new.shape)


def test_a_model_that_states_its_ranks_is_copied() -> None:
    found = fixed(model(MAX), rewrites=rules("state-ranks"))
    assert found.data == found.before


def test_other_targets_leave_the_rank_unstated() -> None:
    assert "state-ranks" not in engine.fix(engine.load(model(MAX, has_rank=False)), target="ranks").rewrites


def test_a_shape_of_unknown_rank_is_refused() -> None:
    opened = engine.load(model("y[] = CUSTOM.my_op(x[2])", has_rank=False))
    node_ = opened.graphs[0].nodes[0]
    assert node_.results[0] is not None
    with pytest.raises(Refused, match="the rank of 'y' is not known"):
        opened.apply(node_, [StateShape(node_.results[0], "no rank", "GF304")])


def test_what_an_onnx_file_states_rightly_is_not_stated_again() -> None:
    opened = engine.load(onnx_model("y[2] = Neg(x[2])").SerializeToString())
    node_ = opened.graphs[0].nodes[0]
    assert node_.results[0] is not None
    with pytest.raises(Refused, match="no wrong shape of 'y'"):
        opened.apply(node_, [StateShape(node_.results[0], "", "GF304")])
