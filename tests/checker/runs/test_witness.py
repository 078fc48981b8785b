"""What the runs say of claimed sizes: numbers, names, broadcasts of names, ranges, and tensors without elements."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from graphfix.checker.runs.witness import Witness
from graphfix.results.claims import ClaimedShape, Claims, Facts, StoredShape, StoredSize, Term
from tests.support.checked import verify
from tests.support.written import Written

N, M, T = Term(("N",), 0, None), Term(("M",), 0, None), Term(("?t.0",), 0, None)
BOTH = Term(("M", "N"), 0, None)
Sizes = tuple[int, ...]


def seen(claims: dict[str, ClaimedShape], sizes: dict[str, Sizes], **inputs: tuple[ClaimedShape, Sizes]) -> Facts:
    """What one run says; an input has its claim and its sizes."""
    witness = Witness(Claims({name: claim for name, (claim, _) in inputs.items()}, claims))
    witness.see({name: np.zeros(size) for name, (_, size) in inputs.items()}, sizes)
    return witness.facts(ran=True)


@pytest.mark.parametrize(
    ("claim", "sizes"),
    [
        pytest.param((2, 3), (2, 3), id="numbers"),
        pytest.param((), (), id="a scalar"),
        pytest.param((N, 3), (5, 3), id="the symbol of an input"),
        pytest.param((BOTH,), (5,), id="the broadcast of 5 and 1"),
        pytest.param((Term((), 0, None),), (7,), id="nothing is claimed of the size"),
        pytest.param((N, 4), (5, 4), id="a symbol beside a number"),
    ],
)
def test_sizes_as_they_are_claimed_are_observed(claim: ClaimedShape, sizes: Sizes) -> None:
    assert seen({"v": claim}, {"v": sizes}, x=((N, M), (5, 1))) == Facts(1, 1, 0)


@pytest.mark.parametrize(
    ("claim", "sizes", "said"),
    [
        pytest.param((2, 3), (2, 4), "the view says [2,3] of 'v', the runtime gave [2,4]", id="a number"),
        pytest.param((2, 3), (1, 2, 3), "the view says [2,3] of 'v', the runtime gave [1,2,3]", id="the rank"),
        pytest.param(
            (N, 3),
            (4, 3),
            "the view says [N,3] of 'v', the runtime gave [4,3] (axis 0 has the size of axis 0 of 'x': 5)",
            id="a symbol",
        ),
        pytest.param(
            (BOTH,),
            (1,),
            "the view says [?] of 'v', the runtime gave [1] (axis 0 has the size of axis 0 of 'x': 5)",
            id="a broadcast",
        ),
        pytest.param(
            (Term((), 2, None),),
            (1,),
            "the view says [?] of 'v', the runtime gave [1] (axis 0 is at least 2)",
            id="a size that is never 1",
        ),
        pytest.param(
            (Term((), 2, 8),),
            (9,),
            "the view says [?] of 'v', the runtime gave [9] (axis 0 is at least 2 and at most 8)",
            id="a size that is bounded",
        ),
    ],
)
def test_other_sizes_are_a_contradiction_that_names_both(claim: ClaimedShape, sizes: Sizes, said: str) -> None:
    facts = seen({"v": claim}, {"v": sizes}, x=((N, M), (5, 1)))
    assert replace(facts, first=None) == Facts(1, 1, 1)
    assert str(facts.first) == said


def test_two_values_of_one_name_have_one_size_though_no_input_has_it() -> None:
    claims: dict[str, ClaimedShape] = {"a": (T,), "b": (T,)}
    assert seen(claims, {"a": (3,), "b": (3,)}).contradicted == 0
    facts = seen(claims, {"a": (3,), "b": (4,)})
    assert str(facts.first) == (
        "the view says [?] of 'b', the runtime gave [4] (axis 0 has the size of axis 0 of 'a': 3)"
    )


def test_a_broadcast_is_known_whatever_comes_first() -> None:
    sum_of_both = Term(("?t.0", "N"), 0, None)
    facts = seen({"sum": (sum_of_both,), "t": (T,)}, {"sum": (1,), "t": (4,)}, x=((N,), (1,)))
    assert facts.first is not None
    assert facts.first.value == "sum"


def test_a_name_may_have_another_size_in_another_run() -> None:
    witness = Witness(Claims({"x": (N,)}, {"v": (N,)}))
    for size in (3, 1, 2):
        witness.see({"x": np.zeros(size)}, {"v": (size,)})
    assert witness.facts(ran=True) == Facts(1, 1, 0)


def test_a_run_out_of_the_range_that_was_asked_for_says_nothing() -> None:
    bounded = Term(("N",), 2, 64)
    assert seen({"v": (1,)}, {"v": (3,)}, x=((bounded,), (1,))) == Facts(1, 0, 0)
    assert seen({"v": (1,)}, {"v": (3,)}, x=((bounded,), (3,))).contradicted == 1


def test_a_run_on_inputs_without_elements_says_nothing() -> None:
    """In onnxruntime ReduceMean of [0,4] over axis -1 is [0,4], with `keepdims` or without, not [0,1] or [0]."""
    for claim in ((N, 1), (N,), (3, 4)):
        assert seen({"v": claim}, {"v": (0, 4)}, x=((N,), (0,))) == Facts(1, 0, 0)


@pytest.mark.parametrize("claim", [(T, 1), (T,), (1, 4), (4,)])
def test_an_operand_without_elements_may_come_out_of_a_reduction_as_it_is(claim: ClaimedShape) -> None:
    assert seen({"v": claim}, {"v": (0, 4)}, x=((N,), (2,))) == Facts(1, 0, 0)


@pytest.mark.parametrize("claim", [(256,), (3, 4), (N, 4)])
def test_no_elements_where_some_were_claimed_are_a_contradiction(claim: ClaimedShape) -> None:
    """A size that wraps in uint8 can be 0."""
    assert seen({"v": claim}, {"v": (0, 4)[: len(claim)]}, x=((N,), (2,))).contradicted == 1


def test_what_no_run_shows_is_claimed_and_not_observed() -> None:
    claims = Claims({}, {"v": (2,), "w": (3,)}, elsewhere=4)
    witness = Witness(claims)
    witness.see({}, {"v": (2,)})
    assert witness.facts(ran=True) == Facts(6, 1, 0)


@pytest.mark.parametrize(
    ("claim", "sizes", "contradicted"),
    [
        pytest.param((3, 4), (0, 4), True, id="another number"),
        pytest.param((0, 4), (0, 4), False, id="claimed so"),
        pytest.param((M, 3), (0, 4), False, id="a name that can be 0"),
        pytest.param((Term(("Q",), 1, None), 4), (0, 4), False, id="a name that is not known"),
        pytest.param((1, 4), (0, 4), False, id="a reduction that left its operand"),
        pytest.param((1, 4), (0, 5), True, id="one that did not"),
        pytest.param((1, N), (0, 2), False, id="with the size of an input"),
        pytest.param((1, N), (0, 3), True, id="with another size"),
        pytest.param((4, 4, 4), (0, 4), True, id="a lower rank"),
        pytest.param((4,), (0, 4), False, id="a higher rank"),
    ],
)
def test_a_value_without_elements_is_held_to_what_a_kernel_can_keep(
    claim: ClaimedShape, sizes: Sizes, contradicted: bool
) -> None:
    facts = seen({"v": claim}, {"v": sizes}, x=((N,), (2,)))
    assert (facts.contradicted, facts.observed) == (int(contradicted), int(contradicted))


def test_a_size_that_a_name_may_have_is_within_its_ends() -> None:
    bounded = Term((), 2, 8)
    for size, contradicted in ((1, 1), (2, 0), (8, 0), (9, 1)):
        assert seen({"v": (bounded,)}, {"v": (size,)}).contradicted == contradicted
    for size, observed in ((1, 0), (2, 1), (8, 1), (9, 0)):
        assert seen({"v": (1,)}, {"v": (1,)}, x=((Term(("N",), 2, 8),), (size,))).observed == observed


def test_a_broadcast_of_equal_names_has_their_size() -> None:
    for sizes, result in (((5, 5), 5), ((1, 1), 1), ((1, 6), 6), ((6, 1), 6)):
        inputs = ((N, M), sizes)
        assert seen({"v": (BOTH,)}, {"v": (result,)}, x=inputs).contradicted == 0
        assert seen({"v": (BOTH,)}, {"v": (result + 1,)}, x=inputs).contradicted == 1


def test_a_broadcast_of_a_name_that_is_not_known_has_one_size_everywhere() -> None:
    both = Term(("?t.0", "N"), 0, None)
    claims: dict[str, ClaimedShape] = {"a": (both,), "b": (3, both)}
    assert seen(claims, {"a": (7,), "b": (3, 7)}, x=((N,), (1,))).contradicted == 0
    assert seen(claims, {"a": (7,), "b": (3, 8)}, x=((N,), (1,))).contradicted == 1


def test_all_values_of_a_claim_are_contradicted_and_the_first_is_shown() -> None:
    claim: ClaimedShape = (2, N)
    facts = seen({"a": claim, "b": claim, "c": claim}, {"c": (2, 9), "b": (2, 9), "a": (2, 5)}, x=((N,), (5,)))
    assert (facts.observed, facts.contradicted) == (3, 2)
    assert facts.first is not None
    assert (facts.first.value, facts.first.claim) == ("b", "[2,N]")


def test_the_same_sizes_are_looked_at_once_and_other_ones_again() -> None:
    asked: list[int] = []
    witness = Witness(Claims({"x": (N,)}, {"v": (N,), "w": (N,)}))
    for size in (3, 3, 4):
        witness.see({"x": np.zeros(size)}, {"v": (size,)}, lambda _: asked.append(1) or {"w": (3,)})
    assert (witness.runs, len(asked)) == (3, 2)
    assert (witness.facts(ran=False).contradicted, witness.facts(ran=False).observed) == (1, 2)


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        pytest.param(StoredSize("v", 1, "N + 1"), None, id="a size"),
        pytest.param(StoredSize("v", 0, "2"), None, id="a number"),
        pytest.param(StoredSize("v", 1, "N"), "'N' of axis 1", id="another size"),
        pytest.param(StoredSize("v", 0, "3"), "'3' of axis 0", id="another number"),
        pytest.param(StoredSize("v", 2, "3"), "'3' of axis 2", id="an axis that is not there"),
        pytest.param(StoredSize("v", 1, "Q"), "'Q' of axis 1", id="a symbol that no input has"),
        pytest.param(StoredSize("x", 0, "N"), None, id="an input"),
        pytest.param(StoredSize("d", 0, "N"), None, id="what follows"),
        pytest.param(StoredSize("d", 0, "4"), "'4' of axis 0", id="what follows is another"),
        pytest.param(StoredShape("v", "own.Op", ("2", None)), None, id="a shape"),
        pytest.param(StoredShape("v", "own.Op", ("2",)), "rank 1", id="another rank"),
        pytest.param(StoredShape("v", "own.Op", (None, None, None)), "rank 3", id="another rank, no sizes"),
        pytest.param(StoredShape("v", "own.Op", ("1", "N + 1")), "'1' of axis 0", id="another size of a shape"),
    ],
)
def test_sizes_that_a_file_stores_and_that_are_believed_are_compared(
    stored: StoredSize | StoredShape, said: str | None
) -> None:
    witness = Witness(Claims({"x": (N,)}, {}, believed=(stored, StoredSize("unseen", 0, "1"))), [("N", "x", 0)])
    witness.see({"x": np.zeros(3)}, {"v": (2, 4)}, lambda _: {"d": (3,)})
    facts = witness.facts(ran=True)
    assert (facts.observed, facts.contradicted) == (1, int(said is not None))
    assert said is None or (facts.first is not None and facts.first.claim == said)


# --- in the runtimes -------------------------------------------------------------------------------------------------

STEPS = "g (float[N,3] x) => (float[N,3] y) { t = Relu(x) y = Add(t, b) }"
RIGHT: dict[str, ClaimedShape] = {"x": (N, 3), "t": (N, 3)}


def claimed(values: dict[str, ClaimedShape]) -> Claims:
    return Claims({"x": (N, 3)}, values)


def test_nobody_is_asked_for_sizes_where_none_were_claimed(written: Written) -> None:
    model = written(STEPS, b=np.float32([1]))
    assert verify(model, model).facts is None


@pytest.mark.ci
def test_a_contradiction_comes_before_equal_and_before_different(written: Written) -> None:
    model, other = written(STEPS, b=np.float32([1])), written(STEPS, b=np.float32([2]))
    renamed = written(f"h{STEPS[1:]}", b=np.float32([1]))  # a copy would not be run
    assert verify(model, renamed, claims=claimed(RIGHT)).status == "proved"
    assert verify(model, other, claims=claimed(RIGHT)).status == "different"
    for after in (renamed, other):
        verdict = verify(model, after, claims=claimed({"x": (N, 3), "t": (1, 3)}))
        assert verdict.status == "contradicted"
        assert verdict.reason == "the view says [1,3] of 't', the runtime gave [3,3]"


def test_names_of_the_file_that_look_like_those_of_the_copy_are_left_alone(written: Written) -> None:
    text = "g (float[N,3] x) => (float[N,3] y) { graphfix_shape0 = Relu(x) y = Add(graphfix_shape0, b) }"
    model = written(text, b=np.float32([1]))
    verdict = verify(model, model, proof="without", claims=claimed({"graphfix_shape0": (N, 3)}))
    assert (verdict.status, verdict.facts) == ("equal", Facts(1, 1, 0))


def test_weights_in_another_file_are_found_by_the_copy(written: Written, tmp_path: Path) -> None:
    proto = onnx.load(written(STEPS, b=np.float32([1, 2, 3])))
    model = tmp_path / "external.onnx"
    onnx.save(proto, model, save_as_external_data=True, location="w.bin", size_threshold=0)
    verdict = verify(model, model, proof="without", claims=claimed(RIGHT))
    assert (verdict.status, verdict.facts) == ("equal", Facts(2, 2, 0))
    assert {path.name for path in tmp_path.iterdir() if path.name.startswith(("external", "w"))} == {
        "external.onnx",
        "w.bin",
    }


def test_an_initializer_that_is_an_input_too_is_observed(written: Written) -> None:
    proto = onnx.load(written(STEPS, b=np.float32([1, 2, 3])))
    proto.graph.input.append(onnx.helper.make_tensor_value_info("b", onnx.TensorProto.FLOAT, [3]))
    model = written(STEPS, b=np.float32([1, 2, 3]))
    model.write_bytes(proto.SerializeToString())
    assert verify(model, model, proof="without", claims=claimed({"b": (3,)})).facts == Facts(1, 1, 0)


def test_a_model_that_does_not_load_with_more_nodes_runs_as_it_is(written: Written) -> None:
    """Onnxruntime takes the shape of no sequence."""
    text = "g (float[N,3] x) => (float[N,3] y) { s = SequenceConstruct(x) y = ConcatFromSequence <axis = 0> (s) }"
    model = written(text)
    verdict = verify(model, model, proof="without", claims=claimed({"s": (1,)}))
    assert (verdict.status, verdict.facts) == ("equal", Facts(1, 0, 0))


def test_what_is_not_stable_is_so_with_a_witness_too(written: Written) -> None:
    text = "g (float[N,3] x) => (float[N,3] y) { t = RandomNormalLike(x) y = Add(t, x) }"
    model = written(text)
    verdict = verify(model, model, proof="without", claims=claimed({"x": (N, 3), "t": (N, 3)}))
    assert (verdict.status, verdict.facts) == ("undecided", Facts(2, 2, 0))


def test_the_reference_evaluator_is_asked_where_onnxruntime_has_no_kernel(written: Written) -> None:
    text = "g (float[N,3] x) => (float[N,3] y) { t = Relu(x) y = Add <broadcast = 1> (t, b) }"
    model = written(text, opset=6, b=np.float32([1, 2, 3]))
    verdict = verify(model, model, proof="without", claims=claimed({"t": (N, 4)}))
    assert "onnx.reference" in verdict.versions
    assert verdict.reason == "the view says [N,4] of 't', the runtime gave [3,3]"
