"""Keras models of images, functional and fully convolutional: their height and width are free."""

from __future__ import annotations

from models.exporting.from_keras.layers import Tensor
from models.exporting.from_keras.model import floats, keras_model

WIDTH = 16


def conv(x: Tensor, width: int, kernel: int = 3, stride: int = 1, groups: int = 1) -> Tensor:
    """Return a convolution and its batch norm."""
    from keras import layers

    x = layers.Conv2D(width, kernel, stride, "same", use_bias=False, groups=groups)(x)
    return layers.BatchNormalization()(x)


def depthwise(x: Tensor, kernel: int = 3, stride: int = 1) -> Tensor:
    """Return a depthwise convolution and its batch norm."""
    from keras import layers

    return layers.BatchNormalization()(layers.DepthwiseConv2D(kernel, stride, "same", use_bias=False)(x))


def excite(x: Tensor, gate: str = "hard_sigmoid") -> Tensor:
    """Return squeeze and excitation: x[B,H,W,C] * gate[B,1,1,C]."""
    from keras import layers

    y = layers.GlobalAveragePooling2D(keepdims=True)(x)
    y = layers.Conv2D(max(4, x.shape[-1] // 4), 1, activation="relu")(y)
    return layers.Multiply()([x, layers.Conv2D(x.shape[-1], 1, activation=gate)(y)])


def resnet(image: Tensor) -> Tensor:
    """Return a ResNet of two stages, the second with a stride and a projection."""
    from keras import layers

    x = layers.ReLU()(conv(layers.Rescaling(1 / 127.5, offset=-1.0)(image), WIDTH, 3, 2))
    for width, stride in ((WIDTH, 1), (24, 2)):
        y = conv(layers.ReLU()(conv(x, width, 3, stride)), width)
        short = x if stride == 1 else conv(x, width, 1, stride)
        x = layers.ReLU()(layers.Add()([y, short]))
    return layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling2D()(x))


def mobilenet_v1(image: Tensor) -> Tensor:
    """Return MobileNet: depthwise and pointwise convolutions, ReLU6."""
    from keras import layers

    x = layers.ReLU(6.0)(conv(image, 8, 3, 2))
    for width, stride in ((16, 1), (24, 2)):
        x = layers.ReLU(6.0)(conv(layers.ReLU(6.0)(depthwise(x, 3, stride)), width, 1))
    return layers.Dense(10)(layers.GlobalAveragePooling2D()(x))


def mobilenet_v2(image: Tensor) -> Tensor:
    """Return MobileNetV2: inverted residuals with linear bottlenecks."""
    from keras import layers

    x = layers.ReLU(6.0)(conv(image, 8, 3, 2))
    for width, stride in ((8, 1), (12, 2), (12, 1)):
        y = layers.ReLU(6.0)(conv(x, x.shape[-1] * 4, 1))
        y = conv(layers.ReLU(6.0)(depthwise(y, 3, stride)), width, 1)
        x = layers.Add()([x, y]) if stride == 1 and x.shape[-1] == width else y
    return layers.Dense(10)(layers.GlobalAveragePooling2D()(x))


def mobilenet_v3(image: Tensor) -> Tensor:
    """Return MobileNetV3: hard swish written as x * relu6(x + 3) / 6, squeeze and excitation."""
    from keras import layers

    def swish(x: Tensor) -> Tensor:
        gate = layers.Rescaling(1 / 6)(layers.ReLU(6.0)(layers.Rescaling(1.0, offset=3.0)(x)))
        return layers.Multiply()([x, gate])

    x = swish(conv(layers.Rescaling(1 / 127.5, offset=-1.0)(image), 8, 3, 2))
    for width, stride in ((8, 1), (12, 2)):
        y = swish(conv(x, 24, 1))
        y = conv(excite(swish(depthwise(y, 5, stride))), width, 1)
        x = layers.Add()([x, y]) if stride == 1 else y
    x = swish(layers.Conv2D(32, 1)(layers.GlobalAveragePooling2D(keepdims=True)(swish(conv(x, 24, 1)))))
    return layers.Flatten()(layers.Conv2D(10, 1)(x))


def efficientnet(image: Tensor) -> Tensor:
    """Return EfficientNet: normalized channels, swish, squeeze and excitation."""
    from keras import layers

    x = layers.Normalization(mean=[0.485, 0.456, 0.406], variance=[0.0524, 0.0502, 0.0506])(image)
    x = layers.Activation("swish")(conv(x, 8, 3, 2))
    for width, stride in ((8, 1), (12, 2)):
        y = layers.Activation("swish")(conv(x, 32, 1))
        y = conv(excite(layers.Activation("swish")(depthwise(y, 3, stride)), "sigmoid"), width, 1)
        x = layers.Add()([x, y]) if stride == 1 else y
    return layers.Dense(10)(layers.GlobalAveragePooling2D()(x))


def shufflenet(image: Tensor) -> Tensor:
    """Return ShuffleNetV2's unit: half of the channels, mixed by a reshape and a transpose."""
    from keras import layers, ops

    x = layers.ReLU()(conv(image, WIDTH, 3, 2))
    keep, y = ops.split(x, 2, axis=-1)
    y = layers.ReLU()(conv(depthwise(layers.ReLU()(conv(y, 8, 1))), 8, 1))
    x = layers.Concatenate()([keep, y])
    rows, columns = ops.shape(x)[1:3]
    x = ops.transpose(ops.reshape(x, (-1, rows or 8, columns or 8, 2, 8)), (0, 1, 2, 4, 3))
    return layers.Conv2D(8, 1)(ops.reshape(x, (-1, rows or 8, columns or 8, WIDTH)))


def unet(image: Tensor) -> Tensor:
    """Return U-Net: two poolings; one level is resized to the next one's sizes, one goes through a transposed one."""
    import keras
    from keras import layers

    class ResizeLike(keras.layers.Layer):  # type: ignore[misc]
        """x resized to the height and width of another."""

        def call(self, x: Tensor, other: Tensor) -> Tensor:
            """x[B,h,w,C], other[B,H,W,D] -> [B,H,W,C]."""
            import tensorflow as tf

            return tf.image.resize(x, tf.shape(other)[1:3])

    def double(x: Tensor, width: int) -> Tensor:
        return layers.Conv2D(width, 3, padding="same", activation="relu")(layers.ReLU()(conv(x, width)))

    first = double(image, 8)
    second = double(layers.MaxPooling2D()(first), 12)
    x = double(layers.MaxPooling2D()(second), WIDTH)
    x = layers.Concatenate()([ResizeLike()(x, second), second])
    x = layers.Concatenate()([layers.Conv2DTranspose(8, 2, 2, "same")(double(x, 12)), first])
    return layers.Conv2D(3, 1, activation="softmax")(double(x, 8))


def cbam(image: Tensor) -> Tensor:
    """Return a block with attention of channels [B,1,1,C] and of places [B,H,W,1]."""
    from keras import layers, ops

    x = layers.ReLU()(conv(image, WIDTH))
    shared = [layers.Dense(4, activation="relu"), layers.Dense(WIDTH)]
    average = shared[1](shared[0](ops.mean(x, axis=(1, 2), keepdims=True)))
    most = shared[1](shared[0](ops.max(x, axis=(1, 2), keepdims=True)))
    x = x * ops.sigmoid(average + most)
    both = ops.concatenate([ops.mean(x, -1, keepdims=True), ops.max(x, -1, keepdims=True)], axis=-1)
    return x * layers.Conv2D(1, 7, padding="same", activation="sigmoid")(both)


def prelu(image: Tensor) -> Tensor:
    """Return a face embedding's block: PReLU of a slope for each channel, LeakyReLU, a normalized embedding."""
    from keras import layers, ops

    x = layers.PReLU(shared_axes=[1, 2])(conv(image, 8, 3, 2))
    x = layers.LeakyReLU(negative_slope=0.1)(conv(depthwise(x), WIDTH, 1, 2))
    x = layers.PReLU(shared_axes=[1, 2])(conv(x, WIDTH, 1))
    x = layers.Dense(8, use_bias=False)(layers.GlobalAveragePooling2D()(x))
    return x / ops.sqrt(ops.sum(ops.square(x), axis=-1, keepdims=True) + 1e-6)


def pixel_shuffle(image: Tensor) -> Tensor:
    """Return a super resolution: a residual body, depth to space, a clipped sum with the repeated image."""
    import keras
    from keras import layers, ops

    class Shuffle(keras.layers.Layer):  # type: ignore[misc]
        """tf.nn.depth_to_space, as the Keras example on sub-pixel convolutions wraps it."""

        def call(self, x: Tensor) -> Tensor:
            """x[B,H,W,4C] -> [B,2H,2W,C]."""
            import tensorflow as tf

            return tf.nn.depth_to_space(x, 2)

    x = layers.Conv2D(12, 3, padding="same")(image)
    x = x + layers.Conv2D(12, 3, padding="same")(layers.Conv2D(12, 3, padding="same", activation="relu")(x)) * 0.1
    up = Shuffle()(layers.Conv2D(12, 3, padding="same")(x))
    return ops.clip(up + layers.UpSampling2D()(image), 0.0, 1.0)


def group_norm(image: Tensor) -> Tensor:
    """Return a diffusion block: Keras' group norm, swish, a residual."""
    from keras import layers

    x = layers.Conv2D(WIDTH, 3, padding="same")(image)
    y = layers.Conv2D(WIDTH, 3, padding="same")(layers.Activation("swish")(layers.GroupNormalization(4)(x)))
    return layers.Add()([x, y])


def film(image: Tensor, text: Tensor) -> Tensor:
    """Return FiLM: features [B,H,W,C] scaled and shifted by a projected text."""
    from keras import layers, ops

    x = layers.ReLU()(conv(image, WIDTH))
    gamma, beta = ops.split(layers.Dense(2 * WIDTH)(text), 2, axis=-1)
    gamma = layers.Reshape((1, 1, WIDTH))(gamma)
    return ops.relu(x * (1.0 + gamma) + layers.Reshape((1, 1, WIDTH))(beta))


def conv3d(clip: Tensor) -> Tensor:
    """Return a small network of clips, [B,T,H,W,C]."""
    from keras import layers

    x = layers.Conv3D(8, 3, padding="same", activation="relu")(clip)
    x = layers.Conv3D(8, (1, 3, 3), strides=(1, 2, 2), padding="same")(x)
    return layers.Dense(4)(x)


def dense_grid(image: Tensor) -> Tensor:
    """Return an MLP over places: Dense on rank 4, a gate of another Dense."""
    from keras import layers

    x = layers.LayerNormalization()(layers.Dense(WIDTH)(image))
    return layers.Dense(3)(layers.Multiply()([layers.Dense(WIDTH)(x), layers.Dense(1, activation="sigmoid")(x)]))


_IMAGE = (floats("image", "B", "H", "W", 3),)

MODELS = (
    keras_model("resnet", resnet, _IMAGE, "free fixed free_fp16 free_int8 fixed_int8 fixed_int16x8"),
    keras_model("mobilenet_v1", mobilenet_v1, _IMAGE, "free fixed_int8io"),
    keras_model("mobilenet_v2", mobilenet_v2, _IMAGE, "free fixed_int8"),
    keras_model("mobilenet_v3", mobilenet_v3, _IMAGE, "free fixed_int8"),
    keras_model("efficientnet", efficientnet, _IMAGE, "free fixed_int8"),
    keras_model("shufflenet", shufflenet, (floats("image", "B", 16, 16, 3),), "batch"),
    keras_model("unet", unet, _IMAGE, "free free_int8 fixed_int16x8"),
    keras_model("cbam", cbam, _IMAGE, "free fixed_int8"),
    keras_model("prelu_embedding", prelu, _IMAGE, "free free_fp16"),
    keras_model("pixel_shuffle", pixel_shuffle, _IMAGE, "free free_int8"),
    keras_model("group_norm", group_norm, (floats("image", "B", "H", "W", 4),), "free batch fixed"),
    keras_model("film", film, (floats("image", "B", "H", "W", 3), floats("text", "B", 12)), "free fixed_int8io"),
    keras_model("conv3d", conv3d, (floats("clip", "B", "T", 8, 8, 2),), "free"),
    keras_model("dense_grid", dense_grid, _IMAGE, "free"),
)
