"""Recurrences, convolutions over time, sound and control flow, written with tf and Keras layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exporting.tflite_model import floats, function, ids, keras_model, mask, module, stateful

Call = Callable[..., Any]
WIDTH = 16


def variable(name: str, *shape: int) -> Any:
    """Return a weight."""
    import tensorflow as tf

    return tf.Variable(tf.zeros(shape), name=name)


def state_space() -> Call:
    """Return a selective scan (Mamba): the state decays by exp(dt * A) in a loop over the sequence."""
    import tensorflow as tf

    enter, step, leave = (variable(name, WIDTH, WIDTH) for name in ("enter", "step", "leave"))
    decay, inputs, outputs = (variable(name, WIDTH, 4) for name in ("decay", "inputs", "outputs"))
    skip, bias = variable("skip_scale", WIDTH), variable("bias", WIDTH)

    def call(x: Any) -> Any:
        u = tf.nn.silu(tf.matmul(x, enter))
        dt = tf.math.softplus(tf.matmul(u, step) + bias)
        b, c = tf.matmul(u, inputs), tf.matmul(u, outputs)
        a = -tf.exp(decay)

        def body(i: Any, h: Any, made: Any) -> tuple[Any, Any, Any]:
            now = tf.expand_dims(dt[:, i], -1)
            h = tf.exp(now * a) * h + now * tf.expand_dims(b[:, i], 1) * tf.expand_dims(u[:, i], -1)
            y = tf.reduce_sum(h * tf.expand_dims(c[:, i], 1), axis=-1)
            return i + 1, h, tf.concat([made, tf.expand_dims(y, 1)], axis=1)

        start = tf.zeros([tf.shape(x)[0], WIDTH, 4])
        loop = [tf.constant(0), start, tf.zeros_like(u)[:, :1]]
        shapes = [tf.TensorShape([]), tf.TensorShape([None, WIDTH, 4]), tf.TensorShape([None, None, WIDTH])]
        _, _, y = tf.while_loop(lambda i, _h, _y: i < tf.shape(x)[1], body, loop, shape_invariants=shapes)
        return tf.matmul((y[:, 1:] + u * skip) * tf.nn.silu(x), leave)

    return call


def linear_scan() -> Call:
    """Return a linear recurrence without a loop: running sums under running decays."""
    import tensorflow as tf

    gate, value = variable("gate", WIDTH, WIDTH), variable("value", WIDTH, WIDTH)

    def call(x: Any) -> Any:
        log = tf.cumsum(tf.math.log_sigmoid(tf.matmul(x, gate)), axis=1)
        return tf.exp(log) * tf.cumsum(tf.exp(-log) * tf.matmul(x, value), axis=1)

    return call


def scan() -> Call:
    """Return an exponential average by tf.scan over a sequence of six."""
    import tensorflow as tf

    weight, rate = variable("weight", WIDTH, WIDTH), variable("rate", WIDTH)

    def call(x: Any) -> Any:
        steps = tf.transpose(tf.matmul(x, weight), [1, 0, 2])
        share = tf.sigmoid(rate)
        return tf.transpose(tf.scan(lambda h, e: h * share + e * (1.0 - share), steps), [1, 0, 2])

    return call


def lstm_unrolled(x: Any) -> Any:
    """Return a Keras LSTM, unrolled over eight steps."""
    from keras import layers

    return layers.Dense(4)(layers.LSTM(WIDTH, unroll=True)(x))


def gru(x: Any) -> Any:
    """Return a Keras GRU, a loop over the sequence, its outputs at every step."""
    from keras import layers

    return layers.Dense(4)(layers.GRU(WIDTH, return_sequences=True)(x))


def gru_attention(x: Any) -> Any:
    """Return additive attention over a GRU in both directions, unrolled."""
    from keras import layers, ops

    h = layers.Bidirectional(layers.GRU(8, return_sequences=True, unroll=True))(x)
    scores = layers.Dense(1)(layers.Dense(8, activation="tanh")(h))
    return layers.Dense(4)(ops.sum(ops.softmax(scores, axis=1) * h, axis=1))


def lstm_cell() -> Call:
    """Return one step of an LSTM as streaming models have it: the state goes in and out."""
    import tensorflow as tf

    weight, bias = variable("kernel", 2 * WIDTH, 4 * WIDTH), variable("bias", 4 * WIDTH)

    def call(x: Any, h: Any, c: Any) -> dict[str, Any]:
        i, f, g, o = tf.split(tf.matmul(tf.concat([x, h], axis=-1), weight) + bias, 4, axis=-1)
        c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(g)
        return {"h": tf.sigmoid(o) * tf.tanh(c), "c": c}

    return call


def tcn(x: Any) -> Any:
    """Return a temporal convolution network: causal padding, dilations 1 2 4, residuals."""
    from keras import layers

    for dilation in (1, 2, 4):
        y = layers.Conv1D(WIDTH, 3, padding="causal", dilation_rate=dilation, activation="relu")(x)
        x = layers.Add()([x, layers.LayerNormalization()(y)])
    return layers.Dense(4)(x)


def wavenet(x: Any) -> Any:
    """Return WaveNet: gated dilated convolutions, a sum of skips."""
    from keras import layers

    skips = []
    for dilation in (1, 2):
        both = [
            layers.Conv1D(WIDTH, 2, padding="causal", dilation_rate=dilation, activation=name)(x)
            for name in ("tanh", "sigmoid")
        ]
        y = layers.Multiply()(both)
        skips.append(layers.Conv1D(WIDTH, 1)(y))
        x = layers.Add()([x, layers.Conv1D(WIDTH, 1)(y)])
    return layers.Conv1D(8, 1, activation="softmax")(layers.ReLU()(layers.Add()(skips)))


def wave_decoder(codes: Any) -> Any:
    """Return a vocoder's decoder: transposed convolutions of stride 2, Leaky ReLU, tanh."""
    from keras import layers

    x = layers.Conv1D(WIDTH, 3, padding="same")(codes)
    for width in (8, 4):
        x = layers.Conv1DTranspose(width, 4, 2, "same")(layers.LeakyReLU(negative_slope=0.1)(x))
        x = x + layers.Conv1D(width, 3, padding="same")(layers.LeakyReLU(negative_slope=0.1)(x))
    return layers.Conv1D(1, 3, padding="same", activation="tanh")(x)


def _log_mel(sound: Any, mel: Any) -> Any:
    """sound[B,T] -> log mel energies [B,frames,8], no more than 8 below the loudest."""
    import tensorflow as tf

    power = tf.square(tf.abs(tf.signal.stft(sound, frame_length=64, frame_step=32, fft_length=64)))
    log = tf.math.log(tf.maximum(tf.matmul(power, mel), 1e-10)) / tf.math.log(10.0)
    log = tf.maximum(log, tf.reduce_max(log, axis=[1, 2], keepdims=True) - 8.0)
    return (log + 4.0) / 4.0


def whisper_sound() -> Call:
    """Return Whisper's front: log mel spectrogram, two convolutions, sinusoids of the frames, one attention."""
    import keras
    import tensorflow as tf

    mel = tf.signal.linear_to_mel_weight_matrix(8, 33, 8000, 80.0, 3800.0)
    first = keras.layers.Conv1D(WIDTH, 3, padding="same", activation="gelu", name="first")
    second = keras.layers.Conv1D(WIDTH, 3, strides=2, padding="same", activation="gelu", name="second")
    query, key, value = (keras.layers.Dense(WIDTH, name=name) for name in ("query", "key", "value"))
    rates = tf.exp(-tf.range(WIDTH // 2, dtype=tf.float32) * 0.6)

    def call(sound: Any) -> Any:
        x = second(first(_log_mel(sound, mel)))
        angles = tf.range(tf.shape(x)[1], dtype=tf.float32)[:, tf.newaxis] * rates
        x = x + tf.concat([tf.sin(angles), tf.cos(angles)], axis=-1)
        shares = tf.nn.softmax(tf.matmul(query(x), key(x), transpose_b=True) * WIDTH**-0.5)
        return x + tf.matmul(shares, value(x))

    return call


def keyword_spotting() -> Call:
    """Return keyword spotting: spectrogram, normalized over time, a convolution, softmax."""
    import keras
    import tensorflow as tf

    conv = keras.layers.Conv2D(8, 3, strides=2, padding="same", activation="relu", name="conv")
    out = keras.layers.Dense(4, name="out")

    def call(sound: Any) -> Any:
        power = tf.abs(tf.signal.stft(sound, frame_length=64, frame_step=32))
        mean, variance = tf.nn.moments(power, axes=[1], keepdims=True)
        x = conv(tf.expand_dims((power - mean) * tf.math.rsqrt(variance + 1e-6), -1))
        return tf.nn.softmax(out(tf.reduce_mean(x, axis=[1, 2])))

    return call


def audio_gain() -> Call:
    """Return a gain per sound, a fade in, and a soft clip: [B,T] * [B,1] * [T]."""
    import tensorflow as tf

    def call(sound: Any, gain: Any) -> Any:
        fade = tf.minimum(tf.range(tf.shape(sound)[1], dtype=tf.float32) / 4.0, 1.0)
        peak = tf.reduce_max(tf.abs(sound), axis=1, keepdims=True)
        return tf.tanh(sound / tf.maximum(peak, 1e-3) * gain * fade)

    return call


def branch() -> Call:
    """Return tf.cond: long sequences are pooled, short ones normalized; both give [B,16]."""
    import tensorflow as tf

    weight = variable("weight", WIDTH, WIDTH)

    def call(x: Any, mask: Any) -> Any:
        seen = tf.expand_dims(tf.cast(mask, tf.float32), -1)

        def mean() -> Any:
            return tf.reduce_sum(x * seen, axis=1) / tf.maximum(tf.reduce_sum(seen, axis=1), 1.0)

        def most() -> Any:
            return tf.reduce_max(x + (1.0 - seen) * -1e4, axis=1) * 0.5

        return tf.matmul(tf.cond(tf.shape(x)[1] > 6, mean, most), weight)

    return call


def case() -> Call:
    """Return tf.case: one of three activations, by a number."""
    import tensorflow as tf

    scale = variable("scale", WIDTH)

    def call(x: Any, kind: Any) -> Any:
        branches = [(kind < 1, lambda: tf.nn.relu(x * scale)), (kind < 2, lambda: tf.tanh(x + scale))]
        return tf.case(branches, default=lambda: x - tf.reduce_mean(x, axis=-1, keepdims=True))

    return call


def greedy() -> Call:
    """Return greedy decoding: a loop whose tokens grow by one, logits of the last."""
    import tensorflow as tf

    table, weight = variable("embedding", 20, WIDTH), variable("weight", WIDTH, WIDTH)

    def call(tokens: Any) -> Any:
        def body(i: Any, made: Any) -> tuple[Any, Any]:
            x = tf.gather(table, made)
            h = tf.reduce_mean(tf.matmul(x, weight), axis=1) + x[:, -1]
            best = tf.argmax(tf.matmul(h, table, transpose_b=True), axis=-1, output_type=tf.int32)
            return i + 1, tf.concat([made, tf.expand_dims(best, 1)], axis=1)

        shapes = [tf.TensorShape([]), tf.TensorShape([None, None])]
        return tf.while_loop(lambda i, _: i < 4, body, [tf.constant(0), tokens], shape_invariants=shapes)[1]

    return call


def newton() -> Call:
    """Return a loop that counts: a whitening matrix by Newton's iteration, then x normalized by it."""
    import tensorflow as tf

    def call(x: Any) -> Any:
        x = x - tf.reduce_mean(x, axis=0, keepdims=True)
        a = tf.matmul(x, x, transpose_a=True) / tf.cast(tf.shape(x)[0], tf.float32) + tf.eye(8) * 0.1
        a = a / tf.reduce_sum(a * tf.eye(8))

        def body(i: Any, p: Any) -> tuple[Any, Any]:
            return i + 1, 1.5 * p - 0.5 * tf.matmul(tf.matmul(p, tf.matmul(p, p)), a)

        _, p = tf.while_loop(lambda i, _: i < 3, body, [tf.constant(0), tf.eye(8)])
        return tf.matmul(x, p)

    return call


def counter() -> Any:
    """Return running statistics: `update` adds a batch to a sum and a count, `normalize` reads them, `reset` clears."""
    import tensorflow as tf

    made = tf.Module()
    made.total = tf.Variable(tf.zeros([1, 8]), name="total_state", trainable=False)
    made.count = tf.Variable(tf.ones([1, 1]), name="count", trainable=False)

    def update(x: Any) -> dict[str, Any]:
        made.total.assign_add(tf.reduce_sum(x, axis=0, keepdims=True))
        made.count.assign_add(tf.reshape(tf.cast(tf.shape(x)[0], tf.float32), [1, 1]))
        return {"mean": made.total / made.count}

    def normalize(x: Any) -> dict[str, Any]:
        return {"x": x - made.total / made.count}

    made.update, made.normalize = update, normalize
    return made


def trainer() -> Any:
    """Return on-device training: `train` steps down the tape's gradient, `infer` classifies."""
    import tensorflow as tf

    made = tf.Module()
    made.weight = tf.Variable(tf.fill([8, 4], 0.1), name="weight_state")
    made.bias = tf.Variable([0.1, 0.0, -0.1, 0.2], name="bias_state")

    def infer(x: Any) -> dict[str, Any]:
        return {"shares": tf.nn.softmax(tf.matmul(x, made.weight) + made.bias)}

    def train(x: Any, label: Any) -> dict[str, Any]:
        wanted = tf.one_hot(label, 4)
        with tf.GradientTape() as tape:
            logits = tf.matmul(x, made.weight) + made.bias
            loss = -tf.reduce_mean(tf.reduce_sum(wanted * tf.nn.log_softmax(logits), axis=-1))
        for one, slope in zip([made.weight, made.bias], tape.gradient(loss, [made.weight, made.bias]), strict=True):
            one.assign_sub(0.1 * slope)
        return {"loss": loss}

    made.train, made.infer = train, infer
    return made


def separator() -> Any:
    """Return a codec with two signatures: `encode` gives frames of a sound, `decode` overlaps none and scales back."""
    import tensorflow as tf

    made = tf.Module()
    made.basis = tf.Variable(tf.zeros([16, WIDTH]), name="basis")

    def encode(sound: Any) -> dict[str, Any]:
        frames = tf.reshape(sound, [tf.shape(sound)[0], -1, 16])
        level = tf.sqrt(tf.reduce_mean(tf.square(frames), axis=[1, 2], keepdims=True) + 1e-6)
        return {"code": tf.nn.relu(tf.matmul(frames / level, made.basis)), "level": level}

    def decode(code: Any, level: Any) -> dict[str, Any]:
        frames = tf.matmul(code, made.basis, transpose_b=True) * level
        return {"sound": tf.reshape(frames, [tf.shape(code)[0], -1])}

    made.encode, made.decode = encode, decode
    return made


_X = floats("x", "B", "T", WIDTH)
_SOUND = floats("sound", "B", "T")
_CODE = (floats("code", "B", "S", WIDTH), floats("level", "B", 1, 1))
_SAMPLES, _LABELS = floats("x", "B", 8), ids("label", 4, "B")

MODELS = (
    function("state_space", state_space, (_X,), "free batch"),
    function("linear_scan", linear_scan, (_X,), "free"),
    function("scan", scan, (_X,), "fixed", T=(6, 6)),
    keras_model("lstm_unrolled", lstm_unrolled, (_X,), "batch fixed_int8"),
    keras_model("gru", gru, (_X,), "fixed"),
    keras_model("gru_attention", gru_attention, (_X,), "batch"),
    function("lstm_cell", lstm_cell, tuple(floats(name, "B", WIDTH) for name in "xhc"), "free free_dynamic fixed_int8"),
    keras_model("tcn", tcn, (_X,), "free fixed_int8io"),
    keras_model("wavenet", wavenet, (_X,), "free free_fp16"),
    keras_model("wave_decoder", wave_decoder, (_X,), "free fixed_int8"),
    function("whisper_sound", whisper_sound, (_SOUND,), "free fixed", T=(320, 512)),
    function("keyword_spotting", keyword_spotting, (_SOUND,), "free batch", T=(320, 512)),
    function("audio_gain", audio_gain, (_SOUND, floats("gain", "B", 1)), "free fixed_int8"),
    function("branch", branch, (_X, mask("mask", "B", "T")), "free"),
    function("case", case, (_X, ids("kind", 3)), "free"),
    function("greedy", greedy, (ids("tokens", 20, "B", "T"),), "free"),
    function("newton", newton, (_SAMPLES,), "free", B=(4, 6)),
    stateful("counter", counter, {"update": (_SAMPLES,), "normalize": (_SAMPLES,)}, "free"),
    stateful("trainer", trainer, {"train": (_SAMPLES, _LABELS), "infer": (_SAMPLES,)}, "fixed"),
    module("codec", separator, {"encode": (_SOUND,), "decode": _CODE}, "free", T=(64, 96)),
)
