"""Places of a scratch folder have the names that users know, wherever they are told."""

from __future__ import annotations

from pathlib import Path

from graphfix.batch.jobs.job import Job, Limits
from graphfix.batch.jobs.work import with_places
from graphfix.batch.stores import addresses
from graphfix.engine.request import Request
from graphfix.report.text import Entry, Failure
from graphfix.results import Conversion, Outcome, Run, Verdict

SCRATCH = Path("/scratch")
FETCHED = SCRATCH / "in" / "m.onnx"


def named(entry: Entry, model: Path) -> Entry:
    job = Job("memory://zoo/m.onnx", "sub/m.onnx", "there", "fix", Request(), Limits(1.0))
    return with_places(entry, model, job, addresses.store("memory://zoo"), SCRATCH)


def test_an_error_names_the_source_and_the_output() -> None:
    text = "/scratch/in/m.onnx: /scratch/in/data/w.bin is no copy of /scratch/out/sub/m.onnx"
    said = named(Failure("fix", str(FETCHED), text, "memory"), FETCHED)
    error = "memory://zoo/m.onnx: memory://zoo/data/w.bin is no copy of there/sub/m.onnx"
    assert said == Failure("fix", "memory://zoo/m.onnx", error, "memory")


def test_an_outcome_names_them_wherever_it_names_a_file() -> None:
    runs = (Run({"/scratch/in/n": 1}, "off", "undecided", reason="/scratch/in/m.onnx aborts"),)
    verdict = Verdict("undecided", runs, reason="/scratch/out/sub/m.onnx", proof={"first": ["/scratch/in/m.onnx"]})
    conversion = Conversion("refused", "tool", bytecode="/scratch/out/sub/m.mlirbc")
    made = Outcome(
        "fix", str(FETCHED), "onnx", output="/scratch/out/sub/m.onnx", verdict=verdict, conversion=conversion,
        notes=("/scratch/in/m.onnx",), assumes=["/scratch/in/m.onnx"],
    )  # fmt: skip
    said = named(made, FETCHED)
    assert "/scratch" not in str(said)
    assert isinstance(said, Outcome)
    assert (said.source, said.output) == ("memory://zoo/m.onnx", "there/sub/m.onnx")
    assert said.assumes == ["memory://zoo/m.onnx"]
