"""Blocks written with tf: norms, pooling, distances, gates, graphs, counts of words, element-wise formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exporting.tflite_model import flags, floats, function, ids, keras_model, mask

Call = Callable[..., Any]
WIDTH = 16


def variable(name: str, *shape: int) -> Any:
    """Return a weight."""
    import tensorflow as tf

    return tf.Variable(tf.zeros(shape), name=name)


def group_norm() -> Call:
    """Return a group norm of four groups for any size, then a shift by an embedded time (diffusion)."""
    import tensorflow as tf

    gamma, beta = variable("gamma", WIDTH), variable("beta", WIDTH)
    project = variable("project", 8, WIDTH)

    def call(x: Any, time: Any) -> Any:
        size = tf.shape(x)
        groups = tf.reshape(x, [size[0], size[1], size[2], 4, WIDTH // 4])
        mean, variance = tf.nn.moments(groups, axes=[1, 2, 4], keepdims=True)
        y = tf.reshape((groups - mean) / tf.sqrt(variance + 1e-5), size) * gamma + beta
        return tf.nn.silu(y) + tf.reshape(tf.matmul(time, project), [-1, 1, 1, WIDTH])

    return call


def layer_norm() -> Call:
    """Return layer norms as they are written out: over channels, and over time with a mask's count."""
    import tensorflow as tf

    gamma, beta = variable("gamma", WIDTH), variable("beta", WIDTH)

    def call(x: Any, mask: Any) -> Any:
        mean = tf.reduce_mean(x, axis=-1, keepdims=True)
        spread = tf.reduce_mean(tf.math.squared_difference(x, mean), axis=-1, keepdims=True)
        y = (x - mean) / tf.sqrt(spread + 1e-6) * gamma + beta
        seen = tf.expand_dims(tf.cast(mask, tf.float32), -1)
        count = tf.maximum(tf.reduce_sum(seen, axis=1, keepdims=True), 1.0)
        center = tf.reduce_sum(y * seen, axis=1, keepdims=True) / count
        return (y - center) * seen

    return call


def masked_mean() -> Call:
    """Return a sentence embedding: the mean over tokens that a mask keeps, normalized."""
    import tensorflow as tf

    table, weight = variable("embedding", 60, WIDTH), variable("weight", WIDTH, WIDTH)

    def call(tokens: Any, mask: Any) -> Any:
        x = tf.tanh(tf.matmul(tf.gather(table, tokens), weight))
        seen = tf.cast(tf.expand_dims(mask, -1), tf.float32)
        mean = tf.reduce_sum(x * seen, axis=1) / tf.clip_by_value(tf.reduce_sum(seen, axis=1), 1e-9, 1e9)
        return tf.math.l2_normalize(mean, axis=-1)

    return call


def two_towers() -> Call:
    """Return cosines of texts and images, over a temperature, with shares along both axes."""
    import tensorflow as tf

    table, image_weight = variable("embedding", 60, WIDTH), variable("image_weight", 12, WIDTH)
    temperature = tf.Variable(0.0, name="temperature_scale")

    def call(tokens: Any, image: Any) -> dict[str, Any]:
        text = tf.math.l2_normalize(tf.reduce_mean(tf.gather(table, tokens), axis=1), axis=-1)
        pixels = tf.matmul(image, image_weight)
        pixels = pixels / tf.norm(pixels, axis=-1, keepdims=True)
        logits = tf.matmul(text, pixels, transpose_b=True) * tf.exp(temperature)
        return {"text": tf.nn.softmax(logits), "image": tf.transpose(tf.nn.softmax(logits, axis=0))}

    return call


def distances() -> Call:
    """Return distances of all pairs, written as x[:,None] - y[None], and a kernel of them."""
    import tensorflow as tf

    def call(x: Any, y: Any) -> dict[str, Any]:
        square = tf.reduce_sum(tf.square(x[:, tf.newaxis] - y[tf.newaxis]), axis=-1)
        return {"distance": tf.sqrt(square + 1e-12), "kernel": tf.exp(-0.5 * square)}

    return call


def distances_expanded() -> Call:
    """Return squared distances in a batch as |x|^2 - 2xy + |y|^2, and the nearest (k-means, VQ)."""
    import tensorflow as tf

    codes = variable("codes_scale", 10, 8)

    def call(x: Any) -> dict[str, Any]:
        cross = tf.matmul(x, codes, transpose_b=True)
        square = tf.reduce_sum(x**2, axis=-1, keepdims=True) - 2.0 * cross + tf.reduce_sum(codes**2, axis=-1)
        nearest = tf.argmin(square, axis=-1, output_type=tf.int32)
        return {"code": tf.gather(codes, nearest), "distance": tf.maximum(square, 0.0)}

    return call


def bilinear() -> Call:
    """Return bilinear pooling of two maps by einsum, signed roots, normalized."""
    import tensorflow as tf

    def call(x: Any, y: Any) -> Any:
        places = tf.cast(tf.shape(x)[1] * tf.shape(x)[2], tf.float32)
        z = tf.reshape(tf.einsum("bhwc,bhwd->bcd", x, y) / places, [-1, 8 * 6])
        z = tf.sign(z) * tf.sqrt(tf.abs(z) + 1e-12)
        return z / (tf.sqrt(tf.reduce_sum(z * z, axis=1, keepdims=True)) + 1e-6)

    return call


def experts() -> Call:
    """Return a mixture of four experts: the two best gates, one-hot, weigh what all experts give."""
    import tensorflow as tf

    gate, weight, bias = variable("gate", WIDTH, 4), variable("weight", 4, WIDTH, WIDTH), variable("bias", 4, WIDTH)

    def call(x: Any) -> Any:
        shares, best = tf.math.top_k(tf.nn.softmax(tf.matmul(x, gate)), 2)
        shares = shares / tf.reduce_sum(shares, axis=-1, keepdims=True)
        chosen = tf.reduce_sum(tf.one_hot(best, 4) * tf.expand_dims(shares, -1), axis=2)
        y = tf.nn.relu(tf.einsum("btd,edf->btef", x, weight) + bias)
        return tf.reduce_sum(y * tf.expand_dims(chosen, -1), axis=2)

    return call


def graph_attention() -> Call:
    """Return graph attention: a score of [B,N,1] and one of [B,1,N], a mask of the edges and the diagonal."""
    import tensorflow as tf

    weight = variable("weight", WIDTH, WIDTH)
    source, target = variable("source", WIDTH, 1), variable("target", WIDTH, 1)

    def call(x: Any, edges: Any) -> Any:
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

    def call(x: Any, senders: Any, receivers: Any) -> Any:
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

    def call(tokens: Any, texts: Any) -> Any:
        total = tf.math.unsorted_segment_sum(tf.gather(table, tokens), texts, 4)
        count = tf.math.unsorted_segment_sum(tf.ones_like(tokens, tf.float32), texts, 4)
        return tf.nn.softmax(tf.matmul(total / tf.maximum(count, 1.0)[:, tf.newaxis], weight) + bias)

    return call


def beam_step() -> Call:
    """Return a step of beam search: log shares under the beams' scores, the best of all, their beams gathered."""
    import tensorflow as tf

    def call(logits: Any, scores: Any, states: Any) -> dict[str, Any]:
        total = tf.nn.log_softmax(logits) + tf.expand_dims(scores, -1)
        best, index = tf.math.top_k(tf.reshape(total, [tf.shape(logits)[0], -1]), 3)
        beam, token = index // 12, index % 12
        return {"scores": best, "tokens": token, "states": tf.gather(states, beam, batch_dims=1)}

    return call


def ragged() -> Call:
    """Return the last real step of each row (gather_nd), and running means up to each step."""
    import tensorflow as tf

    weight = variable("weight", WIDTH, WIDTH)

    def call(x: Any, length: Any) -> dict[str, Any]:
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

    def call(x: Any, kind: Any, price: Any) -> Any:
        x = x + tf.gather(table, kind)
        x = x * (tf.matmul(x, weight) + bias) + x
        cents = tf.cast(price, tf.float32) * 0.01
        bins = tf.cast(price // [10, 20, 50, 100], tf.float32) / 10.0
        odd = tf.cast(tf.math.floormod(price, [2, 3, 5, 7]), tf.float32)
        power = tf.pow(tf.maximum(cents, 0.01), [0.5, 1.0, 1.5, 2.0])
        return tf.concat([x, tf.minimum(bins, 5.0), odd, power], axis=-1)

    return call


def contrast() -> Call:
    """Return scores of pairs whose batch axes broadcast: [B,1,T,C] by [S,C,6], squared differences of the rows."""
    import tensorflow as tf

    def call(x: Any, heads: Any) -> Any:
        y = tf.matmul(tf.expand_dims(x, 1), heads)
        mean = tf.reduce_mean(y, axis=[1, 2], keepdims=True)
        return tf.math.squared_difference(y, mean) * tf.sign(y)

    return call


def masked_softmax() -> Call:
    """Return shares under a mask of lower rank, dropped values set to a row's least."""
    import tensorflow as tf

    def call(scores: Any, allowed: Any) -> Any:
        seen = tf.expand_dims(allowed, 1)
        top = tf.stop_gradient(tf.reduce_max(scores, axis=-1, keepdims=True))
        weights = tf.exp(scores - top) * tf.cast(seen, tf.float32)
        shares = weights / (tf.reduce_sum(weights, axis=-1, keepdims=True) + 1e-9)
        return tf.where(seen, shares, tf.reduce_min(shares, axis=-1, keepdims=True))

    return call


def forecast(x: Any) -> Any:
    """Return N-BEATS' idea: reversible normalization, a trend taken off by a mean, Dense on the rest."""
    from keras import layers, ops

    mean, spread = ops.mean(x, axis=1, keepdims=True), ops.std(x, axis=1, keepdims=True) + 1e-3
    y = (x - mean) / spread
    trend = layers.AveragePooling1D(3, 1, "same")(y)
    mixed = layers.Dense(8)(trend) + layers.Dense(8, activation="relu")(y - trend)
    return mixed[:, -2:] * spread + mean


def tabular(number: Any, kind: Any) -> Any:
    """Return a Keras model of a table: normalized numbers, an embedded kind, batch norm, dense layers."""
    from keras import layers

    x = layers.Normalization(mean=[0.1, 0.2, -0.1, 0.0, 0.5, 0.3], variance=[1.0, 2.0, 0.5, 1.0, 1.5, 0.7])(number)
    x = layers.Concatenate()([x, layers.Flatten()(layers.Embedding(7, 4)(kind))])
    x = layers.BatchNormalization()(layers.Dense(WIDTH, activation="selu")(x))
    return layers.Dense(1, activation="sigmoid")(layers.PReLU()(layers.BatchNormalization()(x)))


_X = floats("x", "B", "T", WIDTH)
_MASK = mask("mask", "B", "T")

MODELS = (
    function("group_norm_time", group_norm, (floats("x", "B", "H", "W", WIDTH), floats("time", "B", 8)), "free fixed"),
    function("layer_norm", layer_norm, (_X, _MASK), "free"),
    function("masked_mean", masked_mean, (ids("tokens", 60, "B", "T"), _MASK), "free fixed_int8"),
    function("two_towers", two_towers, (ids("tokens", 60, "B", "T"), floats("image", "N", 12)), "free"),
    function("distances", distances, (floats("x", "B", 8), floats("y", "N", 8)), "free"),
    function("distances_expanded", distances_expanded, (floats("x", "B", "T", 8),), "free"),
    function("bilinear", bilinear, (floats("x", "B", "H", "W", 8), floats("y", "B", "H", "W", 6)), "free"),
    function("experts", experts, (_X,), "free fixed_int8"),
    function("graph_attention", graph_attention, (_X, flags("edges", "B", "T", "T")), "free"),
    function(
        "message_passing",
        message_passing,
        (floats("x", "S", WIDTH), ids("senders", 4, "T"), ids("receivers", 4, "T")),
        "free",
    ),
    function("bag_of_words", bag_of_words, (ids("tokens", 60, "T"), ids("texts", 4, "T")), "free"),
    function(
        "beam_step",
        beam_step,
        (floats("logits", "B", 3, 12), floats("scores", "B", 3), floats("states", "B", 3, "T", 8)),
        "free",
    ),
    function("ragged", ragged, (_X, ids("length", 5, "B")), "free"),
    function(
        "cross_features",
        cross_features,
        (floats("x", "B", 8), ids("kind", 12, "B"), ids("price", 300, "B", 1)),
        "free",
    ),
    function("contrast", contrast, (floats("x", "B", "T", 8), floats("heads", "S", 8, 6)), "free"),
    function("masked_softmax", masked_softmax, (floats("scores", "B", "S", "T"), flags("allowed", "B", "T")), "free"),
    keras_model("forecast", forecast, (floats("x", "B", "T", 8),), "free"),
    keras_model("tabular", tabular, (floats("number", "B", 6), ids("kind", 7, "B", 1)), "free fixed_int8"),
)
