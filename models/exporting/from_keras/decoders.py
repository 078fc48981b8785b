"""Decoders written with tf: caches of the past, rotary positions, a step of a search, signatures that share weights."""

from __future__ import annotations

from models.exporting.from_keras.attention import attend, layers, split_heads
from models.exporting.from_keras.layers import Call, Layer, Tensor, variable
from models.exporting.from_keras.model import floats, function, ids, mask, module

WIDTH = 16
WIDTH, HEADS, DEPTH, VOCABULARY = 32, 4, 8, 60


def cache_concat() -> Call:
    """Return a decode step: keys and values of the past, those of the new tokens behind them."""
    import tensorflow as tf

    query, key, value, out = layers("query", "key", "value", "out")

    def call(x: Tensor, past_key: Tensor, past_value: Tensor) -> dict[str, Tensor]:
        k = tf.concat([past_key, split_heads(key(x))], axis=2)
        v = tf.concat([past_value, split_heads(value(x))], axis=2)
        past, total = tf.shape(past_key)[2], tf.shape(k)[2]
        rows = tf.range(tf.shape(x)[1])[:, tf.newaxis] + past
        bias = tf.where(tf.range(total) <= rows, 0.0, -1e4)
        return {"x": x + out(attend(split_heads(query(x)), k, v, bias)), "key": k, "value": v}

    return call


def cache_update() -> Call:
    """Return a decode step into a cache of 12 places, which dynamic_update_slice writes at a position."""
    import tensorflow as tf
    from tensorflow.compiler.tf2xla.python import xla

    query, key, value, out = layers("query", "key", "value", "out")

    def call(x: Tensor, key_cache: Tensor, value_cache: Tensor, position: Tensor) -> dict[str, Tensor]:
        start = tf.concat([[0], [0], position, [0]], axis=0)
        k = xla.dynamic_update_slice(key_cache, tf.reshape(key(x), [1, HEADS, 1, DEPTH]), start)
        v = xla.dynamic_update_slice(value_cache, tf.reshape(value(x), [1, HEADS, 1, DEPTH]), start)
        bias = tf.where(tf.range(12) <= position, 0.0, -1e9)
        q = tf.reshape(query(x), [1, HEADS, 1, DEPTH])
        return {"x": x + out(attend(q, k, v, bias)), "key": k, "value": v}

    return call


def rotate(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """x[B,4,T,8], turned by angles of [T,8]: the halves of each head are the pairs."""
    import tensorflow as tf

    first, second = tf.split(x, 2, axis=-1)
    return x * cosine + tf.concat([-second, first], axis=-1) * sine


def llama() -> Call:
    """Return a Llama block: RMS norms, rotary positions of tf.range, two key heads for four, a gated feed-forward."""
    import keras
    import tensorflow as tf

    query, out, gate, up, down = layers("query", "out", "gate", "up", "down")
    key, value = (keras.layers.Dense(2 * DEPTH, use_bias=False, name=name) for name in ("key", "value"))
    scales = [tf.Variable(tf.ones(WIDTH), name=name) for name in ("scale_attention", "scale_forward")]
    table = tf.Variable(tf.zeros([VOCABULARY, WIDTH]), name="embedding")
    steps = 10000.0 ** (-tf.range(0, DEPTH, 2, dtype=tf.float32) / DEPTH)

    def rms(x: Tensor, scale: Tensor) -> Tensor:
        return x * tf.math.rsqrt(tf.reduce_mean(tf.square(x), axis=-1, keepdims=True) + 1e-6) * scale

    def repeated(x: Tensor) -> Tensor:
        batch, length = tf.shape(x)[0], tf.shape(x)[1]
        heads = tf.transpose(tf.reshape(x, [batch, length, 2, DEPTH]), [0, 2, 1, 3])
        wide = tf.broadcast_to(tf.expand_dims(heads, 2), [batch, 2, 2, length, DEPTH])
        return tf.reshape(wide, [batch, HEADS, length, DEPTH])

    def call(tokens: Tensor) -> Tensor:
        length = tf.shape(tokens)[1]
        x = tf.gather(table, tokens)
        angles = tf.einsum("t,d->td", tf.range(length, dtype=tf.float32), steps)
        cosine, sine = (turn(tf.concat([angles, angles], axis=-1)) for turn in (tf.cos, tf.sin))
        y = rms(x, scales[0])
        bias = (tf.linalg.band_part(tf.ones((length, length)), -1, 0) - 1.0) * 1e9
        q, k = rotate(split_heads(query(y)), cosine, sine), rotate(repeated(key(y)), cosine, sine)
        x = x + out(attend(q, k, repeated(value(y)), bias))
        y = rms(x, scales[1])
        x = x + down(tf.nn.silu(gate(y)) * up(y))
        return tf.einsum("btd,vd->btv", x, table)

    return call


def encode_decode() -> Layer:
    """Return a translator with two signatures that share an embedding: encode once, decode a step."""
    import tensorflow as tf

    made = tf.Module()
    made.table = tf.Variable(tf.zeros([VOCABULARY, WIDTH]), name="embedding")
    made.weights = [tf.Variable(tf.zeros([WIDTH, WIDTH]), name=name) for name in ("key", "value", "query", "out")]

    def dense(weight: Tensor) -> Call:
        return lambda x: tf.matmul(x, weight)

    key, value, query, out = map(dense, made.weights)

    def encode(tokens: Tensor, mask: Tensor) -> dict[str, Tensor]:
        x = tf.gather(made.table, tokens)
        bias = (1.0 - tf.expand_dims(tf.expand_dims(tf.cast(mask, tf.float32), 1), 1)) * -1e9
        return {"memory": x + attend(split_heads(query(x)), split_heads(key(x)), split_heads(value(x)), bias)}

    def decode(target: Tensor, memory: Tensor, mask: Tensor) -> dict[str, Tensor]:
        x = tf.gather(made.table, target)
        bias = (1.0 - tf.expand_dims(tf.expand_dims(tf.cast(mask, tf.float32), 1), 1)) * -1e9
        x = x + out(attend(split_heads(query(x)), split_heads(key(memory)), split_heads(value(memory)), bias))
        return {"logits": tf.matmul(x, made.table, transpose_b=True)}

    made.encode, made.decode = encode, decode
    return made


def greedy() -> Call:
    """Return greedy decoding: a loop whose tokens grow by one, logits of the last."""
    import tensorflow as tf

    table, weight = variable("embedding", 20, WIDTH), variable("weight", WIDTH, WIDTH)

    def call(tokens: Tensor) -> Tensor:
        def body(i: Tensor, made: Tensor) -> tuple[Tensor, Tensor]:
            x = tf.gather(table, made)
            h = tf.reduce_mean(tf.matmul(x, weight), axis=1) + x[:, -1]
            best = tf.argmax(tf.matmul(h, table, transpose_b=True), axis=-1, output_type=tf.int32)
            return i + 1, tf.concat([made, tf.expand_dims(best, 1)], axis=1)

        shapes = [tf.TensorShape([]), tf.TensorShape([None, None])]
        return tf.while_loop(lambda i, _: i < 4, body, [tf.constant(0), tokens], shape_invariants=shapes)[1]

    return call


def beam_step() -> Call:
    """Return a step of beam search: log shares under the beams' scores, the best of all, their beams gathered."""
    import tensorflow as tf

    def call(logits: Tensor, scores: Tensor, states: Tensor) -> dict[str, Tensor]:
        total = tf.nn.log_softmax(logits) + tf.expand_dims(scores, -1)
        best, index = tf.math.top_k(tf.reshape(total, [tf.shape(logits)[0], -1]), 3)
        beam, token = index // 12, index % 12
        return {"scores": best, "tokens": token, "states": tf.gather(states, beam, batch_dims=1)}

    return call


_MASK = mask("mask", "B", "T")
_CACHES = tuple(floats(name, 1, HEADS, 12, DEPTH) for name in ("key_cache", "value_cache"))
_DECODE = (ids("target", VOCABULARY, "B", "S"), floats("memory", "B", "T", WIDTH), _MASK)
_ENCODE = (ids("tokens", VOCABULARY, "B", "T"), _MASK)
_PAST = tuple(floats(name, "B", HEADS, "P", DEPTH) for name in ("past_key", "past_value"))
_X = floats("x", "B", "T", WIDTH)
_X, _MASK = floats("x", "B", "T", WIDTH), mask("mask", "B", "T")

MODELS = (
    function("cache_concat", cache_concat, (_X, *_PAST), "free"),
    function("cache_update", cache_update, (floats("x", 1, 1, WIDTH), *_CACHES, ids("position", 12, 1)), "fixed"),
    function("llama", llama, (ids("tokens", VOCABULARY, "B", "T"),), "free fixed free_dynamic"),
    module("encode_decode", encode_decode, {"encode": _ENCODE, "decode": _DECODE}, "free free_dynamic"),
    function("greedy", greedy, (ids("tokens", 20, "B", "T"),), "free"),
    function(
        "beam_step",
        beam_step,
        (floats("logits", "B", 3, 12), floats("scores", "B", 3), floats("states", "B", 3, "T", 8)),
        "free",
    ),
)
