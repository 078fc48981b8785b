"""Heads of detectors, and images before and after a model, written with tf."""

from __future__ import annotations

from models.exporting.from_keras.layers import Call, Tensor
from models.exporting.from_keras.model import floats, function, ids
from models.exporting.from_keras.vision import conv

WIDTH, SIDE = 16, 4


def yolo() -> Call:
    """Return a YOLO head: boxes from a grid of tf.meshgrid and three anchors, scores."""
    import tensorflow as tf

    stem, head = conv(WIDTH, 3, "stem", strides=4, activation="relu"), conv(3 * 7, 1, "head")
    anchors = tf.constant([[10.0, 13.0], [16.0, 30.0], [33.0, 23.0]])

    def call(image: Tensor) -> dict[str, Tensor]:
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

    def call(offsets: Tensor, anchors: Tensor) -> Tensor:
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

    def call(boxes: Tensor, shares: Tensor) -> dict[str, Tensor]:
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

    def call(one: Tensor, other: Tensor) -> Tensor:
        one, other = tf.expand_dims(one, 1), tf.expand_dims(other, 0)
        low, high = tf.maximum(one[..., :2], other[..., :2]), tf.minimum(one[..., 2:] + 2.0, other[..., 2:] + 2.0)
        inner = tf.reduce_prod(tf.maximum(high - low, 0.0), axis=-1)
        areas = [tf.reduce_prod(box[..., 2:] + 2.0 - box[..., :2], axis=-1) for box in (one, other)]
        return inner / (areas[0] + areas[1] - inner + 1e-6)

    return call


def preprocess() -> Call:
    """Return an image's preprocessing: bytes, resized, minus a mean of channels, over their deviation; padded."""
    import tensorflow as tf

    def call(image: Tensor) -> Tensor:
        x = tf.image.resize(tf.cast(image, tf.float32), [16, 16])
        x = (x / 255.0 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
        gray = tf.reduce_sum(x * tf.constant([0.299, 0.587, 0.114]), axis=-1, keepdims=True)
        return tf.pad(tf.concat([x, gray], axis=-1), [[0, 0], [2, 2], [2, 2], [0, 0]])

    return call


def style() -> Call:
    """Return adaptive instance norm: the content's statistics give way to those of a style, reflected borders."""
    import tensorflow as tf

    out = conv(3, 3, "out")

    def call(content: Tensor, style: Tensor) -> Tensor:
        mean, variance = tf.nn.moments(content, axes=[1, 2], keepdims=True)
        wanted, spread = tf.nn.moments(style, axes=[1, 2], keepdims=True)
        x = (content - mean) * tf.math.rsqrt(variance + 1e-5) * tf.sqrt(spread + 1e-5) + wanted
        return out(tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT"))

    return call


_IMAGE = floats("image", "B", "H", "W", 3)

MODELS = (
    function("yolo", yolo, (_IMAGE,), "free fixed fixed_int8"),
    function("ssd_decode", ssd_decode, (floats("offsets", "B", "T", 4), floats("anchors", "T", 4)), "free"),
    function("nms", nms, (floats("boxes", "T", 4), floats("shares", "T", 3)), "free fixed", T=(8, 12)),
    function("iou", iou, (floats("one", "T", 4), floats("other", "S", 4)), "free"),
    function("preprocess", preprocess, (ids("image", 256, "B", "H", "W", 3, dtype="uint8"),), "free"),
    function("style", style, (floats("content", "B", "H", "W", 8), floats("style", "B", "P", "P", 8)), "free"),
)
