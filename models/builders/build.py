"""Build the models of models/ and their table, byte for byte the same on every run.

    python -m models.builders [--check] [--dest models]

With --check nothing is written: the exit status is 1, with a line for each file, when what is there is not
what would be built.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from models import FOLDER, committed
from models.builders.exported import section
from models.builders.onnx.bodies import BODY_CASES
from models.builders.onnx.cases import KINDS, Case
from models.builders.onnx.encoder import encoder_model
from models.builders.onnx.features import feature_cases
from models.builders.onnx.reference import reference_cases
from models.builders.tflite.cases import TFLITE_KINDS, TfliteCase, tflite_cases

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_INTRODUCTION = """\
# The models of this folder

Written by `python -m models.builders` (do not edit: `--check` compares). `zoo.toml` names real models,
which `python scripts/fetch_zoo.py` brings into `models/zoo/` (`--only tflite` or `--only onnx`: those of one
format; 25 are TFLite, 14 ONNX).

At the top stand the models that the README names; the others are in folders, both formats side by side
(`exported`, which other scripts write, has a section at the end):

| folder | what its models show |
| --- | --- |
| `rfc` | the combinations of MLIR's RFC on lowering element-wise TOSA operators |
| `trait` | the examples of MLIR's `Broadcastable` trait that ONNX can express |
| `shapes` | ranks and sizes of operands: two-sided stretches, scalars, size 0, ranks up to 9, values read twice |
| `operators` | operators whose operands are not all alike: selections, products, parameters, text, custom ones |
| `constants` | constants that are shared, sparse, stored in half precision, or may be overridden |
| `quantized` | scales and zero points, of a tensor and of an axis |
| `explicit` | broadcasts that are written out already |
| `bodies` | branches, loops and functions |
| `legacy` | old opsets, IR versions and converters |
| `files` | what a file holds beside its graph: metadata, signatures, archives, variables |

`?` is an unknown dim, a name a symbol.
"""

_TFLITE_INTRODUCTION = """\
## TFLite

Written from text in the notation of `models/builders/tflite/text.py`. The combinations of the RFC that differ from
another only by the names of symbols are not repeated: a size of TFLite is free (`shape_signature` -1) or it is not.
"""


def all_cases() -> list[Case]:
    """Every committed model, in the order of the table."""
    line = "a transformer encoder as exporters write one: mask, bias and scalar broadcasts, symbolic sizes"
    return [
        Case("encoder", "sound", line, encoder_model()),
        *reference_cases(),
        *feature_cases(),
        *BODY_CASES,
    ]


def _table(cases: Sequence[Case | TfliteCase], kinds: Mapping[Any, str], suffix: str) -> str:
    legend = "\n".join(f"- {kind}: {text}" for kind, text in kinds.items())
    rows = "\n".join(f"| `{case.name}.{suffix}` | {case.kind} | {case.line} |" for case in cases)
    return f"{legend}\n\n| model | kind | what it shows |\n| --- | --- | --- |\n{rows}\n"


def build() -> dict[str, bytes]:
    """Return each file's content by its name."""
    cases, tflite = all_cases(), tflite_cases()
    files = {f"{case.name}.onnx": case.model.SerializeToString(deterministic=True) for case in cases}
    files |= {f"{case.name}.tflite": case.data for case in tflite}
    if len(files) != len(cases) + len(tflite):
        raise ValueError("two models have one name")
    onnx_part = f"{_INTRODUCTION}\n{_table(cases, KINDS, 'onnx')}"
    tflite_part = f"{_TFLITE_INTRODUCTION}\n{_table(tflite, TFLITE_KINDS, 'tflite')}"
    return files | {"README.md": f"{onnx_part}\n{tflite_part}\n{section()}".encode()}


def differences(files: dict[str, bytes], dest: Path) -> list[str]:
    """Compare a folder with what would be built: a line for each file missing, other or too many."""
    there = {path.relative_to(dest).as_posix() for path in committed(dest)}
    lines = [f"{name}: is not there" for name in files if not (dest / name).is_file()]
    lines += [
        f"{name}: differs" for name in files if (dest / name).is_file() and (dest / name).read_bytes() != files[name]
    ]
    return lines + [f"{name}: is built by nothing" for name in sorted(there - files.keys())]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the answer is the exit status."""
    parser = argparse.ArgumentParser(
        "python -m models.builders", description="Build the models of models/ and their table."
    )
    parser.add_argument("--check", action="store_true", help="write nothing; compare with what is there")
    parser.add_argument("--dest", type=Path, default=FOLDER, help="folder (default: models)")
    options = parser.parse_args(argv)
    files = build()
    if options.check:
        wrong = differences(files, options.dest)
        for line in wrong:
            print(f"{options.dest / line}; run python -m models.builders", file=sys.stderr)
        return 1 if wrong else 0
    for name, content in files.items():
        path = options.dest / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    print(f"{len(files) - 1} models, {sum(map(len, files.values()))} bytes in {options.dest}")
    return 0
