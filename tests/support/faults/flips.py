"""TFLite files damaged by one byte, each fixed in a fork of one warmed process, under limits of its own.

    python -m tests.support.faults.flips < task.json > ends.json

What a fixed file is worth is asked of LiteRT in forks of another process (`run`), which holds none of the house.
"""

from __future__ import annotations

import gc
import json
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

from tests.support import child

SECONDS = 20
"""Of the clock and of the processor, after which a run counts as hung: it takes 30 ms."""
ROOM = 1 << 30
"""Bytes of addresses that a run may have."""
PAYLOAD_STEP = 4096
"""One byte of so many is turned over in the weights."""
SMALL = 64
"""Bytes of a payload that may be a shape or an axis: they count as tables, since they steer what is inferred."""
TARGETS = ("ranks", "explicit")
FAULT = 99
"""The status of a fork that ended in an exception."""


@dataclass(frozen=True, slots=True)
class Flip:
    """One damage: the bits that are turned over in `width` bytes at a position, and the target of the run."""

    at: int
    bits: int
    target: str
    width: int = 1


@dataclass(frozen=True, slots=True)
class End:
    """How `fix` ended on a damaged file."""

    flip: Flip
    status: int
    """The exit status; -n for the signal n, FAULT for an exception."""
    out: str
    err: str
    files: tuple[str, ...]
    """What lies in the folder beside the input."""
    peak: int
    """The largest resident set, in bytes."""
    kept: str | None = None
    """Where the output was kept, for LiteRT."""


# --- which bytes ------------------------------------------------------------------------------------------------------


def payloads(data: bytes) -> list[tuple[int, int]]:
    """Where the bytes of each buffer start and stop, read from the raw format: Model.buffers[i].data."""

    def number(at: int) -> int:
        return int(struct.unpack_from("<I", data, at)[0])

    def field(table: int, slot: int) -> int:
        """The position of a field, 0 for none."""
        vtable = table - int(struct.unpack_from("<i", data, table)[0])
        size = int(struct.unpack_from("<H", data, vtable)[0])
        entry = 4 + 2 * slot
        distance = int(struct.unpack_from("<H", data, vtable + entry)[0]) if entry < size else 0
        return table + distance if distance else 0

    buffers = field(number(0), 4)
    buffers += number(buffers)
    found = []
    for index in range(number(buffers)):
        at = buffers + 4 + 4 * index
        held = field(at + number(at), 0)
        if held:
            vector = held + number(held)
            found.append((vector + 4, vector + 4 + number(vector)))
    return sorted(found)


def places(data: bytes) -> list[int]:
    """Every byte outside of the weights, an archive behind the tables among them, and some of the weights."""
    weights = bytearray(len(data))
    for start, stop in payloads(data):
        weights[start:stop] = (b"\1" if stop - start > SMALL else b"\0") * (stop - start)
    within = [at for at in range(len(data)) if weights[at]]
    return sorted([at for at in range(len(data)) if not weights[at]] + within[PAYLOAD_STEP // 2 :: PAYLOAD_STEP])


def flips(
    data: bytes, seed: int = 0, *, every_bit: bool = False, step: int = 1, sample: int | None = None
) -> list[Flip]:
    """One random bit of each place, or each bit; of every `step`-th place, or of a random sample of them."""
    draw = random.Random(seed)  # noqa: S311 -- no secret, a seeded test
    chosen = places(data)[::step]
    if sample is not None:
        chosen = sorted(draw.sample(chosen, sample))
    bits = [(at, 1 << bit) for at in chosen for bit in (range(8) if every_bit else [draw.randrange(8)])]
    return [Flip(at, bit, TARGETS[turn % 2]) for turn, (at, bit) in enumerate(bits)]


def words(data: bytes, count: int, seed: int = 0) -> list[Flip]:
    """Whole numbers or distances in the place of others: what is next to right, extreme, or right elsewhere."""
    draw = random.Random(seed)  # noqa: S311 -- no secret, a seeded test
    chosen = [at for at in places(data) if at % 4 == 0 and at + 4 <= len(data)]
    found = []
    for turn in range(count):
        at, other = draw.choice(chosen), draw.choice(chosen)
        old, elsewhere = (int.from_bytes(data[place : place + 4], "little") for place in (at, other))
        near = [old + step & 0xFFFFFFFF for step in (-4, -1, 1, 4)]
        new = draw.choice([*near, 0, 1, 2, 4, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, draw.randrange(300), elsewhere])
        found.append(Flip(at, old ^ new, TARGETS[turn % 2], 4))
    return found


# --- asked from a test ------------------------------------------------------------------------------------------------


def fixed(model: Path, cases: Sequence[Flip], folder: Path, *, keep: int = 0, workers: int = 2) -> Iterator[End]:
    """Run `fix --no-verify` on each damaged copy; the output of every `keep`-th that has one stays in the folder."""

    def share(worker: int) -> list[End]:
        home = folder / f"worker{worker}"
        home.mkdir()
        task = {
            "model": str(model),
            "folder": str(home),
            "keep": keep,
            "flips": [asdict(flip) for flip in cases[worker::workers]],
        }
        return [
            End(**{**end, "flip": Flip(**end["flip"]), "files": tuple(end["files"])}) for end in _served("fix", task)
        ]

    with ThreadPoolExecutor(workers) as pool:
        for ends in pool.map(share, range(workers)):
            yield from ends


def litert_answers(
    model: Path, ends: Sequence[End], folder: Path, kernels: str, *, workers: int = 2
) -> Iterator[list[str]]:
    """What LiteRT says of each damaged file and of what came of it: two short texts, outputs by their digest."""

    def share(worker: int) -> list[list[str]]:
        home = folder / f"run{worker}"
        home.mkdir()
        pairs = [{"flip": asdict(end.flip), "kept": end.kept} for end in ends[worker::workers]]
        return list(_served("run", {"model": str(model), "folder": str(home), "kernels": kernels, "pairs": pairs}))

    with ThreadPoolExecutor(workers) as pool:
        shares = list(pool.map(share, range(workers)))
    for index in range(len(ends)):
        yield shares[index % workers][index // workers]


def _served(what: str, task: dict[str, Any]) -> Any:  # noqa: ANN401 -- a JSON document
    done = subprocess.run(
        child.command(__name__, what),
        input=json.dumps(task),
        capture_output=True,
        text=True,
        check=False,
        env=child.environment(),
    )
    if done.returncode:
        raise RuntimeError(f"the {what} process ended with {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


# --- in the process that forks ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ran:
    """How a fork ended, what it said on both streams, and its largest resident set in bytes."""

    status: int
    out: bytes
    err: bytes
    peak: int


def forked(work: Callable[[], int], seconds: int = SECONDS) -> Ran:
    """Call it in a fork with limits; what it returns is the status."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        pid = os.fork()
        if not pid:
            _limited(work, seconds, out.fileno(), err.fileno())
        _, status, usage = os.wait4(pid, 0)
        out.seek(0)
        err.seek(0)
        return Ran(os.waitstatus_to_exitcode(status), out.read(), err.read(), usage.ru_maxrss * 1024)


def _limited(work: Callable[[], int], seconds: int, out: int, err: int) -> NoReturn:
    status = FAULT
    try:
        os.dup2(out, 1)
        os.dup2(err, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)  # none of pytest's
        signal.setitimer(signal.ITIMER_REAL, seconds)  # the signal's own action ends the process
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        status = work()
    except BaseException:  # noqa: BLE001 -- a fork must not run on as its parent: what it met is reported
        sys.excepthook(*sys.exc_info())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


class _Damaged:
    """A copy of a model, one byte at a time another: written over in place."""

    def __init__(self, model: Path, folder: Path) -> None:
        self.path = folder / "m.tflite"
        self._data = model.read_bytes()
        shutil.copyfile(model, self.path)

    def turn(self, flip: Flip) -> None:
        self._put(flip, flip.bits)

    def restore(self, flip: Flip) -> None:
        self._put(flip, 0)

    def is_whole(self) -> bool:
        return self.path.read_bytes() == self._data

    def _put(self, flip: Flip, bits: int) -> None:
        right = int.from_bytes(self._data[flip.at : flip.at + flip.width], "little")
        with self.path.open("r+b") as file:
            file.seek(flip.at)
            file.write((right ^ bits).to_bytes(flip.width, "little"))


def _fix(task: dict[str, Any]) -> list[dict[str, Any]]:
    from graphfix.cli import commands

    folder = Path(task["folder"])
    damaged, out = _Damaged(Path(task["model"]), folder), folder / "o.tflite"

    def run(target: str) -> int:
        return commands.main(["fix", str(damaged.path), "-o", str(out), "--no-verify", "-q", "--target", target])

    for target in TARGETS:  # every import that a run needs is made once, before the forks
        if run(target) != 0:
            raise RuntimeError(f"{task['model']} is not fixed even as it is")
    out.unlink()
    (folder / "kept").mkdir()
    gc.disable()  # as the command itself does
    gc.freeze()
    ends, outputs = [], 0
    for turned in task["flips"]:
        flip = Flip(**turned)
        damaged.turn(flip)
        ran = forked(lambda flip=flip: run(flip.target))
        damaged.restore(flip)
        files = sorted({path.name for path in folder.iterdir()} - {damaged.path.name, "kept"})
        kept = None
        outputs += out.exists()
        if out.exists() and task["keep"] and outputs % task["keep"] == 0:
            kept = str(out.rename(folder / "kept" / f"{flip.at}-{flip.bits}.tflite"))
        out.unlink(missing_ok=True)
        end = End(flip, ran.status, _text(ran.out), _text(ran.err), tuple(files), ran.peak, kept)
        ends.append(asdict(end))
    if not damaged.is_whole():
        raise RuntimeError("a run wrote into its input")
    return ends


def _text(said: bytes) -> str:
    return said.decode(errors="backslashreplace")[-4000:]


def _run_pairs(task: dict[str, Any]) -> list[list[str]]:
    import ai_edge_litert.interpreter  # noqa: F401 -- loaded once, before the forks

    folder = Path(task["folder"])
    damaged = _Damaged(Path(task["model"]), folder)
    answers = []
    for pair in task["pairs"]:
        flip = Flip(**pair["flip"])
        damaged.turn(flip)
        answers.append([_asked(path, task["kernels"]) for path in (str(damaged.path), pair["kept"])])
        damaged.restore(flip)
    return answers


def _asked(path: str, kernels: str) -> str:
    ran = forked(lambda: _run(path, kernels))
    if ran.status:
        return f"ended with {ran.status}"
    return ran.out.decode(errors="backslashreplace")


def _run(path: str, kernels: str) -> int:
    """Say the digest of the outputs, or how far the file comes."""
    import hashlib

    import numpy as np
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    try:
        made = Interpreter(model_path=path, experimental_op_resolver_type=OpResolverType[kernels], num_threads=1)
    except (RuntimeError, ValueError):
        sys.stdout.write("does not load")
        return 0
    try:
        made.allocate_tensors()
        draw = np.random.default_rng(0)
        for detail in made.get_input_details():
            values = draw.uniform(-1, 1, detail["shape"])
            made.set_tensor(detail["index"], values.astype(detail["dtype"]))
        made.invoke()
        results = [made.get_tensor(detail["index"]) for detail in made.get_output_details()]
    except (RuntimeError, ValueError):
        sys.stdout.write("loads, does not run")
        return 0
    digest = hashlib.sha256(b"".join(repr((it.dtype, it.shape)).encode() + it.tobytes() for it in results))
    sys.stdout.write(digest.hexdigest())
    return 0


if __name__ == "__main__":
    # What libraries print goes where it does no harm to the answer.
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    json.dump({"fix": _fix, "run": _run_pairs}[sys.argv[1]](json.load(sys.stdin)), answer)
    answer.close()
