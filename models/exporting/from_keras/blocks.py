"""Blocks written with tf: norms, pooling, distances, gates, shares under a mask."""

from __future__ import annotations

from models.exporting.from_keras.layers import Call, Tensor, variable
from models.exporting.from_keras.model import flags, floats, function, ids, mask

WIDTH = 16


def group_norm() -> Call:
    """Return a group norm of four groups for any size, then a shift by an embedded time (diffusion)."""
    import tensorflow as tf

    gamma, beta = variable("gamma", WIDTH), variable("beta", WIDTH)
    project = variable("project", 8, WIDTH)

    def call(x: Tensor, time: Tensor) -> Tensor:
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

    def call(x: Tensor, mask: Tensor) -> Tensor:
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

    def call(tokens: Tensor, mask: Tensor) -> Tensor:
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

    def call(tokens: Tensor, image: Tensor) -> dict[str, Tensor]:
        text = tf.math.l2_normalize(tf.reduce_mean(tf.gather(table, tokens), axis=1), axis=-1)
        pixels = tf.matmul(image, image_weight)
        pixels = pixels / tf.norm(pixels, axis=-1, keepdims=True)
        logits = tf.matmul(text, pixels, transpose_b=True) * tf.exp(temperature)
        return {"text": tf.nn.softmax(logits), "image": tf.transpose(tf.nn.softmax(logits, axis=0))}

    return call


def distances() -> Call:
    """Return distances of all pairs, written as x[:,None] - y[None], and a kernel of them."""
    import tensorflow as tf

    def call(x: Tensor, y: Tensor) -> dict[str, Tensor]:
        square = tf.reduce_sum(tf.square(x[:, tf.newaxis] - y[tf.newaxis]), axis=-1)
        return {"distance": tf.sqrt(square + 1e-12), "kernel": tf.exp(-0.5 * square)}

    return call


def distances_expanded() -> Call:
    """Return squared distances in a batch as |x|^2 - 2xy + |y|^2, and the nearest (k-means, VQ)."""
    import tensorflow as tf

    codes = variable("codes_scale", 10, 8)

    def call(x: Tensor) -> dict[str, Tensor]:
        cross = tf.matmul(x, codes, transpose_b=True)
        square = tf.reduce_sum(x**2, axis=-1, keepdims=True) - 2.0 * cross + tf.reduce_sum(codes**2, axis=-1)
        nearest = tf.argmin(square, axis=-1, output_type=tf.int32)
        return {"code": tf.gather(codes, nearest), "distance": tf.maximum(square, 0.0)}

    return call


def bilinear() -> Call:
    """Return bilinear pooling of two maps by einsum, signed roots, normalized."""
    import tensorflow as tf

    def call(x: Tensor, y: Tensor) -> Tensor:
        places = tf.cast(tf.shape(x)[1] * tf.shape(x)[2], tf.float32)
        z = tf.reshape(tf.einsum("bhwc,bhwd->bcd", x, y) / places, [-1, 8 * 6])
        z = tf.sign(z) * tf.sqrt(tf.abs(z) + 1e-12)
        return z / (tf.sqrt(tf.reduce_sum(z * z, axis=1, keepdims=True)) + 1e-6)

    return call


def experts() -> Call:
    """Return a mixture of four experts: the two best gates, one-hot, weigh what all experts give."""
    import tensorflow as tf

    gate, weight, bias = variable("gate", WIDTH, 4), variable("weight", 4, WIDTH, WIDTH), variable("bias", 4, WIDTH)

    def call(x: Tensor) -> Tensor:
        shares, best = tf.math.top_k(tf.nn.softmax(tf.matmul(x, gate)), 2)
        shares = shares / tf.reduce_sum(shares, axis=-1, keepdims=True)
        chosen = tf.reduce_sum(tf.one_hot(best, 4) * tf.expand_dims(shares, -1), axis=2)
        y = tf.nn.relu(tf.einsum("btd,edf->btef", x, weight) + bias)
        return tf.reduce_sum(y * tf.expand_dims(chosen, -1), axis=2)

    return call


def contrast() -> Call:
    """Return scores of pairs whose batch axes broadcast: [B,1,T,C] by [S,C,6], squared differences of the rows."""
    import tensorflow as tf

    def call(x: Tensor, heads: Tensor) -> Tensor:
        y = tf.matmul(tf.expand_dims(x, 1), heads)
        mean = tf.reduce_mean(y, axis=[1, 2], keepdims=True)
        return tf.math.squared_difference(y, mean) * tf.sign(y)

    return call


def masked_softmax() -> Call:
    """Return shares under a mask of lower rank, dropped values set to a row's least."""
    import tensorflow as tf

    def call(scores: Tensor, allowed: Tensor) -> Tensor:
        seen = tf.expand_dims(allowed, 1)
        top = tf.stop_gradient(tf.reduce_max(scores, axis=-1, keepdims=True))
        weights = tf.exp(scores - top) * tf.cast(seen, tf.float32)
        shares = weights / (tf.reduce_sum(weights, axis=-1, keepdims=True) + 1e-9)
        return tf.where(seen, shares, tf.reduce_min(shares, axis=-1, keepdims=True))

    return call


_MASK = mask("mask", "B", "T")
_X = floats("x", "B", "T", WIDTH)

MODELS = (
    function("group_norm_time", group_norm, (floats("x", "B", "H", "W", WIDTH), floats("time", "B", 8)), "free fixed"),
    function("layer_norm", layer_norm, (_X, _MASK), "free"),
    function("masked_mean", masked_mean, (ids("tokens", 60, "B", "T"), _MASK), "free fixed_int8"),
    function("two_towers", two_towers, (ids("tokens", 60, "B", "T"), floats("image", "N", 12)), "free"),
    function("distances", distances, (floats("x", "B", 8), floats("y", "N", 8)), "free"),
    function("distances_expanded", distances_expanded, (floats("x", "B", "T", 8),), "free"),
    function("bilinear", bilinear, (floats("x", "B", "H", "W", 8), floats("y", "B", "H", "W", 6)), "free"),
    function("experts", experts, (_X,), "free fixed_int8"),
    function("contrast", contrast, (floats("x", "B", "T", 8), floats("heads", "S", 8, 6)), "free"),
    function("masked_softmax", masked_softmax, (floats("scores", "B", "S", "T"), flags("allowed", "B", "T")), "free"),
)
