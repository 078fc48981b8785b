"""Time shape inference and the proof on exported models, as multiples of reading and writing the file.

    python scripts/bench_exported.py [--runs N] [--tree LABEL=FOLDER]... [NAME ...]

Each turn reads and writes the file with its format's library (onnx, or LiteRT's object API), and infers, fixes and
proves the model. All turns of a checkout run in one process that is warmed up. Seconds are processor time. Each
quotient is computed within one turn, so load of the machine cancels out, and the median counts. With two checkouts
(`--tree` twice), the table also contains the second checkout's quotient divided by the first's.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import checkouts

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "models" / "exported"
ROWS = (
    "bert_legacy.onnx t5_legacy.onnx llama_past_dynamo_opset22.onnx swin_free_dynamo.onnx detr_dynamo.onnx"
    " resnet_legacy.onnx bert_free.tflite t5_batch.tflite llama_free.tflite swin_fixed.tflite unet_free.tflite"
).split()
PHASES = ("infer", "proof")
Turns = list[dict[str, float]]


def turns(path: Path, runs: int) -> Turns:
    """Return the seconds of each phase in each turn, without the first turn, which warms up.

    Run this in a process that imports the graphfix of the measured checkout.
    """
    import graphfix

    measured = []
    with tempfile.TemporaryDirectory() as folder:
        copied, fixed = Path(folder, f"copied{path.suffix}"), Path(folder, f"fixed{path.suffix}")
        for _ in range(runs + 1):
            started = time.process_time()
            _read_and_write(path, copied)
            library = time.process_time()
            _ = graphfix.load(path).graphs  # reading `graphs` forces the inference, which is lazy
            inferred = time.process_time()
            graphfix.fix_file(path, fixed, check_result=False)
            rewritten = time.process_time()
            graphfix.verify(path, fixed, proof="only")
            measured.append(
                {
                    "library": library - started,
                    "infer": inferred - library,
                    "proof": time.process_time() - rewritten,
                }
            )
            fixed.unlink()
    return measured[1:]


def _read_and_write(path: Path, copied: Path) -> None:
    """Read the model with its format's own library, and write it to `copied`."""
    if path.suffix == ".onnx":
        import onnx

        onnx.save(onnx.load(path), copied)
        return
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema

    model = schema.ModelT.InitFromPackedBuf(path.read_bytes(), 0)
    builder = flatbuffers.Builder(path.stat().st_size)
    builder.Finish(model.Pack(builder), b"TFL3")
    copied.write_bytes(builder.Output())


def asked(tree: Path, path: Path, runs: int) -> Turns:
    """Return the seconds of each turn, measured in a process that imports the packages of the checkout `tree`."""
    done = checkouts.python(tree, [__file__, "--child", "--runs", runs, path.name])
    done.check_returncode()
    measured: Turns = json.loads(done.stdout)
    return measured


def quotient(measured: Turns, phase: str) -> float:
    """Return the median over the turns of a phase's time divided by the library's time."""
    return statistics.median(turn[phase] / turn["library"] for turn in measured)


def line(name: str, found: Mapping[str, Turns]) -> str:
    """Return a row of the table: the library's milliseconds, and the quotients of both phases.

    For each phase, the cells are the quotient of each checkout and, with two checkouts, the second divided by the
    first.
    """
    library = statistics.median(turn["library"] for each in found.values() for turn in each)
    cells = [name, f"{1000 * library:.2f}"]
    for phase in PHASES:
        quotients = [quotient(each, phase) for each in found.values()]
        cells += [f"{each:.2f}" for each in quotients]
        cells += [f"{quotients[-1] / quotients[0]:.2f}"] if len(quotients) > 1 else []
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """Print the table, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="files of models/exported")
    parser.add_argument("--runs", type=int, default=15)
    checkouts.add_option(parser)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(turns(FOLDER / given.names[0], given.runs)))
        return 0
    trees = checkouts.chosen(given.tree)
    heads = ["model", "read and write, ms"]
    for phase in PHASES:
        heads += [f"{phase}, {label}" for label in trees] + (["after / before"] if len(trees) > 1 else [])
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    for name in given.names or ROWS:
        print(line(name, measured(trees, FOLDER / name, given.runs)), flush=True)
    return 0


def measured(trees: Mapping[str, Path], path: Path, runs: int) -> dict[str, Turns]:
    """Return the turns of each checkout by its label. The checkouts take turns, three times."""
    found: dict[str, Turns] = {label: [] for label in trees}
    for turn in range(3):
        order: Sequence[str] = [*trees][:: 1 - turn % 2 * 2]
        for label in order:
            found[label] += asked(trees[label], path, runs)
    return found


if __name__ == "__main__":
    sys.exit(main())
