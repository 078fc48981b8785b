"""Calls of operators that arrange, find, hash or read elements, of text and of n-grams."""

from __future__ import annotations

import numpy as np

from tests.support.onnx.contrib_calls.drawing import MICROSOFT, STANDARD, Array, Call, Draw, Draws, Key, scalar, vector

KINDS = ("float32", "float64", "int64", "int32", "uint8", "float16", "bool", "object")


def _range(draw: Draw) -> Call:
    kind, shape = draw.pick("int32", "int64", "float32", "float64", "int16"), draw.pick([], [], [1])
    step = draw.pick(1, 1, 2, 3, -1, -2)
    start = draw.random.randint(-3, 3)
    limit = start + draw.random.randint(-1, 6) * (1 if step > 0 else -1)
    fraction = 0.5 if kind.startswith("float") and draw.chance() else 0
    numbers = [np.full(shape, number, kind) for number in (start, limit + fraction, step)]
    if step == 1 and draw.chance():
        numbers.pop()
    return Call(numbers, constants=frozenset(range(len(numbers))) if draw.chance() else frozenset())


def _pad(draw: Draw) -> Call:
    shape = draw.shape(1)
    pads = draw.integers(-1 if draw.chance(0.3) else 0, 3, [2 * len(shape)])
    mode = draw.pick("constant", "constant", "reflect", "edge")
    if mode == "reflect":
        pads = np.minimum(pads, [max(size - 1, 0) for size in shape] * 2)
    operands = [draw.numbers(shape), pads[None] if draw.chance(0.2) else pads]
    if mode == "constant" and draw.chance():
        operands.append(scalar(2.0) if draw.chance() else np.array([2.0], np.float32))
    return Call(operands, {} if mode == "constant" and draw.chance() else {"mode": mode}, constants=_known(draw, 1))


def _known(draw: Draw, *operands: int) -> frozenset[int]:
    return frozenset(operands) if draw.chance() else frozenset()


def _expand_dims(draw: Draw) -> Call:
    shape = draw.shape()
    axis = draw.random.randint(-len(shape) - 1, len(shape))
    kind = draw.pick("float32", "int64", "float16", "bool", "int8")
    axes = np.full(draw.pick([], [], [1]), axis, np.int32)
    return Call([draw.numbers(shape, kind), axes], constants=_known(draw, 1))


def _unique(draw: Draw) -> Call:
    return Call([draw.integers(0, 4, draw.sizes(1), "float32")], results=(True, True, True))


def _trilu(draw: Draw) -> Call:
    kind = draw.pick("float32", "float64", "int64")
    diagonal = draw.maybe(draw.integers(-2, 3, draw.pick([], [1])))
    return Call([draw.numbers([*draw.shape(0, 2), *draw.sizes(2)], kind), diagonal], draw.some(upper=draw.pick(0, 1)))


def _gather_nd(draw: Draw) -> Call:
    shape = [draw.size(1) for _ in range(draw.random.randint(1, 4))]
    depth = draw.random.randint(1, len(shape))
    lead = draw.shape(0, 2)
    places = np.stack([draw.integers(-size, size, lead) for size in shape[:depth]], -1)
    operands = [draw.numbers(shape, draw.pick(*KINDS)), places.astype(draw.pick("int32", "int64"))]
    return Call(operands, constants=_known(draw, 1))


def _unfold(draw: Draw) -> Call:
    shape = draw.shape(1)
    axis = draw.axis(len(shape))
    size = draw.random.randint(1, max(shape[axis], 1))
    given = {"size": size} | draw.some(step=draw.random.randint(1, 3)) | ({"dim": axis} if axis != -1 else {})
    return Call([draw.numbers(shape, draw.pick("float32", "float64", "int64", "int32", "uint8"))], given)


def _tokenizer(draw: Draw) -> Call:
    given: dict[str, object] = {"mark": draw.pick(0, 1), "pad_value": "#", "mincharnum": draw.pick(1, 1, 2)}
    given |= draw.pick({"separators": [" "]}, {"separators": [""]}, {"separators": ["a", " "]}, {"tokenexp": "[a-c]"})
    if given.get("separators") == [""] or "tokenexp" in given:
        given["mincharnum"] = 1
    return Call([draw.numbers(draw.shape(1, 2), "object")], given)


def _hash(draw: Draw) -> Call:
    kind = draw.pick("int32", "uint32", "int64", "uint64", "float32", "float64", "object")
    return Call([draw.numbers(draw.shape(0), kind)], draw.some(positive=0, seed=3))


def _repeat_block(draw: Draw) -> Call:
    batch, length, words = draw.size(), draw.size(), draw.size(5)
    operands = [draw.integers(0, 5, [batch, length]), draw.like(batch, words)]
    return Call(operands, {"ngram_size": draw.random.randint(1, 3)})


def _ngrams(*, packed: bool) -> Draws:
    """Hashes of n-grams: of padded sequences, or of sequences one behind the other."""

    def call(draw: Draw) -> Call:
        order, heads, kind = draw.random.randint(2, 4), draw.size(1, 3), draw.pick("int32", "int64")
        batch, length = draw.size(1), draw.size(0 if not packed else 1)
        count = (order - 1) * heads
        lengths = draw.sizes(batch, 1)
        shape = [sum(lengths)] if packed else [batch, length]

        def past() -> Array:
            return draw.integers(0, 5, [batch, order - 1], kind)

        operands: list[object] = [
            draw.integers(0, 9, shape, kind),
            draw.integers(1, 9, [order + draw.pick(0, 1)], kind),
        ]
        operands.append(draw.integers(1, 11, [count], kind))
        if packed:
            operands.append(np.cumsum([0, *lengths]).astype(np.int32))
        operands += [draw.maybe(past()), draw.maybe(draw.integers(0, 5, [count], kind))]
        operands += [draw.maybe(scalar(1, kind)), draw.maybe(draw.integers(0, 2, shape, "int32"), 0.3)]
        given = {"max_ngram_size": order, "n_head_per_ngram": heads, "pad_id": 0} | draw.some(reset_on_eos=1)
        if not packed:
            return Call(operands, given, (True, draw.chance()))
        capacity = draw.pick(0, 0, 2)
        segments = operands[-1] is not None
        operands.append(draw.maybe(past().astype(np.int32)) if segments and operands[4] is not None else None)
        if capacity:
            operands.append(np.ones(batch, np.int32))
            given["state_update_capacity"] = capacity
        return Call(operands, given, (True, draw.chance(), segments and draw.chance(), bool(capacity)))

    return call


def _bifurcation(draw: Draw) -> Call:
    source, current = draw.integers(0, 4, [draw.size(1)]), draw.integers(0, 4, [draw.size(1)])
    start = draw.random.randint(0, len(source))
    operands = [source, current, scalar(start, "int64"), None]
    if draw.chance(0.7):
        operands[3] = draw.integers(0, 4, [len(source) - start + 1])
    return Call(operands, draw.some(min_ngram_size=1, max_ngram_size=3), (True, True))


def _time_warping(draw: Draw) -> Call:
    shape = draw.sizes(2, 1)
    return Call([draw.numbers([1, *shape] if draw.chance() else shape)])


def _word_embedding(draw: Draw) -> Call:
    sequence, word, characters = draw.size(), draw.size(2, 6), 5
    taps, wide, filters = draw.random.randint(1, 2), draw.size(1), draw.size(1)
    operands = [
        draw.integers(1, characters, [sequence, word], "int32"),
        draw.like(filters, 1, taps, wide),
        draw.like(filters),
        draw.like(characters, wide),
    ]
    given = draw.some(char_embedding_size=wide, conv_window_size=taps, embedding_size=filters)
    return Call(operands, given, constants=frozenset({1, 2, 3}) if draw.chance() else frozenset())


def _dynamic_slice(draw: Draw) -> Call:
    shape, kind = draw.shape(1), draw.pick("int32", "int64")
    axes = draw.random.sample(range(len(shape)), draw.random.randint(1, len(shape)))
    given = draw.chance()
    count = len(axes) if given else draw.random.randint(1, len(shape))
    bounds = [draw.integers(-2, 6, [count], kind) for _ in range(2)]
    places = [vector(*axes, kind=kind)] if given else []
    return Call([draw.numbers(shape, draw.pick(*KINDS)), *bounds, *places], version=1)


def _recurrent_shapes(draw: Draw) -> tuple[int, int, int, int, int, dict[str, object]]:
    length, batch, width, hidden = draw.size(1), draw.size(1), draw.size(1), draw.size(1)
    direction = draw.pick("forward", "reverse", "bidirectional")
    given: dict[str, object] = {"hidden_size": hidden, "direction": direction} | draw.some(clip=2.0)
    return length, batch, width, hidden, 2 if direction == "bidirectional" else 1, given


def _quantized_lstm(draw: Draw) -> Call:
    length, batch, width, hidden, directions, given = _recurrent_shapes(draw)
    kind, wide = draw.pick("uint8", "int8"), 4 * hidden
    scales = [directions, wide] if draw.chance(0.3) else [directions]
    state = [directions, batch, hidden]
    operands = [
        draw.like(length, batch, width),
        draw.like(directions, width, wide, kind=kind),
        draw.like(directions, hidden, wide, kind=kind),
        draw.maybe(draw.like(directions, 2 * wide)),
        draw.maybe(draw.integers(1, length + 1, [batch], "int32"), 0.4),
        draw.maybe(draw.numbers(state)),
        draw.maybe(draw.numbers(state)),
        draw.maybe(draw.like(directions, 3 * hidden), 0.3),
        *(value for _ in range(2) for value in (draw.positive(*scales), draw.numbers(scales, kind) * 0)),
    ]
    results = draw.pick((True, True, True), (True,), (False, True, True), (True, False, True))
    return Call(operands, given | draw.some(input_forget=0), results, frozenset({1, 2, 8, 9, 10, 11}))


def _attention_lstm(draw: Draw) -> Call:
    length, batch, width, hidden, directions, given = _recurrent_shapes(draw)
    kind, depth, attention, steps = draw.pick("float32", "float32", "float64"), *(draw.size(1) for _ in range(3))
    layer = draw.chance()
    context = draw.size(1) if layer else depth
    state = [directions, batch, hidden]

    def make(*shape: int) -> Array:
        return draw.like(*shape, kind=kind)

    operands = [
        make(length, batch, width),
        make(directions, 4 * hidden, width + context),
        make(directions, 4 * hidden, hidden),
        draw.maybe(make(directions, 8 * hidden)),
        draw.maybe(draw.integers(1, length + 1, [batch], "int32"), 0.4),
        draw.maybe(make(*state), 0.4),
        draw.maybe(make(*state), 0.4),
        draw.maybe(make(directions, 3 * hidden), 0.3),
        make(directions, hidden, attention),
        make(directions, depth, attention),
        make(directions, attention),
        make(batch, steps, depth),
        draw.maybe(draw.integers(1, steps + 1, [batch], "int32"), 0.4),
        make(directions, depth + hidden, context) if layer else None,
    ]
    return Call(operands, given, draw.pick((True, True, True), (True,), (False, True, True), (True, False, True)))


CALLS: dict[Key, Draws] = {
    (MICROSOFT, "AttnLSTM"): _attention_lstm,
    (MICROSOFT, "BifurcationDetector"): _bifurcation,
    (MICROSOFT, "DynamicQuantizeLSTM"): _quantized_lstm,
    (MICROSOFT, "DynamicTimeWarping"): _time_warping,
    (MICROSOFT, "ExpandDims"): _expand_dims,
    (MICROSOFT, "GatherND"): _gather_nd,
    (MICROSOFT, "MurmurHash3"): _hash,
    (MICROSOFT, "NGramHashMapping"): _ngrams(packed=False),
    (MICROSOFT, "NGramRepeatBlock"): _repeat_block,
    (MICROSOFT, "Pad"): _pad,
    (MICROSOFT, "Range"): _range,
    (MICROSOFT, "Tokenizer"): _tokenizer,
    (MICROSOFT, "Trilu"): _trilu,
    (MICROSOFT, "UnfoldTensor"): _unfold,
    (MICROSOFT, "Unique"): _unique,
    (MICROSOFT, "VarlenNGramHashMapping"): _ngrams(packed=True),
    (MICROSOFT, "WordConvEmbedding"): _word_embedding,
    (STANDARD, "DynamicSlice"): _dynamic_slice,
}
