"""Recurrences, convolutions over time, and sound, written with tf and Keras layers."""

from __future__ import annotations

from models.exporting.from_keras.layers import Call, Tensor, variable
from models.exporting.from_keras.model import floats, function, keras_model

WIDTH = 16


def state_space() -> Call:
    """Return a selective scan (Mamba): the state decays by exp(dt * A) in a loop over the sequence."""
    import tensorflow as tf

    enter, step, leave = (variable(name, WIDTH, WIDTH) for name in ("enter", "rate", "leave"))
    decay, inputs, outputs = (variable(name, WIDTH, 4) for name in ("decay", "inputs", "outputs"))
    skip, bias = variable("skip_scale", WIDTH), variable("bias", WIDTH)

    def call(x: Tensor) -> Tensor:
        u = tf.nn.silu(tf.matmul(x, enter))
        dt = tf.math.softplus(tf.matmul(u, step) + bias)
        b, c = tf.matmul(u, inputs), tf.matmul(u, outputs)
        a = -tf.exp(decay)

        def body(i: Tensor, h: Tensor, made: Tensor) -> tuple[Tensor, Tensor, Tensor]:
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

    def call(x: Tensor) -> Tensor:
        log = tf.cumsum(tf.math.log_sigmoid(tf.matmul(x, gate)), axis=1)
        return tf.exp(log) * tf.cumsum(tf.exp(-log) * tf.matmul(x, value), axis=1)

    return call


def scan() -> Call:
    """Return an exponential average by tf.scan over a sequence of six."""
    import tensorflow as tf

    weight, rate = variable("weight", WIDTH, WIDTH), variable("rate", WIDTH)

    def call(x: Tensor) -> Tensor:
        steps = tf.transpose(tf.matmul(x, weight), [1, 0, 2])
        share = tf.sigmoid(rate)
        return tf.transpose(tf.scan(lambda h, e: h * share + e * (1.0 - share), steps), [1, 0, 2])

    return call


def lstm_unrolled(x: Tensor) -> Tensor:
    """Return a Keras LSTM, unrolled over eight steps."""
    from keras import layers

    return layers.Dense(4)(layers.LSTM(WIDTH, unroll=True)(x))


def gru(x: Tensor) -> Tensor:
    """Return a Keras GRU, a loop over the sequence, its outputs at every step."""
    from keras import layers

    return layers.Dense(4)(layers.GRU(WIDTH, return_sequences=True)(x))


def gru_attention(x: Tensor) -> Tensor:
    """Return additive attention over a GRU in both directions, unrolled."""
    from keras import layers, ops

    h = layers.Bidirectional(layers.GRU(8, return_sequences=True, unroll=True))(x)
    scores = layers.Dense(1)(layers.Dense(8, activation="tanh")(h))
    return layers.Dense(4)(ops.sum(ops.softmax(scores, axis=1) * h, axis=1))


def lstm_cell() -> Call:
    """Return one step of an LSTM as streaming models have it: the state goes in and out."""
    import tensorflow as tf

    weight, bias = variable("kernel", 2 * WIDTH, 4 * WIDTH), variable("bias", 4 * WIDTH)

    def call(x: Tensor, h: Tensor, c: Tensor) -> dict[str, Tensor]:
        i, f, g, o = tf.split(tf.matmul(tf.concat([x, h], axis=-1), weight) + bias, 4, axis=-1)
        c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(g)
        return {"h": tf.sigmoid(o) * tf.tanh(c), "c": c}

    return call


def tcn(x: Tensor) -> Tensor:
    """Return a temporal convolution network: causal padding, dilations 1 2 4, residuals."""
    from keras import layers

    for dilation in (1, 2, 4):
        y = layers.Conv1D(WIDTH, 3, padding="causal", dilation_rate=dilation, activation="relu")(x)
        x = layers.Add()([x, layers.LayerNormalization()(y)])
    return layers.Dense(4)(x)


def wavenet(x: Tensor) -> Tensor:
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


def wave_decoder(codes: Tensor) -> Tensor:
    """Return a vocoder's decoder: transposed convolutions of stride 2, Leaky ReLU, tanh."""
    from keras import layers

    x = layers.Conv1D(WIDTH, 3, padding="same")(codes)
    for width in (8, 4):
        x = layers.Conv1DTranspose(width, 4, 2, "same")(layers.LeakyReLU(negative_slope=0.1)(x))
        x = x + layers.Conv1D(width, 3, padding="same")(layers.LeakyReLU(negative_slope=0.1)(x))
    return layers.Conv1D(1, 3, padding="same", activation="tanh")(x)


def _log_mel(sound: Tensor, mel: Tensor) -> Tensor:
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

    def call(sound: Tensor) -> Tensor:
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

    def call(sound: Tensor) -> Tensor:
        power = tf.abs(tf.signal.stft(sound, frame_length=64, frame_step=32))
        mean, variance = tf.nn.moments(power, axes=[1], keepdims=True)
        x = conv(tf.expand_dims((power - mean) * tf.math.rsqrt(variance + 1e-6), -1))
        return tf.nn.softmax(out(tf.reduce_mean(x, axis=[1, 2])))

    return call


def audio_gain() -> Call:
    """Return a gain per sound, a fade in, and a soft clip: [B,T] * [B,1] * [T]."""
    import tensorflow as tf

    def call(sound: Tensor, gain: Tensor) -> Tensor:
        fade = tf.minimum(tf.range(tf.shape(sound)[1], dtype=tf.float32) / 4.0, 1.0)
        peak = tf.reduce_max(tf.abs(sound), axis=1, keepdims=True)
        return tf.tanh(sound / tf.maximum(peak, 1e-3) * gain * fade)

    return call


_SOUND = floats("sound", "B", "T")
_X = floats("x", "B", "T", WIDTH)

MODELS = (
    function("state_space", state_space, (_X,), "free batch"),
    function("linear_scan", linear_scan, (_X,), "free"),
    function("scan", scan, (_X,), "fixed", T=(6, 6)),
    keras_model("lstm_unrolled", lstm_unrolled, (_X,), "batch"),
    keras_model("gru", gru, (_X,), "fixed"),
    keras_model("gru_attention", gru_attention, (_X,), "batch", T=(4, 4)),
    function("lstm_cell", lstm_cell, tuple(floats(name, "B", WIDTH) for name in "xhc"), "free free_dynamic fixed_int8"),
    keras_model("tcn", tcn, (_X,), "free fixed_int8io"),
    keras_model("wavenet", wavenet, (_X,), "free free_fp16"),
    keras_model("wave_decoder", wave_decoder, (_X,), "free fixed_int8"),
    function("whisper_sound", whisper_sound, (_SOUND,), "free fixed", T=(320, 512)),
    function("keyword_spotting", keyword_spotting, (_SOUND,), "free batch", T=(320, 512)),
    function("audio_gain", audio_gain, (_SOUND, floats("gain", "B", 1)), "free fixed_int8"),
)
