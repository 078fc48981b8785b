"""Attention as users write it with tf and Keras layers: masks, rotary and relative positions."""

from __future__ import annotations

import math

from models.exporting.from_keras.layers import Call, Layer, Tensor
from models.exporting.from_keras.model import flags, floats, function, ids, keras_model, mask

WIDTH, HEADS, DEPTH, VOCABULARY = 32, 4, 8, 60


def layers(*names: str) -> list[Layer]:
    """Return Dense layers of WIDTH units, without biases."""
    import keras

    return [keras.layers.Dense(WIDTH, use_bias=False, name=name) for name in names]


def norm(name: str) -> Layer:
    """Return a layer norm."""
    import keras

    return keras.layers.LayerNormalization(epsilon=1e-5, name=name)


def split_heads(x: Tensor) -> Tensor:
    """x[B,T,32] -> [B,4,T,8], with the sizes that tf.shape gives."""
    import tensorflow as tf

    batch, length = tf.shape(x)[0], tf.shape(x)[1]
    return tf.transpose(tf.reshape(x, [batch, length, HEADS, DEPTH]), [0, 2, 1, 3])


def join_heads(x: Tensor) -> Tensor:
    """x[B,4,T,8] -> [B,T,32]."""
    import tensorflow as tf

    return tf.reshape(tf.transpose(x, [0, 2, 1, 3]), [tf.shape(x)[0], tf.shape(x)[2], WIDTH])


def attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
    """Return attention of heads under an additive bias that broadcasts over them."""
    import tensorflow as tf

    scores = tf.matmul(q, k, transpose_b=True) / tf.sqrt(tf.cast(tf.shape(k)[-1], tf.float32))
    return join_heads(tf.matmul(tf.nn.softmax(scores + bias, axis=-1), v))


def causal_range() -> Call:
    """Return causal self-attention: positions i >= j of tf.range, and a padding mask of the tokens."""
    import tensorflow as tf

    query, key, value, out = layers("query", "key", "value", "out")

    def call(x: Tensor, mask: Tensor) -> Tensor:
        steps = tf.range(tf.shape(x)[1])
        allowed = tf.logical_and(steps[:, tf.newaxis] >= steps, tf.expand_dims(mask, 1) > 0)
        bias = tf.expand_dims(tf.where(allowed, 0.0, -1e9), 1)
        return x + out(attend(split_heads(query(x)), split_heads(key(x)), split_heads(value(x)), bias))

    return call


def causal_band() -> Call:
    """Return the Transformer tutorial's decoder block: a look-ahead mask of band_part, (1 - mask) * -1e9."""
    import tensorflow as tf

    query, key, value, out, up = layers("query", "key", "value", "out", "up")
    first, second = norm("first"), norm("second")

    def call(x: Tensor) -> Tensor:
        length = tf.shape(x)[1]
        ahead = 1 - tf.linalg.band_part(tf.ones((length, length)), -1, 0)
        y = attend(split_heads(query(x)), split_heads(key(x)), split_heads(value(x)), ahead * -1e9)
        y = first(x + out(y))
        return second(y + up(tf.nn.relu(y)))

    return call


def cross() -> Call:
    """Return a decoder block over a memory of another length, a mask of each."""
    import tensorflow as tf

    query, key, value, out = layers("query", "key", "value", "out")
    cross_query, cross_key, cross_value, cross_out = layers("cross_query", "cross_key", "cross_value", "cross_out")
    first, second = norm("first"), norm("second")

    def call(x: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        length = tf.shape(x)[1]
        ahead = (tf.linalg.band_part(tf.ones((length, length)), -1, 0) - 1.0) * 1e9
        y = first(x + out(attend(split_heads(query(x)), split_heads(key(x)), split_heads(value(x)), ahead)))
        hidden = (1.0 - tf.cast(tf.expand_dims(tf.expand_dims(memory_mask, 1), 1), tf.float32)) * -1e9
        heads = split_heads(cross_query(y)), split_heads(cross_key(memory)), split_heads(cross_value(memory))
        return second(y + cross_out(attend(*heads, hidden)))

    return call


def bucket_bias() -> Call:
    """Return attention with T5's bias: buckets of i - j, exact below 4 and logarithmic above."""
    import tensorflow as tf

    query, key, value, out = layers("query", "key", "value", "out")
    table = tf.Variable(tf.zeros([16, HEADS]), name="bucket_embedding")

    def call(x: Tensor) -> Tensor:
        steps = tf.range(tf.shape(x)[1])
        distance = steps[tf.newaxis, :] - steps[:, tf.newaxis]
        ahead = tf.cast(distance > 0, tf.int32) * 8
        far = tf.abs(distance)
        log = tf.math.log(tf.cast(tf.maximum(far, 1), tf.float32) / 4.0) / math.log(32 / 4) * 4.0
        bucket = ahead + tf.where(far < 4, far, tf.minimum(4 + tf.cast(log, tf.int32), 7))
        bias = tf.expand_dims(tf.transpose(tf.gather(table, bucket), [2, 0, 1]), 0)
        return x + out(attend(split_heads(query(x)), split_heads(key(x)), split_heads(value(x)), bias))

    return call


def alibi() -> Call:
    """Return attention whose scores fall with the distance, by a slope for each head."""
    import tensorflow as tf

    query, key, value, out = layers("query", "key", "value", "out")
    slopes = tf.constant([[[0.5]], [[0.25]], [[0.125]], [[0.0625]]])

    def call(x: Tensor) -> Tensor:
        steps = tf.range(tf.shape(x)[1], dtype=tf.float32)
        far = tf.abs(steps[tf.newaxis, :] - steps[:, tf.newaxis])
        return x + out(attend(split_heads(query(x)), split_heads(key(x)), split_heads(value(x)), -slopes * far))

    return call


def einsum_attention() -> Call:
    """Return attention written in einsums, with a mask of booleans."""
    import tensorflow as tf

    weights = {name: tf.Variable(tf.zeros([WIDTH, HEADS, DEPTH]), name=name) for name in ("query", "key", "value")}
    out = tf.Variable(tf.zeros([HEADS, DEPTH, WIDTH]), name="out")

    def call(x: Tensor, allowed: Tensor) -> Tensor:
        q, k, v = (tf.einsum("btd,dhk->bthk", x, weights[name]) for name in ("query", "key", "value"))
        scores = tf.einsum("bqhk,bshk->bhqs", q, k) * DEPTH**-0.5
        seen = tf.expand_dims(tf.expand_dims(allowed, 1), 1)
        shares = tf.nn.softmax(tf.where(seen, scores, tf.constant(-1e9)))
        return tf.einsum("bthk,hkd->btd", tf.einsum("bhqs,bshk->bqhk", shares, v), out)

    return call


def keras_encoder(tokens: Tensor, mask: Tensor) -> Tensor:
    """Return the Keras example's encoder: token and position embeddings, MultiHeadAttention with a mask."""
    import keras

    class TokenAndPosition(keras.layers.Layer):  # type: ignore[misc]
        """The embeddings of the Keras example on text classification with a transformer."""

        def __init__(self) -> None:
            super().__init__(name="embedding")
            self.tokens = keras.layers.Embedding(VOCABULARY, WIDTH, name="tokens")
            self.positions = keras.layers.Embedding(40, WIDTH, name="positions")

        def call(self, x: Tensor) -> Tensor:
            """x[B,T] -> [B,T,32]."""
            return self.tokens(x) + self.positions(keras.ops.arange(0, keras.ops.shape(x)[-1], 1))

    x = TokenAndPosition()(tokens)
    seen = keras.ops.expand_dims(keras.ops.cast(mask, "bool"), 1)
    y = keras.layers.MultiHeadAttention(HEADS, DEPTH, name="attention")(x, x, attention_mask=seen)
    x = norm("first")(x + y)
    y = keras.layers.Dense(64, activation="gelu", name="up")(x)
    return norm("second")(x + keras.layers.Dense(WIDTH, name="down")(y))


def keras_decoder(x: Tensor, memory: Tensor) -> Tensor:
    """Return a Keras decoder block: causal MultiHeadAttention, then one over the memory."""
    import keras

    y = keras.layers.MultiHeadAttention(HEADS, DEPTH, name="attention")(x, x, use_causal_mask=True)
    x = norm("first")(x + y)
    y = keras.layers.MultiHeadAttention(HEADS, DEPTH, name="cross")(x, memory)
    return norm("second")(x + y)


_X, _MASK = floats("x", "B", "T", WIDTH), mask("mask", "B", "T")
_ENCODE = (ids("tokens", VOCABULARY, "B", "T"), _MASK)

MODELS = (
    function("causal_range", causal_range, (_X, _MASK), "free fixed fixed_int8"),
    function("causal_band", causal_band, (_X,), "free free_fp16"),
    function("cross", cross, (_X, floats("memory", "B", "S", WIDTH), mask("memory_mask", "B", "S")), "free fixed"),
    function("bucket_bias", bucket_bias, (_X,), "free"),
    function("alibi", alibi, (_X,), "free"),
    function("einsum_attention", einsum_attention, (_X, flags("allowed", "B", "T")), "free"),
    keras_model("keras_encoder", keras_encoder, _ENCODE, "free fixed free_dynamic fixed_int8"),
    keras_model("keras_decoder", keras_decoder, (_X, floats("memory", "B", "S", WIDTH)), "batch"),
)
