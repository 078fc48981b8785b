"""Make a random pair of ONNX files of a family: a random model, and a copy with mutations."""

from __future__ import annotations

import random

from onnx import ModelProto, TensorProto, helper

from attacking.onnx_equal import EQUAL, renamed
from attacking.onnx_graphs import FAMILIES, drafted
from attacking.onnx_unequal import UNEQUAL
from attacking.pair import Pair

EQUALS = 0.6
"""The probability that all mutations of a pair keep the computation."""


def pair(seed: int, family: str) -> Pair:
    """Return the pair of this seed and family; the same arguments return the same pair.

    The second file is the first file with up to three mutations, and sometimes also with new names, narrow inputs
    (family `narrow`) or external data (family `external`).
    """
    rng = random.Random(f"{family} {seed}")  # noqa: S311 - not for secrets
    draft = drafted(rng, family)
    before = draft.model()
    after = ModelProto.FromString(before.SerializeToString())
    equal = rng.random() < EQUALS
    changes: list[str] = []
    wanted = rng.randint(1, 3)
    for turn in range(12):
        wrong = not equal and (not changes or rng.random() < 0.2)
        change = rng.choice(UNEQUAL if wrong else EQUAL)
        if change(after, draft, rng):
            changes.append(change.__name__)
        if len(changes) == wanted or turn == 11:
            break
    if equal and rng.random() < 0.15 and renamed(after, draft, rng):
        changes.append("renamed")
    if family == "narrow" and rng.random() < 0.5:
        changes += _narrowed(after)
    data = _external(after, rng) if family == "external" else {}
    feeds = tuple(draft.feeds)
    return Pair(
        seed,
        family,
        before.SerializeToString(),
        after.SerializeToString(),
        equal,
        tuple(changes),
        feeds,
        draft.options,
        draft.sizes,
        data,
    )


def _narrowed(model: ModelProto) -> list[str]:
    """Change each input that a Gather reads as indices to int32, and return the name of this change.

    A Cast converts the input back to int64 for its readers.
    """
    read = {node.input[1] for node in model.graph.node if node.op_type == "Gather" and len(node.input) > 1}
    for info in model.graph.input:
        if info.name in read:
            info.type.tensor_type.elem_type = TensorProto.INT32
            for node in model.graph.node:
                node.input[:] = [f"{name}_wide" if name == info.name else name for name in node.input]
            cast = helper.make_node("Cast", [info.name], [f"{info.name}_wide"], to=TensorProto.INT64)
            model.graph.node.insert(0, cast)
    return ["narrowed"]


def _external(model: ModelProto, rng: random.Random) -> dict[str, bytes]:
    """Move the data of some constants out of the model, and return the new file's content by its name `after.data`.

    Matrices are moved often, and shapes, scalars and vectors rarely. The result is empty if no data is moved.
    """
    data = b""
    for tensor in model.graph.initializer:
        is_matrix = sum(size > 1 for size in tensor.dims) > 1
        if tensor.raw_data and rng.random() < (0.7 if is_matrix else 0.02):
            place, raw = len(data), tensor.raw_data
            data += raw
            tensor.ClearField("raw_data")
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in (("location", "after.data"), ("offset", str(place)), ("length", str(len(raw)))):
                tensor.external_data.add(key=key, value=value)
    return {"after.data": data} if data else {}


__all__ = ["FAMILIES", "pair"]
