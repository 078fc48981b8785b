"""Models damaged in their bytes or in a field, each put to `verify --proof-only` in a fork of one warmed process.

python -m tests.support.faults.damaged < task.json > ends.json
"""

from __future__ import annotations

import gc
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.support import child
from tests.support.faults.flips import forked

ORDERS = ("good bad", "bad good", "bad bad")
NUMBERS = (-1, 0, 1, 2, 3, 5, 9, 63, 200, (1 << 31) - 1, -(1 << 31))
WIDE = (*NUMBERS, 1 << 62, -(1 << 63))
OPERATORS = (
    *"Expand Reshape Gemm Loop Scan If Where Slice Gather Split PRelu Constant Range ConstantOfShape".split(),
    *"Squeeze Unsqueeze Tile Concat Cast QuantizeLinear LayerNormalization MatMul Shape Flatten ReduceSum".split(),
)


@dataclass(frozen=True, slots=True)
class End:
    """How a proof ended."""

    model: str
    turn: int
    order: str
    status: int
    out: str
    err: str


# --- asked from a test ------------------------------------------------------------------------------------------------


def proofs(models: Sequence[Path], count: int, seed: int) -> list[End]:
    """Damage each model `count` times, and prove each damaged file in one of the orders."""
    done = subprocess.run(
        child.command(__name__),
        env=child.environment(),
        input=json.dumps({"models": [str(path) for path in models], "count": count, "seed": seed}),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the process that forks ended with {done.returncode}: {done.stderr[-2000:]}")
    return [End(**end) for end in json.loads(done.stdout)]


# --- the damage -------------------------------------------------------------------------------------------------------


def damaged(path: Path, draw: random.Random) -> bytes:
    """A damaged copy of a model: of its bytes, or as often of its fields."""
    if draw.randrange(2):
        return _bytes(bytearray(path.read_bytes()), draw)
    return (_onnx if path.suffix == ".onnx" else _tflite)(path, draw)


def _bytes(data: bytearray, draw: random.Random) -> bytes:
    at = draw.randrange(len(data))
    match draw.randrange(4):
        case 0:
            data[at] ^= 1 << draw.randrange(8)
        case 1:
            del data[at:]
        case 2:
            data[at] = draw.choice((0, 1, 2, 127, 128, 255))
        case _:
            other = draw.randrange(len(data))
            data[at : at + 4] = data[other : other + 4]
    return bytes(data)


def _onnx(path: Path, draw: random.Random) -> bytes:
    import onnx

    model = onnx.load(path)
    for _ in range(draw.randrange(1, 4)):
        _change(*draw.choice(list(_fields(model))), draw)
    return model.SerializeToString()


def _fields(message: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401 -- any message of any protobuf
    for field, held in message.ListFields():
        yield message, field
        if field.message_type is not None:
            for each in held if field.is_repeated else [held]:
                yield from _fields(each)


def _change(message: Any, field: Any, draw: random.Random) -> None:  # noqa: ANN401 -- any message of any protobuf
    held = getattr(message, field.name)
    if field.is_repeated:
        at = draw.randrange(len(held))
        if draw.randrange(2) and isinstance(held[at], int):
            held[at] = draw.choice(NUMBERS)
        elif draw.randrange(2):
            held.append(held[at])
        else:
            del held[at]
    elif isinstance(held, int) and field.enum_type is None:
        setattr(message, field.name, draw.choice(WIDE if field.type == field.TYPE_INT64 else NUMBERS))
    elif isinstance(held, str):
        setattr(message, field.name, draw.choice(("", held + "z", *OPERATORS)))
    elif isinstance(held, bytes):
        setattr(message, field.name, held[: draw.randrange(len(held) + 1)])
    else:
        message.ClearField(field.name)


def _tflite(path: Path, draw: random.Random) -> bytes:
    import ai_edge_litert.schema_py_generated as schema

    from models.builders.tflite.text import pack

    for _ in range(20):
        model = schema.ModelT.InitFromPackedBuf(path.read_bytes(), 0)
        for _ in range(draw.randrange(1, 4)):
            _alter(*draw.choice(list(_members(model))), draw)
        try:
            return pack(model)
        except (TypeError, ValueError, OverflowError, AttributeError, IndexError):
            pass  # the writer takes no such number: another damage
    return b""


def _members(table: Any) -> Iterator[tuple[Any, str]]:  # noqa: ANN401 -- the object API has no types
    for name, held in vars(table).items():
        if held is not None and name != "data":
            yield table, name
        for each in held if isinstance(held, list) else [held]:
            if hasattr(each, "__dict__"):
                yield from _members(each)


def _alter(table: Any, name: str, draw: random.Random) -> None:  # noqa: ANN401 -- the object API has no types
    held = getattr(table, name)
    many = held.tolist() if hasattr(held, "tolist") else held
    if isinstance(many, list) and many:
        at = draw.randrange(len(many))
        turn = draw.randrange(3)
        changed = [*many[:at], draw.choice(NUMBERS), *many[at + 1 :]] if isinstance(many[at], int) else many[:at]
        setattr(table, name, [changed, [*many, many[at]], [*many[:at], *many[at + 1 :]]][turn])
    elif isinstance(held, bool):
        setattr(table, name, not held)
    elif isinstance(held, int):
        setattr(table, name, draw.choice((*NUMBERS, held + 1, held - 1)))
    else:
        setattr(table, name, None)


# --- in the process that forks ----------------------------------------------------------------------------------------


def _proved(one: Path, two: Path) -> Callable[[], int]:
    from graphfix.cli import commands

    return lambda: commands.main(["verify", "--proof-only", str(one), str(two)])


def _ends(task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    draw = random.Random(task["seed"])  # noqa: S311 -- no secret, a seeded test
    with tempfile.TemporaryDirectory() as folder:
        for name in task["models"]:
            good = Path(name)
            bad, other = (Path(folder) / f"{stem}{good.suffix}" for stem in ("bad", "other"))
            bad.write_bytes(good.read_bytes() + b"\0" * 4 * (good.suffix == ".tflite"))
            _proved(good, bad)()  # every import that a proof needs is made once, before the forks
            gc.freeze()
            for turn in range(task["count"]):
                data = damaged(good, draw)
                bad.write_bytes(data)
                other.write_bytes(damaged(good, draw) if draw.randrange(2) else data)
                order = draw.choice(ORDERS)
                pair = {"good bad": (good, bad), "bad good": (bad, good), "bad bad": (bad, other)}[order]
                ran = forked(_proved(*pair))
                out, err = (said.decode(errors="backslashreplace")[-4000:] for said in (ran.out, ran.err))
                yield asdict(End(good.name, turn, order, ran.status, out, err))


if __name__ == "__main__":
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the proofs of the warming up print goes where it does no harm to the answer
    json.dump(list(_ends(json.load(sys.stdin))), answer)
    answer.close()
