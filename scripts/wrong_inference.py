"""Measure where load-time inference gives other sizes than a run, and write the table of docs/load-inference.md.

    python scripts/wrong_inference.py [--python PATH]... [--varied N] [--drawn N] [--added N] [--check] [OPERATOR ...]

Random models of one node, with inputs of known sizes and outputs of no declared type, are given to onnx's inference
(without and with propagated values), loaded by onnxruntime without optimizations, and run. Inference is wrong where it
gives a rank or a size that a result does not have. Each wrong model must be described by a row of
wrong_inference_table/rows.py; the exit status is 1, and the models are printed, where one is not. --python asks the
onnx and onnxruntime of further environments. --check, and naming operators, prints the table instead of writing it.
"""

from __future__ import annotations

import argparse
import json
import pickle
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from onnx import defs
from wrong_inference_table.rows import ROWS, Row, row_of

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.support.onnx.contrib_audit import described  # noqa: E402 -- found by the line above
from tests.support.onnx.inference_models import Counts, Question, models, operands_of, question  # noqa: E402
from tests.support.pairs.onnx_instances import Instance, elements  # noqa: E402

PAGE = ROOT / "docs" / "load-inference.md"
HEAD = "<!-- wrong_inference.py writes what follows -->"
WORKER = Path(__file__).with_name("wrong_inference_table") / "worker.py"
DEFAULT = Counts(varied=20, drawn=600, added=50)
VERSIONS = "import onnx, onnxruntime; print(f'onnx {onnx.__version__}, onnxruntime {onnxruntime.__version__}')"
Answer = Mapping[str, Any]
"""`real` and `inferred` shapes, or why the model is `refused`; see wrong_inference_table/worker.py."""


class Wrong(NamedTuple):
    """A result that has other sizes than inference says."""

    instance: Instance
    source: str
    """`onnx`, `onnx, data_prop` or `onnxruntime`."""
    result: int
    """Which result, from 0 on."""
    inferred: Sequence[int | None]
    real: Sequence[int]


@dataclass
class Measured:
    """The counts and an example of one operator whose wrong inferences meet the condition of one row."""

    described: int = 0
    """Models that ran and that the row describes."""
    wrong: int = 0
    sources: Counter[str] = field(default_factory=Counter)
    sets: set[int] = field(default_factory=set)
    """The operator sets of models whose inference is wrong."""
    environments: set[str] = field(default_factory=set)
    example: Wrong | None = None
    """The wrong model of the fewest elements."""


@dataclass
class Result:
    """The answers of all Python environments that were asked."""

    models: int = 0
    ran: Counter[str] = field(default_factory=Counter)
    """By environment."""
    wrong: Counter[str] = field(default_factory=Counter)
    operators: dict[str, bool] = field(default_factory=dict)
    """By operator: whether a model of it ran."""
    rows: dict[tuple[Row, str], Measured] = field(default_factory=dict)
    """By row and operator."""
    unlisted: list[str] = field(default_factory=list)
    """Wrong models that no row describes."""


def main() -> int:
    """Measure, and write the page or print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*", metavar="OPERATOR")
    parser.add_argument("--python", action="append", default=[], metavar="PATH")
    for name, count in DEFAULT._asdict().items():
        parser.add_argument(f"--{name}", type=int, default=count, metavar="N")
    parser.add_argument("--check", action="store_true", help="print the table, write nothing")
    given = parser.parse_args()
    counts = Counts(given.varied, given.drawn, given.added)
    result = measure(list(models(counts, given.operators)), [sys.executable, *given.python])
    lines = report(result)
    if given.check or given.operators:
        print("\n".join(lines))
    else:
        kept = PAGE.read_text(encoding="utf-8").partition(HEAD)[0]
        PAGE.write_text("\n".join([f"{kept}{HEAD}", "", *lines, ""]), encoding="utf-8")
    for text in result.unlisted:
        print(f"described by no row: {text}", file=sys.stderr)
    return int(bool(result.unlisted))


def measure(instances: Iterable[Instance], pythons: Sequence[str]) -> Result:
    """Ask each environment about the models. Raises CalledProcessError where an environment lacks a package."""
    asked = [(instance, made) for instance in instances if (made := question(instance)) is not None]
    result = Result(models=len(asked))
    for python in pythons:
        run = subprocess.run([python, "-c", VERSIONS], check=True, capture_output=True, text=True)
        environment = run.stdout.strip()
        for (instance, _), answer in zip(asked, answers([made for _, made in asked], python), strict=True):
            name = name_of(instance.node.domain, instance.node.op_type)
            result.operators[name] = result.operators.get(name, False) or "refused" not in answer
            if "refused" not in answer:
                result.ran[environment] += 1
                add(result, environment, instance, wrong_results(instance, answer))
    return result


def answers(questions: Sequence[Question], python: str) -> list[Answer]:
    """Return the answers of an environment. A model on which its process ends is refused, and the rest is asked."""
    with tempfile.TemporaryDirectory(prefix="inference-") as folder:
        asked, answered = Path(folder, "questions"), Path(folder, "answers")
        asked.write_bytes(pickle.dumps(questions, protocol=4))
        answered.touch()
        found: list[Answer] = []
        while len(found) < len(questions):
            command = [python, str(WORKER), str(asked), str(answered), str(len(found))]
            ended = subprocess.run(command, check=False, capture_output=True, text=True)
            if ended.returncode > 0:
                raise subprocess.CalledProcessError(ended.returncode, command, stderr=ended.stderr)
            lines = answered.read_text(encoding="utf-8").splitlines()
            found = [json.loads(line) for line in lines]
            if ended.returncode < 0:
                found.append({"refused": f"onnxruntime ended by signal {-ended.returncode}"})
                answered.write_text("".join(f"{json.dumps(each)}\n" for each in found), encoding="utf-8")
    return found


def wrong_results(instance: Instance, answer: Answer) -> list[Wrong]:
    """Return the results of a model of which a rank or a size was inferred that they do not have."""
    return [
        Wrong(instance, source, list(instance.node.output).index(name), inferred, real)
        for source, shapes in answer["inferred"].items()
        for name, inferred in shapes.items()
        for real in answer["real"].get(name) or ()
        if inferred is not None and contradicts(inferred, real)
    ]


def contradicts(inferred: Sequence[int | None], real: Sequence[int]) -> bool:
    """Whether an inferred shape has another rank than the real one, or a known size that differs."""
    if len(inferred) != len(real):
        return True
    return any(size is not None and size != own for size, own in zip(inferred, real, strict=True))


def add(result: Result, environment: str, instance: Instance, wrong: Sequence[Wrong]) -> None:
    """Count a model that ran under the row that describes it."""
    row = row_of(instance.node, operands_of(instance), instance.version)
    result.wrong[environment] += bool(wrong)
    if row is None:
        result.unlisted += [f"{environment}: {example(wrong[0])}"] if wrong else []
        return
    measured = result.rows.setdefault((row, instance.node.op_type), Measured())
    measured.described += 1
    if wrong:
        measured.wrong += 1
        measured.sources.update({each.source for each in wrong})
        measured.sets.add(instance.version)
        measured.environments.add(environment)
        best = measured.example
        if best is None or elements(instance.feeds) < elements(best.instance.feeds):
            measured.example = wrong[0]


def example(wrong: Wrong) -> str:
    """Describe a wrong model in one line: its node, small operands of integers, the inferred shape and the real one."""
    instance = wrong.instance
    node = described(instance).removeprefix(".").rpartition(" -> ")[0]
    values = [
        f"{name} = {value.tolist()}"
        for name, value in instance.feeds.items()
        if isinstance(value, np.ndarray) and value.size <= 4 and (value.dtype.kind in "iu" or not value.ndim)
    ]
    which = f" of result {wrong.result}" if len(instance.node.output) > 1 else ""
    said = f"inferred{which} " + str(["?" if size is None else size for size in wrong.inferred]).replace("'", "")
    return ", ".join([f"{node}", *values, said, f"real {list(wrong.real)}"])


def report(result: Result) -> list[str]:
    """Return the lines of the counts and of the table."""
    lines = ["| environment | models | ran | wrong |", "| --- | --- | --- | --- |"]
    lines += [_cells(name, result.models, count, result.wrong[name]) for name, count in result.ran.items()]
    lines += [
        "",
        _cells("operator", "opsets", "wrong if", "example", "inferred by", "wrong / described"),
        "|" + " --- |" * 6,
    ]
    for row in ROWS:
        for operator in row.operators:
            measured = result.rows.get((row, operator), Measured())
            if measured.example is not None:
                sets = sorted(measured.sets)
                lines.append(
                    _cells(
                        name_of(row.domain, operator),
                        str(sets[0]) if len(sets) == 1 else f"{sets[0]} to {sets[-1]}",
                        row.words + (f" (before onnxruntime {row.versions.before})" if row.versions.before else ""),
                        f"`{example(measured.example)}`",
                        "; ".join(sorted(measured.sources)),
                        f"{measured.wrong} / {measured.described}",
                    )
                )
    silent = sorted(name for name, ran in result.operators.items() if not ran)
    lines += ["", f"No model ran of: {', '.join(silent)}."] if silent else []
    missing = sorted(standard_operators() - result.operators.keys())
    return lines + (["", f"No model was made of: {', '.join(missing)}."] if missing else [])


def standard_operators() -> set[str]:
    """Return the operators of the standard domain that onnx's newest operator set has."""
    found = {each.name: each for each in defs.get_all_schemas() if not each.domain}
    return {name for name, schema in found.items() if not schema.deprecated}


def name_of(domain: str, operator: str) -> str:
    """Return an operator's name with its domain in front, if that is not the standard one."""
    return f"{domain.removeprefix('ai.onnx')}.{operator}".removeprefix(".")


def _cells(*cells: object) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    sys.exit(main())
