"""Vision written with tf: windows, tokens, pyramids; sizes are those that tf.shape gives."""

from __future__ import annotations

from models.exporting.from_keras.layers import Call, Layer, Tensor, variable
from models.exporting.from_keras.model import floats, function

WIDTH, SIDE = 16, 4


def conv(width: int, kernel: int, name: str, **options: object) -> Layer:
    """Return a convolution layer."""
    import keras

    return keras.layers.Conv2D(width, kernel, padding="same", name=name, **options)


def windows(x: Tensor) -> Tensor:
    """x[B,H,W,C] -> [B*H/4*W/4,16,C]."""
    import tensorflow as tf

    size = tf.shape(x)
    x = tf.reshape(x, [size[0], size[1] // SIDE, SIDE, size[2] // SIDE, SIDE, WIDTH])
    return tf.reshape(tf.transpose(x, [0, 1, 3, 2, 4, 5]), [-1, SIDE * SIDE, WIDTH])


def whole(x: Tensor, size: Tensor) -> Tensor:
    """Give [B,H,W,C] back from windows."""
    import tensorflow as tf

    x = tf.reshape(x, [size[0], size[1] // SIDE, size[2] // SIDE, SIDE, SIDE, WIDTH])
    return tf.reshape(tf.transpose(x, [0, 1, 3, 2, 4, 5]), [size[0], size[1], size[2], WIDTH])


def window_attention(x: Tensor, weights: Tensor, bias: Tensor) -> Tensor:
    """Return attention of two heads in each window, under a bias [1,2,16,16]."""
    import tensorflow as tf

    qkv = tf.reshape(tf.matmul(x, weights), [-1, SIDE * SIDE, 3, 2, WIDTH // 2])
    q, k, v = tf.unstack(tf.transpose(qkv, [2, 0, 3, 1, 4]))
    shares = tf.nn.softmax(tf.matmul(q * (WIDTH // 2) ** -0.5, k, transpose_b=True) + bias)
    return tf.reshape(tf.transpose(tf.matmul(shares, v), [0, 2, 1, 3]), [-1, SIDE * SIDE, WIDTH])


def _relative() -> Call:
    """Return the bias of places in a window, from a table of (2*4-1)^2 offsets."""
    import numpy as np
    import tensorflow as tf

    table = variable("relative_scale", (2 * SIDE - 1) ** 2, 2)
    places = np.stack(np.meshgrid(range(SIDE), range(SIDE), indexing="ij")).reshape(2, -1)
    offset = places[:, :, None] - places[:, None, :] + SIDE - 1
    index = tf.constant((offset[0] * (2 * SIDE - 1) + offset[1]).reshape(-1))
    return lambda: tf.transpose(tf.reshape(tf.gather(table, index), [1, SIDE**2, SIDE**2, 2]), [0, 3, 1, 2])


def swin_block() -> Call:
    """Return Swin's shifted block for any size: a roll by concatenation, windows, a mask of the seams."""
    import keras
    import tensorflow as tf

    weights, out, bias = variable("qkv", WIDTH, 3 * WIDTH), variable("out", WIDTH, WIDTH), _relative()
    norm = keras.layers.LayerNormalization(name="norm")

    def roll(x: Tensor, by: int) -> Tensor:
        x = tf.concat([x[:, by:], x[:, :by]], axis=1)
        return tf.concat([x[:, :, by:], x[:, :, :by]], axis=2)

    def seams(size: Tensor) -> Tensor:
        rows = tf.cast(tf.range(size[1]) >= size[1] - 2, tf.float32)[:, tf.newaxis]
        columns = tf.cast(tf.range(size[2]) >= size[2] - 2, tf.float32)[tf.newaxis, :]
        parts = tf.reshape(rows * 2.0 + columns, [size[1] // SIDE, SIDE, size[2] // SIDE, SIDE])
        parts = tf.reshape(tf.transpose(parts, [0, 2, 1, 3]), [-1, SIDE * SIDE])
        apart = tf.not_equal(tf.reshape(parts, [-1, 1, SIDE * SIDE]), tf.reshape(parts, [-1, SIDE * SIDE, 1]))
        return tf.reshape(tf.where(apart, -100.0, 0.0), [-1, 1, SIDE**2, SIDE**2])

    def call(x: Tensor) -> Tensor:
        size = tf.shape(x)
        mask = tf.tile(seams(size), [size[0], 1, 1, 1])
        y = window_attention(windows(roll(norm(x), 2)), weights, bias() + mask)
        return x + roll(whole(tf.matmul(y, out), size), -2)

    return call


def maxvit() -> Call:
    """Return MaxViT: attention in blocks of 4 by 4, then in a grid of 4 by 4 places far apart."""
    import tensorflow as tf

    block, grid, bias = variable("block", WIDTH, 3 * WIDTH), variable("grid", WIDTH, 3 * WIDTH), _relative()

    def call(x: Tensor) -> Tensor:
        size = tf.shape(x)
        x = x + whole(window_attention(windows(x), block, bias()), size)
        y = tf.reshape(x, [size[0], SIDE, size[1] // SIDE, SIDE, size[2] // SIDE, WIDTH])
        y = tf.reshape(tf.transpose(y, [0, 2, 4, 1, 3, 5]), [-1, SIDE * SIDE, WIDTH])
        y = tf.reshape(
            window_attention(y, grid, bias()), [size[0], size[1] // SIDE, size[2] // SIDE, SIDE, SIDE, WIDTH]
        )
        return x + tf.reshape(tf.transpose(y, [0, 3, 1, 4, 2, 5]), size)

    return call


def vit_tokens() -> Call:
    """Return ViT for any batch: patches by a convolution, a class token by broadcast_to, one attention."""
    import keras
    import tensorflow as tf

    patches = keras.layers.Conv2D(WIDTH, 8, strides=8, name="patches")
    token, positions = variable("class_token", 1, 1, WIDTH), variable("position", 1, 10, WIDTH)
    attention = keras.layers.MultiHeadAttention(2, 8, name="attention")

    def call(image: Tensor) -> Tensor:
        batch = tf.shape(image)[0]
        x = tf.reshape(patches(image), [batch, 9, WIDTH])
        x = tf.concat([tf.broadcast_to(token, [batch, 1, WIDTH]), x], axis=1) + positions
        return (x + attention(x, x))[:, 0]

    return call


def fpn() -> Call:
    """Return a feature pyramid: each level is resized to the one below and added."""
    import tensorflow as tf

    stem = [conv(width, 3, f"stem{width}", strides=2, activation="relu") for width in (8, 12, 16)]
    sides = [conv(8, 1, f"side{level}") for level in range(3)]
    smooth = [conv(8, 3, f"smooth{level}") for level in range(3)]

    def call(image: Tensor) -> dict[str, Tensor]:
        x, levels = image, []
        for layer in stem:
            x = layer(x)
            levels.append(x)
        top = sides[2](levels[2])
        made = [top]
        for level in (1, 0):
            side = sides[level](levels[level])
            top = side + tf.image.resize(top, tf.shape(side)[1:3], "nearest")
            made.append(top)
        return {f"p{level}": smooth[level](made[2 - level]) for level in range(3)}

    return call


def deeplab() -> Call:
    """Return DeepLab: atrous convolutions and the image's mean, joined; logits resized to the image."""
    import tensorflow as tf

    stem = conv(WIDTH, 3, "stem", strides=2, activation="relu")
    rates = [conv(8, 3, f"rate{rate}", dilation_rate=rate, activation="relu") for rate in (1, 2, 4)]
    pooled, out = conv(8, 1, "pooled", activation="relu"), conv(5, 1, "out")

    def call(image: Tensor) -> Tensor:
        x = stem(image)
        size = tf.shape(x)
        mean = tf.image.resize(pooled(tf.reduce_mean(x, axis=[1, 2], keepdims=True)), size[1:3])
        y = out(tf.concat([*(layer(x) for layer in rates), mean], axis=-1))
        return tf.nn.softmax(tf.image.resize(y, tf.shape(image)[1:3]), axis=-1)

    return call


def coordinates() -> Call:
    """Return CoordConv: two maps of places from -1 to 1 beside the channels, then a spatial softmax."""
    import tensorflow as tf

    layer = conv(WIDTH, 3, "conv", activation="relu")

    def call(x: Tensor) -> Tensor:
        size = tf.shape(x)
        rows, columns = tf.linspace(-1.0, 1.0, size[1]), tf.linspace(-1.0, 1.0, size[2])
        grid = tf.stack(tf.meshgrid(rows, columns, indexing="ij"), axis=-1)
        wide = tf.tile(tf.expand_dims(grid, 0), [size[0], 1, 1, 1])
        y = tf.reshape(layer(tf.concat([x, wide], axis=-1)), [size[0], -1, WIDTH])
        shares = tf.nn.softmax(y, axis=1)
        return tf.matmul(shares, tf.reshape(wide, [size[0], -1, 2]), transpose_a=True)

    return call


_IMAGE = floats("image", "B", "H", "W", 3)
_MAPS = floats("x", "B", "H", "W", WIDTH)

MODELS = (
    function("swin_block", swin_block, (_MAPS,), "free batch"),
    function("maxvit", maxvit, (_MAPS,), "free fixed"),
    function("vit_tokens", vit_tokens, (floats("image", "B", 24, 24, 3),), "batch fixed_int8"),
    function("fpn", fpn, (_IMAGE,), "free fixed_int8"),
    function("deeplab", deeplab, (_IMAGE,), "free fixed_int8"),
    function("coordinates", coordinates, (floats("x", "B", "H", "W", 4),), "free"),
)
