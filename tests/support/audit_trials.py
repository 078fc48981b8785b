"""Random variations of one node of an operator: attributes, sizes (0 and 1 too), operands left out, element types."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from onnx import AttributeProto, NodeProto, defs, helper

from tests.support.pairs.onnx_instances import Instance

STRINGS: dict[str, Sequence[str]] = {
    "auto_pad": ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"),
    "mode": (
        "constant", "reflect", "edge", "wrap", "nearest", "linear", "cubic", "bilinear", "avg", "max", "DCR", "CRD"),
    "coordinate_transformation_mode": (
        "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "tf_crop_and_resize", "output_half_pixel",
        "half_pixel_symmetric"),
    "nearest_mode": ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"),
    "keep_aspect_ratio_policy": ("stretch", "not_larger", "not_smaller"),
    "direction": ("forward", "reverse", "bidirectional", "LEFT", "RIGHT"),
    "reduction": ("none", "sum", "mean", "add", "mul"),
    "equation": ("...ii ->...i", "ij,jk->ik", "ij->ji", "i,i", "bij,bjk->bik", "ij->i", "...i->..."),
}  # fmt: skip
LISTS: dict[str, tuple[int, ...]] = {
    "kernel_shape": (1, 2, 3), "strides": (1, 2, 3), "dilations": (1, 2, 3), "pads": (0, 0, 1, 2),
    "axes": (-2, -1, 0, 1, 2),
    "output_padding": (0, 0, 1), "output_shape": (3, 4, 5, 6, 7), "perm": (0, 1, 2, 3), "split": (1, 2, 3),
    "starts": (-1, 0, 1),
    "ends": (-1, 1, 2, 9), "shape": (-1, 0, 1, 2, 3), "repeats": (0, 1, 2), "pooled_shape": (1, 2, 3),
}  # fmt: skip
NUMBERS = (0, 0, 1, 1, 1, 2, 2, 3, -1, -2, 4, 7, 10)
PAIRED = frozenset({"pads", "paddings", "border", "scale"})
FACTORS = (0.3, 0.5, 0.6, 0.7, 1.0, 1.5, 2.0, 2.5, 3.3)
EXTENTS = (0, 1, 1, 2, 3, 4, 5, 6, 7, 8)


def varied(instance: Instance, choose: random.Random) -> Instance:
    """The instance with some of its attributes and sizes changed."""
    feeds = dict(instance.feeds)
    if choose.random() < 0.7:
        feeds = resized(feeds, choose)
    if choose.random() < 0.3:
        feeds = reranked(feeds, choose)
    if choose.random() < 0.4:
        feeds = revalued(feeds, choose)
    node = NodeProto.FromString(instance.node.SerializeToString())
    if choose.random() < 0.8:
        _reattribute(node, instance, feeds, choose)
    if choose.random() < 0.15 and len(node.input) > 1:
        node.input.pop()
    if choose.random() < 0.15 and len(node.input) > 2:
        node.input[choose.randrange(1, len(node.input))] = ""
    if choose.random() < 0.1 and len(node.output) > 1:
        node.output.pop()
    return replace(instance, node=node, feeds={name: feeds[name] for name in dict.fromkeys(node.input) if name})


def resized(feeds: dict[str, object], choose: random.Random) -> dict[str, object]:
    """Each extent that occurs becomes another one, wherever it occurs; sometimes of one operand alone."""
    dims = sorted({dim for it in feeds.values() if isinstance(it, np.ndarray) for dim in it.shape})
    table = {dim: choose.choice(EXTENTS) if choose.random() < 0.6 else dim for dim in dims}
    alone = choose.choice([*feeds, None, None]) if feeds else None
    made = {}
    for name, value in feeds.items():
        made[name] = value
        if isinstance(value, np.ndarray) and (alone is None or alone == name):
            if alone == name:
                sizes = [choose.choice(EXTENTS) if choose.random() < 0.5 else dim for dim in value.shape]
            else:
                sizes = [table[dim] for dim in value.shape]
            made[name] = _of_size(value, sizes)
    return made


def reranked(feeds: dict[str, object], choose: random.Random) -> dict[str, object]:
    """One operand, or all, with an axis more or fewer."""
    names = [name for name, it in feeds.items() if isinstance(it, np.ndarray)]
    chosen = set(names) if choose.random() < 0.3 else {choose.choice(names)} if names else set()
    made = dict(feeds)
    for name in chosen:
        value = feeds[name]
        sizes = list(value.shape)
        if choose.random() < 0.5 and sizes:
            sizes.pop(choose.randrange(len(sizes)))
        else:
            sizes.insert(choose.randrange(len(sizes) + 1), choose.choice(EXTENTS))
        made[name] = _of_size(value, sizes)
    return made


def revalued(feeds: dict[str, object], choose: random.Random) -> dict[str, object]:
    """Small operands of whole numbers with other values: they are sizes, axes, positions."""
    made = dict(feeds)
    for name, value in feeds.items():
        if isinstance(value, np.ndarray) and 0 < value.size <= 16 and value.dtype.kind in "iu":
            if choose.random() < 0.6:
                flat = [choose.choice(NUMBERS) if choose.random() < 0.5 else int(it) for it in value.reshape(-1)]
                if value.dtype.kind == "u":
                    flat = list(map(abs, flat))
                made[name] = np.array(flat, value.dtype).reshape(value.shape)
        elif _factors(value) and len(feeds) > 1 and choose.random() < 0.4:
            made[name] = np.array([choose.choice(FACTORS) for _ in range(value.size)], np.float32).reshape(value.shape)
    return made


def _factors(value: object) -> bool:
    return isinstance(value, np.ndarray) and 0 < value.size <= 8 and value.dtype == np.float32


def _of_size(value: np.ndarray, sizes: list[int]) -> np.ndarray:
    return np.resize(value, sizes) if value.size else np.zeros(sizes, value.dtype)


def _reattribute(node: NodeProto, instance: Instance, feeds: dict[str, object], choose: random.Random) -> None:
    try:
        schema = defs.get_schema(node.op_type, instance.version, instance.domain)
    except defs.SchemaError:
        return
    rank = max((it.ndim for it in feeds.values() if isinstance(it, np.ndarray)), default=0)
    kept = {it.name: it for it in node.attribute}
    for name, known in schema.attributes.items():
        roll = choose.random()
        if roll < 0.35:
            made = _attribute(name, known, kept.get(name), rank, choose)
            if made is not None:
                kept[name] = made
        elif roll < 0.45 and not known.required:
            kept.pop(name, None)
    del node.attribute[:]
    node.attribute.extend(kept.values())


_types = defs.OpSchema.AttrType


def _attribute(
    name: str, known: defs.OpSchema.Attribute, old: AttributeProto | None, rank: int, choose: random.Random
) -> AttributeProto | None:
    if known.type == _types.INT:
        return helper.make_attribute(name, choose.choice(NUMBERS))
    if known.type == _types.FLOAT:
        return helper.make_attribute(name, choose.choice((0.0, 0.5, 1.0, 1.5, 2.0)))
    if known.type == _types.STRING and name in STRINGS:
        return helper.make_attribute(name, choose.choice(STRINGS[name]))
    if known.type == _types.INTS and name in LISTS:
        count = _count(name, old, rank, choose)
        value = [choose.choice(LISTS[name]) for _ in range(count)]
        if name == "perm":
            value = choose.sample(range(rank), rank)
        return helper.make_attribute(name, value, attr_type=AttributeProto.INTS)
    return None


def _count(name: str, old: AttributeProto | None, rank: int, choose: random.Random) -> int:
    spatial = max(rank - 2, 0)
    if name in ("axes", "starts", "ends", "split"):
        return len(old.ints) if old is not None and choose.random() < 0.7 else choose.randint(0, max(rank, 1))
    if old is not None and choose.random() < 0.3:
        return len(old.ints)
    return 2 * spatial if name in PAIRED else spatial


def trials(instances: Sequence[Instance], count: int, seed: int) -> Iterator[Instance]:
    """The instances as they are, then variations of them in turn."""
    choose = random.Random(seed)  # noqa: S311 -- sizes, no secrets
    yield from instances
    for at in range(count - len(instances)):
        made = varied(instances[at % len(instances)], choose)
        yield varied(made, choose) if choose.random() < 0.3 else made
