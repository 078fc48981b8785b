"""Vision written with tf: windows, heads of detectors, pyramids; sizes are those that tf.shape gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exporting.tflite_model import floats, function, ids

Call = Callable[..., Any]
WIDTH, SIDE = 16, 4


def variable(name: str, *shape: int) -> Any:
    """Return a weight."""
    import tensorflow as tf

    return tf.Variable(tf.zeros(shape), name=name)


def conv(width: int, kernel: int, name: str, **options: Any) -> Any:
    """Return a convolution layer."""
    import keras

    return keras.layers.Conv2D(width, kernel, padding="same", name=name, **options)


def windows(x: Any) -> Any:
    """x[B,H,W,C] -> [B*H/4*W/4,16,C]."""
    import tensorflow as tf

    size = tf.shape(x)
    x = tf.reshape(x, [size[0], size[1] // SIDE, SIDE, size[2] // SIDE, SIDE, WIDTH])
    return tf.reshape(tf.transpose(x, [0, 1, 3, 2, 4, 5]), [-1, SIDE * SIDE, WIDTH])


def whole(x: Any, size: Any) -> Any:
    """Give [B,H,W,C] back from windows."""
    import tensorflow as tf

    x = tf.reshape(x, [size[0], size[1] // SIDE, size[2] // SIDE, SIDE, SIDE, WIDTH])
    return tf.reshape(tf.transpose(x, [0, 1, 3, 2, 4, 5]), [size[0], size[1], size[2], WIDTH])


def window_attention(x: Any, weights: Any, bias: Any) -> Any:
    """Return attention of two heads in each window, under a bias [1,2,16,16]."""
    import tensorflow as tf

    qkv = tf.reshape(tf.matmul(x, weights), [-1, SIDE * SIDE, 3, 2, WIDTH // 2])
    q, k, v = tf.unstack(tf.transpose(qkv, [2, 0, 3, 1, 4]))
    shares = tf.nn.softmax(tf.matmul(q * (WIDTH // 2) ** -0.5, k, transpose_b=True) + bias)
    return tf.reshape(tf.transpose(tf.matmul(shares, v), [0, 2, 1, 3]), [-1, SIDE * SIDE, WIDTH])


def _relative() -> Any:
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

    def roll(x: Any, by: int) -> Any:
        x = tf.concat([x[:, by:], x[:, :by]], axis=1)
        return tf.concat([x[:, :, by:], x[:, :, :by]], axis=2)

    def seams(size: Any) -> Any:
        rows = tf.cast(tf.range(size[1]) >= size[1] - 2, tf.float32)[:, tf.newaxis]
        columns = tf.cast(tf.range(size[2]) >= size[2] - 2, tf.float32)[tf.newaxis, :]
        parts = tf.reshape(rows * 2.0 + columns, [size[1] // SIDE, SIDE, size[2] // SIDE, SIDE])
        parts = tf.reshape(tf.transpose(parts, [0, 2, 1, 3]), [-1, SIDE * SIDE])
        apart = tf.not_equal(tf.reshape(parts, [-1, 1, SIDE * SIDE]), tf.reshape(parts, [-1, SIDE * SIDE, 1]))
        return tf.reshape(tf.where(apart, -100.0, 0.0), [-1, 1, SIDE**2, SIDE**2])

    def call(x: Any) -> Any:
        size = tf.shape(x)
        mask = tf.tile(seams(size), [size[0], 1, 1, 1])
        y = window_attention(windows(roll(norm(x), 2)), weights, bias() + mask)
        return x + roll(whole(tf.matmul(y, out), size), -2)

    return call


def maxvit() -> Call:
    """Return MaxViT: attention in blocks of 4 by 4, then in a grid of 4 by 4 places far apart."""
    import tensorflow as tf

    block, grid, bias = variable("block", WIDTH, 3 * WIDTH), variable("grid", WIDTH, 3 * WIDTH), _relative()

    def call(x: Any) -> Any:
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

    def call(image: Any) -> Any:
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

    def call(image: Any) -> dict[str, Any]:
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

    def call(image: Any) -> Any:
        x = stem(image)
        size = tf.shape(x)
        mean = tf.image.resize(pooled(tf.reduce_mean(x, axis=[1, 2], keepdims=True)), size[1:3])
        y = out(tf.concat([*(layer(x) for layer in rates), mean], axis=-1))
        return tf.nn.softmax(tf.image.resize(y, tf.shape(image)[1:3]), axis=-1)

    return call


def yolo() -> Call:
    """Return a YOLO head: boxes from a grid of tf.meshgrid and three anchors, scores."""
    import tensorflow as tf

    stem, head = conv(WIDTH, 3, "stem", strides=4, activation="relu"), conv(3 * 7, 1, "head")
    anchors = tf.constant([[10.0, 13.0], [16.0, 30.0], [33.0, 23.0]])

    def call(image: Any) -> dict[str, Any]:
        y = head(stem(image))
        size = tf.shape(y)
        y = tf.reshape(y, [size[0], size[1], size[2], 3, 7])
        grid = tf.stack(tf.meshgrid(tf.range(size[2]), tf.range(size[1])), axis=-1)
        grid = tf.cast(tf.reshape(grid, [1, size[1], size[2], 1, 2]), tf.float32)
        center = (tf.sigmoid(y[..., 0:2]) * 2.0 - 0.5 + grid) * 4.0
        extent = tf.square(tf.sigmoid(y[..., 2:4]) * 2.0) * anchors
        boxes = tf.concat([center - extent / 2.0, center + extent / 2.0], axis=-1)
        scores = tf.sigmoid(y[..., 4:5]) * tf.sigmoid(y[..., 5:])
        return {"boxes": tf.reshape(boxes, [size[0], -1, 4]), "scores": tf.reshape(scores, [size[0], -1, 2])}

    return call


def ssd_decode() -> Call:
    """Return SSD's decoding: offsets [B,T,4] about anchors [T,4], clipped to the image."""
    import tensorflow as tf

    def call(offsets: Any, anchors: Any) -> Any:
        cy, cx, h, w = tf.split(tf.abs(anchors) + 0.1, 4, axis=-1)
        ty, tx, th, tw = tf.split(offsets, 4, axis=-1)
        y, x = ty / 10.0 * h + cy, tx / 10.0 * w + cx
        h, w = tf.exp(th / 5.0) * h, tf.exp(tw / 5.0) * w
        boxes = tf.concat([y - h / 2.0, x - w / 2.0, y + h / 2.0, x + w / 2.0], axis=-1)
        return tf.maximum(tf.minimum(boxes, 1.0), 0.0)

    return call


def nms() -> Call:
    """Return the best five boxes of many, scores padded, classes gathered."""
    import tensorflow as tf

    def call(boxes: Any, shares: Any) -> dict[str, Any]:
        scores = tf.reduce_max(shares, axis=-1)
        low = tf.minimum(boxes[:, :2], boxes[:, 2:])
        boxes = tf.concat([low, low + tf.abs(boxes[:, 2:]) + 0.1], axis=-1)
        kept, count = tf.image.non_max_suppression_padded(boxes, scores, 5, 0.5, pad_to_max_output_size=True)
        real = tf.cast(tf.range(5) < count, tf.float32)
        return {"boxes": tf.gather(boxes, kept) * real[:, tf.newaxis], "scores": tf.gather(scores, kept) * real}

    return call


def iou() -> Call:
    """Return the overlap of every box with every other: [T,1,4] against [1,S,4]."""
    import tensorflow as tf

    def call(one: Any, other: Any) -> Any:
        one, other = tf.expand_dims(one, 1), tf.expand_dims(other, 0)
        low, high = tf.maximum(one[..., :2], other[..., :2]), tf.minimum(one[..., 2:] + 2.0, other[..., 2:] + 2.0)
        inner = tf.reduce_prod(tf.maximum(high - low, 0.0), axis=-1)
        areas = [tf.reduce_prod(box[..., 2:] + 2.0 - box[..., :2], axis=-1) for box in (one, other)]
        return inner / (areas[0] + areas[1] - inner + 1e-6)

    return call


def preprocess() -> Call:
    """Return an image's preprocessing: bytes, resized, minus a mean of channels, over their deviation; padded."""
    import tensorflow as tf

    def call(image: Any) -> Any:
        x = tf.image.resize(tf.cast(image, tf.float32), [16, 16])
        x = (x / 255.0 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
        gray = tf.reduce_sum(x * tf.constant([0.299, 0.587, 0.114]), axis=-1, keepdims=True)
        return tf.pad(tf.concat([x, gray], axis=-1), [[0, 0], [2, 2], [2, 2], [0, 0]])

    return call


def style() -> Call:
    """Return adaptive instance norm: the content's statistics give way to those of a style, reflected borders."""
    import tensorflow as tf

    out = conv(3, 3, "out")

    def call(content: Any, style: Any) -> Any:
        mean, variance = tf.nn.moments(content, axes=[1, 2], keepdims=True)
        wanted, spread = tf.nn.moments(style, axes=[1, 2], keepdims=True)
        x = (content - mean) * tf.math.rsqrt(variance + 1e-5) * tf.sqrt(spread + 1e-5) + wanted
        return out(tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT"))

    return call


def coordinates() -> Call:
    """Return CoordConv: two maps of places from -1 to 1 beside the channels, then a spatial softmax."""
    import tensorflow as tf

    layer = conv(WIDTH, 3, "conv", activation="relu")

    def call(x: Any) -> Any:
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
    function("yolo", yolo, (_IMAGE,), "free fixed fixed_int8"),
    function("ssd_decode", ssd_decode, (floats("offsets", "B", "T", 4), floats("anchors", "T", 4)), "free"),
    function("nms", nms, (floats("boxes", "T", 4), floats("shares", "T", 3)), "free fixed", T=(8, 12)),
    function("iou", iou, (floats("one", "T", 4), floats("other", "S", 4)), "free"),
    function("preprocess", preprocess, (ids("image", 256, "B", "H", "W", 3, dtype="uint8"),), "free"),
    function("style", style, (floats("content", "B", "H", "W", 8), floats("style", "B", "P", "P", 8)), "free"),
    function("coordinates", coordinates, (floats("x", "B", "H", "W", 4),), "free"),
)
