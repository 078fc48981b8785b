"""Graphs, counts of words, ragged rows and tables, written with tf and Keras layers."""

from __future__ import annotations

from models.exporting.from_keras.layers import Call, Tensor, variable
from models.exporting.from_keras.model import flags, floats, function, ids, keras_model

WIDTH = 16


def graph_attention() -> Call:
    """Return graph attention: a score of [B,N,1] and one of [B,1,N], a mask of the edges and the diagonal."""
    import tensorflow as tf

    weight = variable("weight", WIDTH, WIDTH)
    source, target = variable("source", WIDTH, 1), variable("target", WIDTH, 1)

    def call(x: Tensor, edges: Tensor) -> Tensor:
        h = tf.matmul(x, weight)
        scores = tf.matmul(h, source) + tf.transpose(tf.matmul(h, target), [0, 2, 1])
        allowed = tf.logical_or(edges, tf.eye(tf.shape(x)[1]) > 0)
        shares = tf.nn.softmax(tf.where(allowed, tf.nn.leaky_relu(scores, 0.2), -1e9))
        return tf.nn.elu(tf.matmul(shares, h))

    return call


def message_passing() -> Call:
    """Return a graph network: edges gather their nodes, nodes sum their edges, over their number."""
    import tensorflow as tf

    edge, node = variable("edge", 2 * WIDTH, WIDTH), variable("node", WIDTH, WIDTH)

    def call(x: Tensor, senders: Tensor, receivers: Tensor) -> Tensor:
        messages = tf.nn.relu(tf.matmul(tf.concat([tf.gather(x, senders), tf.gather(x, receivers)], axis=-1), edge))
        nodes = tf.shape(x)[0]
        total = tf.math.unsorted_segment_sum(messages, receivers, nodes)
        count = tf.math.unsorted_segment_sum(tf.ones_like(messages[:, :1]), receivers, nodes)
        return x + tf.matmul(total / tf.maximum(count, 1.0), node)

    return call


def bag_of_words() -> Call:
    """Return a bag of words: tokens of all texts in one row, summed by text, weighed by their counts."""
    import tensorflow as tf

    table, weight, bias = variable("embedding", 60, WIDTH), variable("weight", WIDTH, 4), variable("bias", 4)

    def call(tokens: Tensor, texts: Tensor) -> Tensor:
        total = tf.math.unsorted_segment_sum(tf.gather(table, tokens), texts, 4)
        count = tf.math.unsorted_segment_sum(tf.ones_like(tokens, tf.float32), texts, 4)
        return tf.nn.softmax(tf.matmul(total / tf.maximum(count, 1.0)[:, tf.newaxis], weight) + bias)

    return call


def ragged() -> Call:
    """Return the last real step of each row (gather_nd), and running means up to each step."""
    import tensorflow as tf

    weight = variable("weight", WIDTH, WIDTH)

    def call(x: Tensor, length: Tensor) -> dict[str, Tensor]:
        y = tf.matmul(x, weight)
        rows = tf.range(tf.shape(x)[0])
        last = tf.gather_nd(y, tf.stack([rows, length], axis=1))
        steps = tf.range(1, tf.shape(x)[1] + 1, dtype=tf.float32)
        seen = tf.cast(tf.range(tf.shape(x)[1]) <= tf.expand_dims(length, 1), tf.float32)
        running = tf.cumsum(y * tf.expand_dims(seen, -1), axis=1) / steps[:, tf.newaxis]
        return {"last": last, "running": running}

    return call


def cross_features() -> Call:
    """Return deep and cross features of a table: x0 * (xW + b) + x, bins, powers, remainders."""
    import tensorflow as tf

    weight, bias, table = variable("weight", 8, 8), variable("bias", 8), variable("embedding", 12, 8)

    def call(x: Tensor, kind: Tensor, price: Tensor) -> Tensor:
        x = x + tf.gather(table, kind)
        x = x * (tf.matmul(x, weight) + bias) + x
        cents = tf.cast(price, tf.float32) * 0.01
        bins = tf.cast(price // [10, 20, 50, 100], tf.float32) / 10.0
        odd = tf.cast(tf.math.floormod(price, [2, 3, 5, 7]), tf.float32)
        power = tf.pow(tf.maximum(cents, 0.01), [0.5, 1.0, 1.5, 2.0])
        return tf.concat([x, tf.minimum(bins, 5.0), odd, power], axis=-1)

    return call


def forecast(x: Tensor) -> Tensor:
    """Return N-BEATS' idea: reversible normalization, a trend taken off by a mean, Dense on the rest."""
    from keras import layers, ops

    mean, spread = ops.mean(x, axis=1, keepdims=True), ops.std(x, axis=1, keepdims=True) + 1e-3
    y = (x - mean) / spread
    trend = layers.AveragePooling1D(3, 1, "same")(y)
    mixed = layers.Dense(8)(trend) + layers.Dense(8, activation="relu")(y - trend)
    return mixed[:, -2:] * spread + mean


def tabular(number: Tensor, kind: Tensor) -> Tensor:
    """Return a Keras model of a table: normalized numbers, an embedded kind, batch norm, dense layers."""
    from keras import layers

    x = layers.Normalization(mean=[0.1, 0.2, -0.1, 0.0, 0.5, 0.3], variance=[1.0, 2.0, 0.5, 1.0, 1.5, 0.7])(number)
    x = layers.Concatenate()([x, layers.Flatten()(layers.Embedding(7, 4)(kind))])
    x = layers.BatchNormalization()(layers.Dense(WIDTH, activation="selu")(x))
    return layers.Dense(1, activation="sigmoid")(layers.PReLU()(layers.BatchNormalization()(x)))


_X = floats("x", "B", "T", WIDTH)

MODELS = (
    function("graph_attention", graph_attention, (_X, flags("edges", "B", "T", "T")), "free"),
    function(
        "message_passing",
        message_passing,
        (floats("x", "S", WIDTH), ids("senders", 4, "T"), ids("receivers", 4, "T")),
        "free",
    ),
    function("bag_of_words", bag_of_words, (ids("tokens", 60, "T"), ids("texts", 4, "T")), "free"),
    function("ragged", ragged, (_X, ids("length", 5, "B")), "free"),
    function(
        "cross_features",
        cross_features,
        (floats("x", "B", 8), ids("kind", 12, "B"), ids("price", 300, "B", 1)),
        "free",
    ),
    keras_model("forecast", forecast, (floats("x", "B", "T", 8),), "free"),
    keras_model("tabular", tabular, (floats("number", "B", 6), ids("kind", 7, "B", 1)), "free fixed_int8"),
)
