"""Options that several commands have, in groups, and the parser that they are added to; no format is imported."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, NoReturn

from graphfix.targets import registry


class Parser(argparse.ArgumentParser):
    """argparse prints an error in two lines or more; its `error` method is where that can be changed."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line on stderr, and end with status 2."""
        line = " ".join(message.split())
        self.exit(2, f"graphfix: {line}{'' if line.endswith('?') else ';'} see {self.prog} --help\n")

    def _print_message(self, message: str, file: IO[str] | None = None) -> None:  # type: ignore[override]  # typeshed: SupportsWrite
        """Print help or an error. Raises OSError if the stream can't be written; argparse would ignore that error."""
        print(message, end="", file=file or sys.stderr)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Raise ArgumentError for a value that is none of an option's choices; it names those that are near, or all."""
        if action.choices is None or value in action.choices:
            return
        from graphfix.results.error_texts import hint

        known = list(map(str, action.choices))
        how = hint(str(value), known, f"; choose from {', '.join(known)}")
        raise argparse.ArgumentError(action, f"invalid choice: {value!r}{how}")

    def refuse(self, words: Sequence[str]) -> NoReturn:
        """End for words that nothing takes; beside the first option of them stand those that are near."""
        from graphfix.results.error_texts import hint

        wrong = next((word.split("=")[0] for word in words if word.startswith("-")), "")
        known = [name for name in self._option_string_actions if name.startswith("--")]
        self.error(f"unrecognized arguments: {' '.join(words)}{hint(wrong, known)}")


class HelpText(argparse.RawDescriptionHelpFormatter):
    """Help in which a name such as `equalize-ranks` is never broken in two: it is there to be copied."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        import textwrap

        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)


def repeatable(
    group: argparse._ActionsContainer,
    name: str,
    metavar: str,
    what: str,
    convert: Callable[[str], object] = str,
    dest: str | None = None,
) -> None:
    """Add an option that may be given several times; its values are listed under `dest`, or under its own name."""
    dest = dest or name[2:].replace("-", "_")
    what = f"{what}; repeatable"
    group.add_argument(name, dest=dest, metavar=metavar, type=convert, action="append", default=[], help=what)


def model(command: Parser, what: str, name: str = "model", metavar: str = "MODEL") -> None:
    """Add a file that is read as a model; `what` it is for."""
    command.add_argument(name, metavar=metavar, type=file_or_stream, help=f"{what}; - is stdin")


def data_root(command: Parser) -> None:
    """Add --data-root: further folders in which a model's external data may lie."""
    what = (
        "ONNX: external data may also lie in this folder or below it, where a link or a name leads out of the "
        "model's folder"
    )
    repeatable(command, "--data-root", "DIR", what, read_path)


def choices(command: Parser) -> None:
    """Offer what is made explicit: target, broadcasts, rewrites."""
    group = command.add_argument_group("what is made explicit")
    either = group.add_mutually_exclusive_group()
    either.add_argument(
        "--target",
        type=_target,
        choices=registry.TARGETS,
        default="explicit",
        help="explicit (default): no operator broadcasts; ranks: operands have equal ranks, size-1 axes stay; "
        "tosa: the form that the converters to TOSA read, all inputs bound; compact: the other way, what an operator's "
        "own broadcasting makes redundant goes; onnxruntime: compact, but for what its fusions match by shape; "
        "litert-gpu, ethos-u: ranks, in the operators that those take (`graphfix explain TARGET`)",
    )
    target_file(either, "a target of your own: base, options and limits in a TOML file")
    group.add_argument(
        "--broadcasts",
        choices=registry.BROADCASTS,
        help="size-1 axes: leave them, stretch where more than one operand needs it, or stretch all "
        "(default: what the target says)",
    )
    group.add_argument(
        "--unknown",
        choices=registry.UNKNOWN,
        default="expand",
        help="sizes known only at run time: a run-time Expand (default), leave and report, "
        "assume that they are equal, or an error",
    )
    rules(group)
    what = "leave the operands by whose shapes onnxruntime fuses operators on a CPU (Gelu, Gemm ..)"
    group.add_argument("--keep-fusions", action="store_true", help=what)


def target_file(group: argparse._ActionsContainer, what: str) -> None:
    """Offer a target of the user's own; `what` it is for."""
    group.add_argument("--target-file", metavar="TOML", type=read_path, help=what)


def _target(text: str) -> str:
    """The name of a target; what looks like a file has another option."""
    if text.endswith(".toml"):
        raise argparse.ArgumentTypeError(f"{text!r} is no target: a file of one is named by --target-file")
    return text


def own_rewrites(group: argparse._ActionsContainer, what: str) -> None:
    """Offer rewrites of the user's own; `what` for."""
    repeatable(group, "--rewrites", "FILE", what, _own_rewrite)


def _own_rewrite(text: str) -> Path | str:
    """A Python file, or the name of an installed rewrite."""
    return Path(text) if text.endswith(".py") else text


def rules(group: argparse._ArgumentGroup) -> None:
    """Offer the rewrites, the default sizes and the bound on constants."""
    known = ", ".join(registry.REWRITES)
    repeatable(group, "--only", "RULE", f"only this rewrite, of {known}, or one of your own (--rewrites)")
    repeatable(group, "--skip", "RULE", "not this rewrite")
    own_rewrites(group, "run a rewrite of your own too: a Python file, or the name of an installed one")
    group.add_argument(
        "--bind-defaults",
        action="store_true",
        help="bind every size that is still free: what the file stores beside it (TFLite), 1 for a first axis, and the "
        "least at which the model runs for the others",
    )
    group.add_argument(
        "--max-expand-bytes",
        metavar="N",
        type=Whole(0),
        help="TFLite: a constant is written out stretched if it then takes at most N bytes (default 1048576), and all "
        "of them together at most twice the file's size; else an operator stretches it",
    )


def binding(command: Parser) -> None:
    """Offer what binds the inputs: sizes, and values."""
    group = command.add_argument_group("free dims and values")
    what = "bind a free dim: N=4, or narrow its range: N=2..64; in TFLite axis 0 of input x is 'x[0]=4'"
    repeatable(group, "--dim", "N=S", what, named("SIZE"), "dims")
    what = "bind the shape of an input: x=1,3,224,224; a scalar's has no size: sr="
    repeatable(group, "--shape", "I=S,S,..", what, named("SIZES", least=0), "shapes")
    what = "sizes of inputs that are equal, axes or symbols: 'ids[0]=mask[0]', batch=batch2, total=past+seq"
    repeatable(group, "--same", "A=B", what)
    group.add_argument(
        "--trust-stored",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="believe stored sizes of inner values, such as 's0 + 1', that can neither be proved nor refuted (ONNX); "
        "with --no-trust-stored none (default: only the stored shapes of results of custom operators); "
        "they are listed as assumed, and compared with the runs",
    )
    what = "ONNX: inputs of int64 become int32: they are assumed to hold numbers of 32 bits"
    group.add_argument("--narrow-inputs", action="store_true", help=what)
    what = "TFLite: the signature that is the model, with its names for inputs and outputs (default: the main subgraph)"
    group.add_argument("--signature", metavar="NAME", help=what)
    what = (
        "take an input for a constant: sr=16000, flag=true, sizes=1,2,3; it stays an input that nothing reads; "
        "what is proved and run is the model at this value"
    )
    repeatable(group, "--set", "I=V", what, named("VALUE"), "values")
    if command.prog.endswith((" fix", " tosa", " batch")):
        what = "inputs whose value --set says are no inputs of the result"
        group.add_argument("--drop-set-inputs", action="store_true", help=what)


def runs(command: Parser) -> None:
    """Offer how many runs there are, of which budget, and their seed."""
    command.add_argument(
        "--runs",
        metavar="N",
        type=Whole(1),
        help="sets of inputs and sizes to run, and one of larger sizes where nothing is proved (default: 4; where the "
        "models are proved equal, 1, and each model runs once)",
    )
    what = (
        "run a large model (1 GiB and more), or one that is proved equal, as often as any other, and without limits of "
        "time and memory"
    )
    command.add_argument("--thorough", action="store_true", help=what)
    seed(command)


def seed(command: Parser) -> None:
    """Offer the seed of the inputs that are not given."""
    command.add_argument("--seed", metavar="N", type=Whole(0), default=0, help="seed of the inputs (default 0)")


def tolerances(command: Parser, what: str) -> None:
    """Offer --atol and --rtol; in `what`, {} is replaced by the kind of the tolerance."""
    for name, kind in (("--atol", "absolute"), ("--rtol", "relative")):
        command.add_argument(name, metavar="X", type=tolerance, help=what.format(kind))


def unverified(command: Parser, what: str) -> None:
    """Offer to leave the verification out; `what` then happens."""
    command.add_argument("--no-verify", dest="check_result", action="store_false", help=what)


def strict(command: Parser) -> None:
    """Offer to ask for a proof."""
    command.add_argument(
        "--strict-proof", action="store_true", help="what is equal by runs only is not enough: exit status 3"
    )


def answer(command: Parser) -> argparse._MutuallyExclusiveGroup:
    """Offer the forms of the answer; what stands in the group that is returned can't be said together."""
    what = (
        "write a report too, in the form of its suffix: .json, .md, .html, .sarif, .xml (JUnit) or "
        ".node_data.json (Model Explorer)"
    )
    repeatable(command, "--report", "FILE", what, new_file)
    group = command.add_mutually_exclusive_group()
    group.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    quiet(group)
    return group


def quiet(command: argparse._ActionsContainer) -> None:
    """Offer to say less, where `answer` does not."""
    command.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")


def spoken(command: Parser) -> None:
    """Offer to say more, and colours."""
    what = "say more on stderr: versions, what is in force, where the time goes; and list all in the table"
    command.add_argument("-v", "--verbose", action="store_true", help=what)
    what = "colours: auto (default) on a terminal; NO_COLOR and FORCE_COLOR count where this is not said"
    command.add_argument("--color", choices=("auto", "always", "never"), default="auto", help=what)


def read_path(text: str) -> Path:
    """Return the path of a file or folder that is read. Raises ArgumentTypeError for an empty text."""
    refuse_empty(text)
    return _local(text)


def file_or_stream(text: str) -> Path:
    """Return the path of a model or an output: Path("-") for the word `-` alone, which names a stream.

    `./-` names the file `-`; its path is absolute, because Path("./-") equals Path("-").
    Raises ArgumentTypeError for an empty text.
    """
    refuse_empty(text, "a file")
    path = _local(text)
    return path.absolute() if path == Path("-") and text != "-" else path


def refuse_empty(text: str, wanted: str = "a file or a folder") -> None:
    """Raise ArgumentTypeError for an empty text, such as that of an unset variable: Path("") is the current folder."""
    if not text:
        raise argparse.ArgumentTypeError(f"an empty name; give {wanted}")


def _local(text: str) -> Path:
    """Return the path of a local file. Raises ArgumentTypeError for a URL, of which Path drops a slash."""
    if "://" in text:
        from graphfix.results.files.regular_files import url_fault

        if fault := url_fault(text):
            raise argparse.ArgumentTypeError(fault)
    return Path(text)


def new_file(text: str) -> Path:
    """Return the path of a file to write. Raises ArgumentTypeError for `-`, which names a stream."""
    if text == "-":
        raise argparse.ArgumentTypeError("'-' is stdout; give the name of a file")
    return file_or_stream(text)


def named(what: str, *, least: int = 1) -> Callable[[str], tuple[str, str]]:
    """Return the type of `NAME=` and text, at least so long. The last `=` counts: names such as `ceil(T=2)` occur."""

    def pair(text: str) -> tuple[str, str]:
        name, equals, value = text.rpartition("=")
        if not (name and equals and len(value) >= least):
            raise argparse.ArgumentTypeError(f"{text!r} is not NAME={what}")
        return name, value

    return pair


MOST_DIGITS = 19
"""The most digits of a number on the command line: those of 2^63. Python raises ValueError for more than 4300."""


class Whole:
    """The type of a whole number from `least` on."""

    def __init__(self, least: int) -> None:
        self.least = least

    def __call__(self, text: str) -> int:
        """Raises ArgumentTypeError."""
        if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS and int(text) >= self.least):
            from graphfix.results.error_texts import shown  # imported here because its package takes milliseconds

            raise argparse.ArgumentTypeError(f"{shown(text)} is not a whole number from {self.least} on")
        return int(text)


def tolerance(text: str) -> float:
    """Read a number from 0 on. Raises ArgumentTypeError."""
    value = number(text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 on")
    return value


def number(text: str) -> float:
    """Return the number of a text, or NaN if the text is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan
