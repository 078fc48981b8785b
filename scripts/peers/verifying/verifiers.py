"""Who verifies: each by its documented entry, and what it claims when it says yes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from peers.catalogue import ONNX, OURS, TFLITE, THEIRS
from peers.verifying import answers
from peers.verifying.answers import Reader
from peers.verifying.inputs import Inputs
from peers.verifying.record import NONE, Tolerance

ONNXSIM: Tolerance = (1e-5, 1e-4)
POLYGRAPHY: Tolerance = (1e-5, 1e-5)
DRIVERS = Path(__file__).with_name("drivers")


@dataclass(frozen=True, slots=True)
class Verifier:
    """One line of the table: a verifier, how it is called, and what its yes means."""

    name: str
    said: str
    """What is run, for the page."""
    claim: str
    """What a yes claims, for the page."""
    packages: tuple[str, ...]
    """All of which it needs."""
    formats: tuple[str, ...]
    words: tuple[str, ...]
    """The command; Files.filled says what the words in capitals stand for."""
    read: Reader
    original: tuple[str, ...] = ()
    """The command that runs the original alone before."""
    environment: str = THEIRS
    tolerance: Tolerance = NONE
    """Up to which it takes outputs as equal."""

    def command(self, files: Files, python: Path) -> list[str]:
        """Return the command line for a pair."""
        return files.filled(self.words, python)

    def before(self, files: Files, python: Path) -> list[str]:
        """Return the command line for the original alone."""
        return files.filled(self.original, python)


@dataclass(frozen=True, slots=True)
class Files:
    """A pair on the disk, and what its model is run on."""

    before: Path
    after: Path
    inputs: Inputs

    def filled(self, words: Sequence[str], python: Path) -> list[str]:
        """Return a command line with what stands for its placeholders."""
        given = json.dumps({"shapes": self.inputs.shapes, "values": self.inputs.values})
        stand: Mapping[str, Sequence[str]] = {
            "BEFORE": (str(self.before),),
            "AFTER": (str(self.after),),
            "PYTHON": (str(python),),
            "INPUTS": (f"{self.before}.inputs.json",),
            "OUTPUTS": (f"{self.before}.outputs.json",),
            "GIVEN": (given,),
            "SIZES": _option("--input-shapes", {name: [*each] for name, each in self.inputs.shapes.items()}),
            "VALUES": _option("--val-range", {name: [each, each] for name, each in self.inputs.values.items()}),
        }
        bin_ = python.parent
        return [
            filled
            for word in words
            for filled in stand.get(word, (str(bin_ / word[4:]) if word.startswith("BIN/") else word,))
        ]


def _option(name: str, values: Mapping[str, Sequence[int]]) -> Sequence[str]:
    """`--input-shapes x:[1,3]`."""
    each = [f"{key}:[{','.join(map(str, value))}]" for key, value in values.items()]
    return (name, *each) if each else ()


def _graphfix(name: str, said: str, claim: str, words: tuple[str, ...], read: Reader) -> Verifier:
    return Verifier(name, said, claim, ("graphfix",), (ONNX, TFLITE), words, read, environment=OURS)


def _polygraphy(name: str, tolerance: Tolerance, claim: str, *options: str) -> Verifier:
    run = ("BIN/polygraphy", "run")
    words = (*run, "AFTER", "--onnxrt", "--load-inputs", "INPUTS", "--load-outputs", "OUTPUTS", *options)
    original = (*run, "BEFORE", "--onnxrt", "--save-inputs", "INPUTS", "--save-outputs", "OUTPUTS", "SIZES", "VALUES")
    said = (
        f"`polygraphy run a --onnxrt --save-outputs o`, `polygraphy run b --onnxrt --load-outputs o {' '.join(options)}"
    )
    return Verifier(
        name, f"{said.rstrip()}`", claim, ("polygraphy", "onnxruntime"), (ONNX,), words, answers.polygraphy, original,
        tolerance=tolerance,
    )  # fmt: skip


PROOF, BOTH = "graphfix proof", "graphfix verify"
VERIFIERS: Sequence[Verifier] = (
    _graphfix(
        PROOF,
        "`graphfix verify --proof-only`",
        "for all inputs and all sizes every output has the same bits, but for what it lists as assumed; nothing is run",
        ("BIN/graphfix", "verify", "BEFORE", "AFTER", "--proof-only", "--json"),
        answers.graphfix,
    ),
    _graphfix(
        BOTH,
        "`graphfix verify`",
        "*proved* as above, and no run found a difference; *equal*: the same bits in runs on several sets of inputs and"
        " sizes",
        ("BIN/graphfix", "verify", "BEFORE", "AFTER", "--json"),
        answers.graphfix,
    ),
    _graphfix(
        "graphfix runs",
        '`graphfix.verify(a, b, proof="without")`',
        "*equal* as above",
        ("PYTHON", str(DRIVERS / "graphfix_runs.py"), "BEFORE", "AFTER"),
        answers.runs,
    ),
    Verifier(
        "onnxsim certify",
        "`onnxsim.certify.certify(a, b)` (Z3)",
        "for all inputs, in the arithmetic of real numbers, outputs differ by at most 1e-5 + 1e-4 of their value; how"
        " float32 rounds is not in it",
        ("onnxsim", "z3-solver"),
        (ONNX,),
        ("PYTHON", str(DRIVERS / "onnxsim_certify.py"), "BEFORE", "AFTER"),
        answers.certify,
        tolerance=ONNXSIM,
    ),
    Verifier(
        "onnxsim check",
        "`onnxsim.model_checking.compare(b, a)` three times, what `onnxsim a b 3` does with its own result",
        "on 3 random inputs of one size outputs differ by at most 1e-5 + 1e-4 of their value",
        ("onnxsim", "onnxruntime"),
        (ONNX,),
        ("PYTHON", str(DRIVERS / "onnxsim_check.py"), "BEFORE", "AFTER", "GIVEN"),
        answers.check,
        tolerance=ONNXSIM,
    ),
    _polygraphy(
        "polygraphy",
        POLYGRAPHY,
        "on one random input of one size outputs differ by at most 1e-5 + 1e-5 of their value, with onnxruntime's"
        " optimizations",
    ),
    _polygraphy(
        "polygraphy exact",
        NONE,
        "on one random input of one size outputs are equal numbers, with onnxruntime's optimizations",
        "--atol",
        "0",
        "--rtol",
        "0",
    ),
)
NAMED: Mapping[str, Verifier] = {verifier.name: verifier for verifier in VERIFIERS}
