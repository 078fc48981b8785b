"""Calls of operators that decode with a graph of their own: greedy and beam searches, samplings."""

from __future__ import annotations

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from tests.support.onnx.contrib_calls.drawing import MICROSOFT, Call, Draw, Draws, Key, vector

WORDS, HEADS, SIZE = 7, 2, 4
"""The vocabulary, the heads and their size of every decoder here."""


def _sizes(value: str, *axes: int) -> list[NodeProto]:
    """The nodes that read sizes of a value as vectors of one element; `<value>_<axis>` names one."""
    nodes = [helper.make_node("Shape", [value], [f"{value}_sizes"])]
    return nodes + [helper.make_node("Gather", [f"{value}_sizes", f"at_{axis}"], [f"{value}_{axis}"]) for axis in axes]


def _zeros(result: str, *sizes: str) -> list[NodeProto]:
    """The nodes that make a tensor of zeros."""
    joined = helper.make_node("Concat", list(sizes), [f"{result}_shape"], axis=0)
    return [joined, helper.make_node("ConstantOfShape", [f"{result}_shape"], [result])]


def _constants(draw: Draw) -> list[TensorProto]:
    numbers = {"two": 2, "heads": HEADS, "size": SIZE, **{f"at_{axis}": axis for axis in range(3)}}
    made = {"table": draw.like(WORDS, WORDS)} | {name: vector(number) for name, number in numbers.items()}
    return [numpy_helper.from_array(array, name) for name, array in made.items()]


def _floats(name: str, *sizes: int | str) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes)


def _integers(name: str, *sizes: int | str) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.INT32, sizes)


def _logits(ids: str) -> NodeProto:
    return helper.make_node("Gather", ["table", ids], ["logits"])


def _decoder(draw: Draw) -> GraphProto:
    """A decoder as of GPT-2: its logits are rows of a table, its state grows by zeros."""
    nodes = [
        _logits("input_ids"),
        *_sizes("input_ids", 0, 1),
        *_zeros("added", "two", "input_ids_0", "heads", "input_ids_1", "size"),
        helper.make_node("Concat", ["past_0", "added"], ["present_0"], axis=3),
    ]
    ids = [_integers(name, "batch", "length") for name in ("input_ids", "position_ids")]
    operands = [*ids, _integers("attention_mask", "batch", "total"), _floats("past_0", 2, "batch", HEADS, "past", SIZE)]
    results = [_floats("logits", "batch", "length", WORDS), _floats("present_0", 2, "batch", HEADS, "total", SIZE)]
    return helper.make_graph(nodes, "decoder", operands, results, _constants(draw))


def _encoder(draw: Draw) -> GraphProto:
    """An encoder as of Whisper: its hidden states are its input, its states are zeros."""
    own = [f"present_{kind}_self_0" for kind in ("key", "value")]
    cross = [f"present_{kind}_cross_0" for kind in ("key", "value")]
    nodes = [
        _logits("decoder_input_ids"),
        helper.make_node("Transpose", ["encoder_input_ids"], ["encoder_hidden_states"], perm=[0, 2, 1]),
        *_sizes("encoder_input_ids", 0, 2),
        *_sizes("decoder_input_ids", 1),
    ]
    for names, length in ((own, "decoder_input_ids_1"), (cross, "encoder_input_ids_2")):
        for name in names:
            nodes += _zeros(name, "encoder_input_ids_0", "heads", length, "size")
    operands = [
        _floats("encoder_input_ids", "batch", "features", "frames"),
        _integers("decoder_input_ids", "batch", "length"),
    ]
    results = [
        _floats("logits", "batch", "length", WORDS),
        _floats("encoder_hidden_states", "batch", "frames", "features"),
    ]
    results += [_floats(name, "batch", HEADS, "length", SIZE) for name in own]
    results += [_floats(name, "batch", HEADS, "frames", SIZE) for name in cross]
    return helper.make_graph(nodes, "encoder", operands, results, _constants(draw))


def _cross_decoder(draw: Draw) -> GraphProto:
    """A decoder as of Whisper, whose states of its own grow by zeros."""
    nodes = [
        _logits("input_ids"),
        *_sizes("input_ids", 0, 1),
        *_zeros("added", "input_ids_0", "heads", "input_ids_1", "size"),
    ]
    operands = [_integers("input_ids", "batch", 1)]
    operands += [_floats(f"past_{kind}_self_0", "batch", HEADS, "past", SIZE) for kind in ("key", "value")]
    operands += [_floats(f"past_{kind}_cross_0", "batch", HEADS, "frames", SIZE) for kind in ("key", "value")]
    results = [_floats("logits", "batch", 1, WORDS)]
    for kind in ("key", "value"):
        nodes.append(helper.make_node("Concat", [f"past_{kind}_self_0", "added"], [f"present_{kind}_self_0"], axis=2))
        results.append(_floats(f"present_{kind}_self_0", "batch", HEADS, "total", SIZE))
    return helper.make_graph(nodes, "decoder", operands, results, _constants(draw))


def _search(kind: str) -> Draws:
    def call(draw: Draw) -> Call:
        batch, length = draw.size(1, 3), draw.size(1, 4)
        beams = draw.pick(1, 2, 3)
        returned = draw.random.randint(1, beams)
        operands: list[object] = [
            draw.integers(0, WORDS, [batch, length], "int32"),
            vector(length + draw.random.randint(1, 4), kind="int32"),
            draw.maybe(vector(1, kind="int32"), 0.95 if kind == "BeamSearch" else 0.5),
        ]
        if kind == "BeamSearch":
            operands += [vector(beams, kind="int32"), vector(returned, kind="int32")]
            operands.append(draw.maybe(np.array([1.0], np.float32), 0.95))
        operands.append(draw.maybe(np.array([1.5], np.float32)))
        operands.append(draw.maybe(np.ones(WORDS, np.int32)))
        operands.append(draw.maybe(np.ones([batch, WORDS], np.int32)))
        operands.append(draw.maybe(np.ones([batch, length], np.int32)))
        given: dict[str, object] = {
            "decoder": _decoder(draw),
            "eos_token_id": draw.pick(1, WORDS - 1),
            "pad_token_id": 0,
        }
        given |= {"model_type": 0} | draw.some(no_repeat_ngram_size=2, vocab_size=WORDS)
        results: tuple[bool, ...] = (True,)
        if kind == "BeamSearch":
            given |= draw.some(early_stopping=1)
            results = (True, draw.chance(), draw.chance())
        if kind == "Sampling":
            operands += [draw.maybe(np.zeros([batch, WORDS], np.int32), 0.3), draw.maybe(vector(3, kind="int32"))]
            given |= draw.some(temperature=0.5, top_p=0.9, min_tokens_to_keep=1, presence_penalty=0.0)
            results = (True, draw.chance())
        return Call(operands, given, results)

    return call


def _whisper(draw: Draw) -> Call:
    batch, features, frames, length = draw.size(1, 3), draw.size(1, 3), draw.size(1), draw.size(1, 3)
    beams = draw.pick(1, 2, 3)
    returned = draw.random.randint(1, beams)
    operands: list[object] = [
        draw.like(batch, features, frames),
        vector(length + draw.random.randint(1, 4), kind="int32"),
        vector(1, kind="int32"),
        vector(beams, kind="int32"),
        vector(returned, kind="int32"),
        np.array([1.0], np.float32),
        draw.maybe(np.array([1.5], np.float32)),
        draw.maybe(np.ones(WORDS, np.int32)),
        None,
        None,
        draw.integers(0, WORDS, [batch, length], "int32"),
    ]
    given: dict[str, object] = {"encoder": _encoder(draw), "decoder": _cross_decoder(draw), "model_type": 2}
    given |= {"eos_token_id": WORDS - 1, "pad_token_id": 0, "decoder_start_token_id": 2}
    return Call(operands, given | draw.some(early_stopping=1), (True, draw.chance(), draw.chance()))


CALLS: dict[Key, Draws] = {
    (MICROSOFT, "BeamSearch"): _search("BeamSearch"),
    (MICROSOFT, "GreedySearch"): _search("GreedySearch"),
    (MICROSOFT, "Sampling"): _search("Sampling"),
    (MICROSOFT, "WhisperBeamSearch"): _whisper,
}
