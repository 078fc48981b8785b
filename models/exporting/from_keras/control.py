"""Control flow, variables that are assigned, and several signatures, written with tf."""

from __future__ import annotations

from models.exporting.from_keras.layers import Call, Layer, Tensor, variable
from models.exporting.from_keras.model import floats, function, ids, mask, module, stateful

WIDTH = 16


def branch() -> Call:
    """Return tf.cond: long sequences are pooled, short ones normalized; both give [B,16]."""
    import tensorflow as tf

    weight = variable("weight", WIDTH, WIDTH)

    def call(x: Tensor, mask: Tensor) -> Tensor:
        seen = tf.expand_dims(tf.cast(mask, tf.float32), -1)

        def mean() -> Tensor:
            return tf.reduce_sum(x * seen, axis=1) / tf.maximum(tf.reduce_sum(seen, axis=1), 1.0)

        def most() -> Tensor:
            return tf.reduce_max(x + (1.0 - seen) * -1e4, axis=1) * 0.5

        return tf.matmul(tf.cond(tf.shape(x)[1] > 6, mean, most), weight)

    return call


def case() -> Call:
    """Return tf.case: one of three activations, by a number."""
    import tensorflow as tf

    scale = variable("scale", WIDTH)

    def call(x: Tensor, kind: Tensor) -> Tensor:
        branches = [(kind < 1, lambda: tf.nn.relu(x * scale)), (kind < 2, lambda: tf.tanh(x + scale))]
        return tf.case(branches, default=lambda: x - tf.reduce_mean(x, axis=-1, keepdims=True))

    return call


def newton() -> Call:
    """Return a loop that counts: a whitening matrix by Newton's iteration, then x normalized by it."""
    import tensorflow as tf

    def call(x: Tensor) -> Tensor:
        x = x - tf.reduce_mean(x, axis=0, keepdims=True)
        a = tf.matmul(x, x, transpose_a=True) / tf.cast(tf.shape(x)[0], tf.float32) + tf.eye(8) * 0.1
        a = a / tf.reduce_sum(a * tf.eye(8))

        def body(i: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
            return i + 1, 1.5 * p - 0.5 * tf.matmul(tf.matmul(p, tf.matmul(p, p)), a)

        _, p = tf.while_loop(lambda i, _: i < 3, body, [tf.constant(0), tf.eye(8)])
        return tf.matmul(x, p)

    return call


def counter() -> Layer:
    """Return running statistics: `update` adds a batch to a sum and a count, `normalize` reads them, `reset` clears."""
    import tensorflow as tf

    made = tf.Module()
    made.total = tf.Variable(tf.zeros([1, 8]), name="total_state", trainable=False)
    made.count = tf.Variable(tf.ones([1, 1]), name="count", trainable=False)

    def update(x: Tensor) -> dict[str, Tensor]:
        made.total.assign_add(tf.reduce_sum(x, axis=0, keepdims=True))
        made.count.assign_add(tf.reshape(tf.cast(tf.shape(x)[0], tf.float32), [1, 1]))
        return {"mean": made.total / made.count}

    def normalize(x: Tensor) -> dict[str, Tensor]:
        return {"x": x - made.total / made.count}

    made.update, made.normalize = update, normalize
    return made


def trainer() -> Layer:
    """Return on-device training: `train` steps down the tape's gradient, `infer` classifies."""
    import tensorflow as tf

    made = tf.Module()
    made.weight = tf.Variable(tf.fill([8, 4], 0.1), name="weight_state")
    made.bias = tf.Variable([0.1, 0.0, -0.1, 0.2], name="bias_state")

    def infer(x: Tensor) -> dict[str, Tensor]:
        return {"shares": tf.nn.softmax(tf.matmul(x, made.weight) + made.bias)}

    def train(x: Tensor, label: Tensor) -> dict[str, Tensor]:
        wanted = tf.one_hot(label, 4)
        with tf.GradientTape() as tape:
            logits = tf.matmul(x, made.weight) + made.bias
            loss = -tf.reduce_mean(tf.reduce_sum(wanted * tf.nn.log_softmax(logits), axis=-1))
        for one, slope in zip([made.weight, made.bias], tape.gradient(loss, [made.weight, made.bias]), strict=True):
            one.assign_sub(0.1 * slope)
        return {"loss": loss}

    made.train, made.infer = train, infer
    return made


def separator() -> Layer:
    """Return a codec with two signatures: `encode` gives frames of a sound, `decode` overlaps none and scales back."""
    import tensorflow as tf

    made = tf.Module()
    made.basis = tf.Variable(tf.zeros([16, WIDTH]), name="basis")

    def encode(sound: Tensor) -> dict[str, Tensor]:
        frames = tf.reshape(sound, [tf.shape(sound)[0], -1, 16])
        level = tf.sqrt(tf.reduce_mean(tf.square(frames), axis=[1, 2], keepdims=True) + 1e-6)
        return {"code": tf.nn.relu(tf.matmul(frames / level, made.basis)), "level": level}

    def decode(code: Tensor, level: Tensor) -> dict[str, Tensor]:
        frames = tf.matmul(code, made.basis, transpose_b=True) * level
        return {"sound": tf.reshape(frames, [tf.shape(code)[0], -1])}

    made.encode, made.decode = encode, decode
    return made


_CODE = (floats("code", "B", "S", WIDTH), floats("level", "B", 1, 1))
_SAMPLES, _LABELS = floats("x", "B", 8), ids("label", 4, "B")
_SOUND = floats("sound", "B", "T")
_X = floats("x", "B", "T", WIDTH)

MODELS = (
    function("branch", branch, (_X, mask("mask", "B", "T")), "free"),
    function("case", case, (_X, ids("kind", 3)), "free"),
    function("newton", newton, (_SAMPLES,), "free", B=(4, 6)),
    stateful("counter", counter, {"update": (_SAMPLES,), "normalize": (_SAMPLES,)}, "free"),
    stateful("trainer", trainer, {"train": (_SAMPLES, _LABELS), "infer": (_SAMPLES,)}, "fixed"),
    module("codec", separator, {"encode": (_SOUND,), "decode": _CODE}, "free", T=(64, 96)),
)
