"""Run the TOSA tools: convert a model, validate the result by tosa-opt, run it in the reference model.

Each tool runs in a separate process. The tools crash, abort, print to any stream, and report success for incomplete
work. So a converted file is not trusted before `validate` has accepted it. The packages belong to the extra `tosa`.
"""

from __future__ import annotations

import importlib.util
import pickle
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from graphfix.results import GraphfixError
from graphfix.results.faults import InternalError
from graphfix.results.records import dataclass, field
from graphfix.runtimes.extras import install_command
from graphfix.runtimes.process import finished
from graphfix.runtimes.session import RefusedError, one_line
from graphfix.runtimes.sessions import LONGEST_SECONDS

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

CONVERTER, TORCH_MLIR, TOSA_TOOLS = "tosa-converter-for-tflite", "torch-mlir", "tosa-tools"
_PACKAGES = {
    CONVERTER: ("tosa_converter_for_tflite",),
    TORCH_MLIR: ("torch_mlir", "onnx"),
    TOSA_TOOLS: ("tosa_reference_model",),
}
CONVERTERS = {"tflite": CONVERTER, "onnx": TORCH_MLIR}
"""Format -> the tool that converts it.

`graphfix.runtimes.worker` uses the format's name as the verb of the conversion.
"""
_VERBS = {tool: format_ for format_, tool in CONVERTERS.items()}
SPECIFICATION, LEVEL = "1.0", "8k"
_TARGET = (
    f"specification_version={SPECIFICATION} level={LEVEL} profiles=pro_int,pro_fp "
    "extensions=int16,int4,bf16,fft,variable,controlflow,doubleround,inexactround"
)
_OF_THE_DIALECT = ("tosa.", "func.", "builtin.")
_ERROR = re.compile(r"(?P<where>.*?)(?:: )?\berror: (?P<what>.*)")
_PLACED = re.compile(r"(?P<where>loc\(.*?\)): (?P<what>.*)")
_OPERATOR = re.compile(r"'(?P<name>[\w.]+)' op (?P<what>.*)")
_QUOTED = re.compile(r'loc\([^"]*"([^"]+)"')
_ASSERTION = re.compile(r"Assertion .* failed|LLVM ERROR: .*|CHECK FAIL.*|REQUIRE\(\) fails.*|Check failed: .*")
_MET = re.compile(r"Op[A-Z]\w*: .*")
"""The form of the line in which the reference model reports an operator that has no defined result for its operands."""
_LISTED = re.compile(r'\s*(?:%[^=]*= )?"([\w.$-]+)"[(<]')
_CUSTOM = re.compile(r'operator_name = "([^"]*)"')


@dataclass(frozen=True, slots=True)
class Validation:
    """The result of validating a converted module by tosa-opt, for the specification 1.0 at level 8k."""

    errors: tuple[str, ...] = ()
    """The errors in the order of tosa-opt's output, each once.

    Without errors, the module conforms and was serialized.
    """
    operators: Mapping[str, int] = field(default_factory=dict)
    """TOSA name of an operator -> its number of occurrences; empty if the module does not conform."""

    @property
    def valid(self) -> bool:
        """Whether the module conforms to the specification."""
        return not self.errors


@dataclass(frozen=True, slots=True)
class Computed:
    """The result of a run in the TOSA reference model."""

    outputs: list[Array]
    """The outputs, in the order of the graph's outputs."""
    status: Literal["valid", "unpredictable"]
    """`unpredictable`: TOSA defines no result for some operand of an operator, such as a power of a negative base."""
    reason: str | None = None
    """The reference model's message about an operator without a defined result (`OpPow: x is less than 0`), or None."""


def convert(tool: str, model: Path, out: Path, *, narrow: bool = False, seconds: float = LONGEST_SECONDS) -> None:
    """Convert a model to TOSA, written to `out` as MLIR bytecode.

    CONVERTER reads TFLite files, and TORCH_MLIR ONNX files.

    `narrow` promises that every int64 of the ONNX file fits into int32. All of them then become int32, because TOSA 1.0
    has no int64. `out` is only written if the tool reports success. That alone does not mean that the file is correct,
    so call `validate`.

    Raises RefusedError with the first operator that the tool can't convert. The error is `aborted` if the tool's
    process died, and `missing_kernel` if the tool is not installed. Raises GraphfixError for a file that can't be read.
    """
    _check_readable(model)
    _require(tool)
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "made.mlirbc"
        given = (str(model.resolve()), str(made), *([narrow] if tool == TORCH_MLIR else []))
        _asked(tool, _VERBS[tool], given, seconds)
        shutil.move(made, out)


def validate(mlirbc: Path, tosa: Path | None = None, *, seconds: float = LONGEST_SECONDS) -> Validation:
    """Check a module strictly against TOSA 1.0 at level 8k. If it conforms, write it to `tosa` as a flatbuffer.

    `mlirbc` is the module as MLIR bytecode or text. Operators of other dialects are errors that contain the operators'
    names, even if tosa-opt ends with status 0. The operator tosa.custom is allowed. Raises RefusedError if tosa-opt is
    not installed or takes too long.
    """
    tosa_opt = _tosa_opt()
    with tempfile.TemporaryDirectory() as scratch:
        listing, made = Path(scratch) / "listing.mlir", Path(scratch) / "made.tosa"
        passes = [
            f"--tosa-attach-target={_TARGET}",
            "--tosa-validate=strict-op-spec-alignment",
            # A file name without a folder, because a blank in the path of the temporary folder would end the option.
            f"--tosa-serialize=tosa-flatbuffer-filename={made.name}",
        ]
        errors = _optimized(tosa_opt, mlirbc, listing, passes, seconds)
        if any("is unknown" in error for error in errors):
            # A dialect that tosa-opt does not know stops its parser. So the module is read once more to list such
            # operators.
            errors = _optimized(tosa_opt, mlirbc, listing, ["--allow-unregistered-dialect"], seconds) or errors
        operators = _operators(listing) if listing.exists() else {}
        unconverted = {name: count for name, count in operators.items() if not name.startswith(_OF_THE_DIALECT)}
        if unconverted:
            names = ", ".join(f"{name} ({count})" for name, count in unconverted.items())
            errors = (f"operators that were not converted are left: {names}",)
        if not errors and not made.exists():
            errors = ("tosa-opt wrote no flatbuffer, and does not say why",)
        if errors:
            return Validation(errors)
        if tosa is not None:
            shutil.move(made, tosa)
        return Validation(operators={name: n for name, n in operators.items() if name.startswith("tosa.")})


def run(tosa: Path, inputs: Sequence[Array], *, seconds: float = LONGEST_SECONDS) -> Computed:
    """Run a TOSA flatbuffer in the reference model on arrays in the order of its inputs.

    Raises RefusedError if the model does not accept the graph or the inputs. The error is `aborted` if the process dies
    (an integer division by zero causes that).
    """
    _require(TOSA_TOOLS)
    (outputs, status), said = _asked(TOSA_TOOLS, "run", (str(tosa.resolve()), list(inputs)), seconds)
    return Computed(outputs, status, next((line for line in said if _MET.fullmatch(line)), None))


def versions() -> dict[str, str]:
    """Return the version of each TOSA tool that is installed."""
    return {tool: metadata.version(tool) for tool in _PACKAGES if not _absent(tool)}


def _absent(tool: str) -> bool:
    """Return whether a package of a tool is not installed."""
    return any(importlib.util.find_spec(package) is None for package in _PACKAGES[tool])


def _require(tool: str) -> None:
    """Raise RefusedError with the command that installs the tool, if the tool is not installed."""
    if _absent(tool):
        raise RefusedError(f"{tool} is not installed: {install_command('tosa')}", missing_kernel=True)


def _tosa_opt() -> str:
    """Return the path of the tosa-opt program itself. Raises RefusedError if it is not installed.

    The script of the same name is not used, because behind it a crash would look like an ordinary end.
    """
    _require(TOSA_TOOLS)
    name = "tosa-opt.exe" if sys.platform == "win32" else "tosa-opt"
    program = Path(str(metadata.distribution(TOSA_TOOLS).locate_file(f"bin/{name}")))
    if not program.is_file():
        missing = f"this {TOSA_TOOLS} was built without tosa-opt: {install_command('tosa')}"
        raise RefusedError(missing, missing_kernel=True)
    return str(program)


def _asked(tool: str, verb: str, arguments: tuple[object, ...], seconds: float) -> tuple[Any, Sequence[str]]:
    """Have `graphfix.runtimes.worker` do a task in a new process; return (its answer, the tool's error messages).

    `verb` is a key of the worker's `_VERBS`. Raises RefusedError in the tool's own words, with `aborted` if the process
    died or was stopped. Raises InternalError for a fault of graphfix in the child process.
    """
    with tempfile.TemporaryDirectory() as scratch:
        answer = Path(scratch) / "answer"
        command = [sys.executable, "-P", "-m", "graphfix.runtimes.worker", verb, str(answer)]
        ended = finished(tool, command, _complaint, given=pickle.dumps(arguments, protocol=5), seconds=seconds)
        if ended.killed or not answer.exists():
            complaint = ended.errors[0] if ended.errors else ended.last
            how = f"{tool} aborts the process ({ended.cause})" if ended.killed else f"{tool} fails"
            raise RefusedError(one_line(f"{how}: {complaint}" if complaint else how), aborted=True)
        kind, value = pickle.loads(answer.read_bytes())  # noqa: S301 - our own child wrote it
    if kind == "fault":
        raise InternalError(value)
    if kind == "refused":
        raise RefusedError(one_line(f"{tool}: {ended.errors[0] if ended.errors else value}"))
    return value, ended.errors


def _complaint(line: str) -> str:
    """Return the error message in a line, with its place in the model if the line has it; empty without an error.

    Two lines and their messages:

        loc("y"("m.tflite":0:0)): error: 'tfl.prelu' op 'alpha' should ...   ->  tfl.prelu: 'alpha' should ... at 'y'
        <unknown>:0: error: loc("nn"): 'tosa.const' op is not aligned ...    ->  tosa.const: is not aligned ... at 'nn'
    """
    error = _ERROR.match(line)
    if error is None:
        assertion = _ASSERTION.search(line) or _MET.fullmatch(line.strip())
        return one_line(assertion[0]) if assertion else ""
    match = _PLACED.match(error["what"])
    where, what = (match["where"], match["what"]) if match else (error["where"], error["what"])
    operator = _OPERATOR.match(what)
    text = one_line(f"{operator['name']}: {operator['what']}" if operator else what)
    place = _QUOTED.match(where)
    return f"{text} at '{place[1]}'" if place else text


def _check_readable(model: Path) -> None:
    """Raise GraphfixError if the file can't be opened."""
    try:
        model.open("rb").close()
    except OSError as error:
        raise GraphfixError(f"{model}: {error.strerror}; give the path of a TFLite or ONNX file") from None


def _optimized(tosa_opt: str, module: Path, listing: Path, passes: Sequence[str], seconds: float) -> tuple[str, ...]:
    """Run passes on a module, write its operators to `listing` (one per line, no weights), and return the errors."""
    shown = ["--mlir-print-op-generic", "--mlir-elide-elementsattrs-if-larger=4", "--mlir-print-op-on-diagnostic=false"]
    shown.append("--mlir-elide-resource-strings-if-larger=4")
    command = [tosa_opt, str(module.resolve()), *passes, *shown, "-o", str(listing)]
    ended = finished("tosa-opt", command, _complaint, folder=listing.parent, seconds=seconds)
    if ended.cause and not ended.errors:
        return (one_line(f"tosa-opt ends with {ended.cause}: {ended.last}"),)
    return ended.errors


def _operators(listing: Path) -> dict[str, int]:
    """Return how often each operator occurs in a module that is written in MLIR's generic form.

    A custom operator's key is `tosa.custom:` and its own name.
    """
    found: dict[str, int] = {}
    with listing.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            match = _LISTED.match(line)
            if match is None:
                continue
            custom = _CUSTOM.search(line) if match[1] == "tosa.custom" else None
            name = f"{match[1]}:{custom[1]}" if custom else match[1]
            found[name] = found.get(name, 0) + 1
    return found
