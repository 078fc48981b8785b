"""Options that several commands share, in groups, and the parser to which they are added. No format is imported."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, NoReturn

from graphfix.targets import registry


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that prints an error in one line; argparse itself prints two or more."""

    def error(self, message: str) -> NoReturn:
        """Print the error as one line on stderr and exit with status 2."""
        line = " ".join(message.split())
        self.exit(2, f"graphfix: {line}{'' if line.endswith('?') else ';'} see {self.prog} --help\n")

    def _print_message(self, message: str, file: IO[str] | None = None) -> None:  # type: ignore[override]  # typeshed: SupportsWrite
        """Print help or an error. Raises OSError if the stream can't be written; argparse would ignore that error."""
        print(message, end="", file=file or sys.stderr)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Raise ArgumentError for a value that is not a choice of the option; the error lists similar ones, or all."""
        if action.choices is None or value in action.choices:
            return
        from graphfix.results.error_texts import hint

        choices = list(map(str, action.choices))
        how = hint(str(value), choices, f"; choose from {', '.join(choices)}")
        raise argparse.ArgumentError(action, f"invalid choice: {value!r}{how}")

    def refuse(self, words: Sequence[str]) -> NoReturn:
        """Exit with an error for unknown words; similar options are listed for the first option among them."""
        from graphfix.results.error_texts import hint

        wrong = next((word.split("=")[0] for word in words if word.startswith("-")), "")
        option_names = [name for name in self._option_string_actions if name.startswith("--")]
        self.error(f"unrecognized arguments: {' '.join(words)}{hint(wrong, option_names)}")


class HelpText(argparse.RawDescriptionHelpFormatter):
    """A help formatter that never breaks a name such as `equalize-ranks`, so that names can be copied."""

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
    """Add an option that may be given several times; its values are listed under `dest`, or under the option's name."""
    dest = dest or name[2:].replace("-", "_")
    what = f"{what}; repeatable"
    group.add_argument(name, dest=dest, metavar=metavar, type=convert, action="append", default=[], help=what)


def model(command: Parser, what: str, name: str = "model", metavar: str = "MODEL") -> None:
    """Add an argument that is a model's file; `what` is its help."""
    command.add_argument(name, metavar=metavar, type=file_or_stream, help=f"{what}; - is stdin")


def data_root(command: Parser) -> None:
    """Add --data-root: further folders in which a model's external data may lie."""
    what = "ONNX: another folder that may hold external data"
    repeatable(command, "--data-root", "DIR", what, read_path)


def choices(command: Parser) -> None:
    """Add the options that decide what is made explicit: target, broadcasts, rewrites."""
    group = command.add_argument_group("what is made explicit")
    either = group.add_mutually_exclusive_group()
    either.add_argument(
        "--target",
        type=_target,
        choices=registry.TARGETS,
        metavar="TARGET",
        default="explicit",
        help=f"one of {', '.join(registry.TARGETS)} (default explicit): graphfix explain TARGET",
    )
    target_file(either, "your own target, described in a TOML file")
    group.add_argument(
        "--broadcasts",
        choices=registry.BROADCASTS,
        metavar="WHICH",
        help="size-1 axes to stretch: keep (none), two-sided (if both operands have some), explicit (all) "
        "(default: the target decides)",
    )
    group.add_argument(
        "--unknown",
        choices=registry.UNKNOWN,
        default="expand",
        metavar="HOW",
        help="sizes known only at run time: expand (default), keep (and report), assume (that they are equal), error",
    )
    rules(group)
    what = "don't change operands that onnxruntime's CPU fusions match"
    group.add_argument("--keep-fusions", action="store_true", help=what)


def target_file(group: argparse._ActionsContainer, what: str) -> None:
    """Add --target-file, the user's own target; `what` is its help."""
    group.add_argument("--target-file", metavar="TOML", type=read_path, help=what)


def _target(text: str) -> str:
    """Return the name of a target. Raises ArgumentTypeError for a TOML file, which is for another option."""
    if text.endswith(".toml"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a target: name a target file with --target-file")
    return text


def own_rewrites(group: argparse._ActionsContainer, what: str) -> None:
    """Add --rewrites, the user's own rewrites; `what` is its help."""
    repeatable(group, "--rewrites", "FILE", what, _own_rewrite)


def _own_rewrite(text: str) -> Path | str:
    """Return the path of a Python file, or the name of an installed rewrite."""
    return Path(text) if text.endswith(".py") else text


def rules(group: argparse._ArgumentGroup) -> None:
    """Add the options that select rewrites, bind default sizes, and limit the size of constants."""
    repeatable(group, "--only", "REWRITE", "run only this rewrite (`graphfix explain` lists them)")
    repeatable(group, "--skip", "REWRITE", "do not run this rewrite")
    own_rewrites(group, "also run your rewrite: a Python file or an installed name")
    group.add_argument(
        "--bind-defaults",
        action="store_true",
        help="bind each free size: to the size that a TFLite file stores, to 1 (first axis), or to the least that runs",
    )
    group.add_argument(
        "--max-expand-bytes",
        metavar="N",
        type=Whole(0),
        help="TFLite: store stretched constants of at most N bytes (default 1048576), else add an operator",
    )


def binding(command: Parser) -> None:
    """Add the options that bind sizes and values of inputs."""
    group = command.add_argument_group("free dims and values")
    what = "bind a free dim: N=4, a range: N=2..64, TFLite: 'x[0]=4'"
    repeatable(group, "--dim", "N=S", what, name_and_text("SIZE"), "dims")
    what = "bind the shape of an input: x=1,3,224,224; a scalar: sr="
    repeatable(group, "--shape", "I=S,S,..", what, name_and_text("SIZES", least=0), "shapes")
    what = "equal sizes of inputs: batch=batch2, total=past+seq"
    repeatable(group, "--same", "A=B", what)
    group.add_argument(
        "--trust-stored",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="ONNX: rely on stored sizes that are neither proved nor refuted, and list them as assumed "
        "(default: those of custom operators only)",
    )
    what = "ONNX: make int64 inputs int32; values must fit 32 bits"
    group.add_argument("--narrow-inputs", action="store_true", help=what)
    what = "TFLite: the signature to use (default: the main subgraph)"
    group.add_argument("--signature", metavar="NAME", help=what)
    what = "make an input this constant: sr=16000, sizes=1,2,3"
    repeatable(group, "--set", "I=V", what, name_and_text("VALUE"), "values")
    if command.prog.endswith((" fix", " tosa", " batch")):
        what = "remove the inputs that --set makes constant"
        group.add_argument("--drop-set-inputs", action="store_true", help=what)


def runs(command: Parser) -> None:
    """Add the options for the number of runs, their limits, and their seed."""
    command.add_argument(
        "--runs",
        metavar="N",
        type=Whole(1),
        help="sets of inputs and sizes to run (default 4; if proved equal, 1)",
    )
    what = "all runs, without limits of time and memory, for large (1 GiB) and proved models too"
    command.add_argument("--thorough", action="store_true", help=what)
    seed(command)


def seed(command: Parser) -> None:
    """Add the seed of the inputs."""
    command.add_argument("--seed", metavar="N", type=Whole(0), default=0, help="seed of the inputs (default 0)")


def tolerances(command: Parser, what: str) -> None:
    """Add --atol and --rtol; in `what`, {} is replaced by the kind of the tolerance."""
    for name, kind in (("--atol", "absolute"), ("--rtol", "relative")):
        command.add_argument(name, metavar="X", type=tolerance, help=what.format(kind))


def unverified(command: Parser, what: str) -> None:
    """Add --no-verify; `what` is its help."""
    command.add_argument("--no-verify", dest="check_result", action="store_false", help=what)


def strict(command: Parser) -> None:
    """Add --strict-proof."""
    command.add_argument("--strict-proof", action="store_true", help="exit with status 3 unless the proof succeeds")


def answer(command: Parser) -> argparse._MutuallyExclusiveGroup:
    """Add the options for reports, --json and -q; options added to the returned group exclude each other."""
    what = "also write a report: .json, .md, .html, .sarif, .xml (JUnit) or .node_data.json (Model Explorer)"
    repeatable(command, "--report", "FILE", what, new_file)
    group = command.add_mutually_exclusive_group()
    group.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    quiet(group)
    return group


def quiet(command: argparse._ActionsContainer) -> None:
    """Add -q, for commands without `answer`."""
    command.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")


def spoken(command: Parser) -> None:
    """Add -v and --color."""
    what = "print versions, settings and times on stderr, and all rows"
    command.add_argument("-v", "--verbose", action="store_true", help=what)
    what = "auto (default), always or never"
    command.add_argument("--color", choices=("auto", "always", "never"), metavar="WHEN", default="auto", help=what)


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


def name_and_text(what: str, *, least: int = 1) -> Callable[[str], tuple[str, str]]:
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
    """The type of an option that is an integer from `least` on."""

    def __init__(self, least: int) -> None:
        self.least = least

    def __call__(self, text: str) -> int:
        """Raises ArgumentTypeError."""
        if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS and int(text) >= self.least):
            from graphfix.results.error_texts import shown  # imported here because its package takes milliseconds

            raise argparse.ArgumentTypeError(f"{shown(text)} is not a whole number from {self.least} on")
        return int(text)


def tolerance(text: str) -> float:
    """Return a number from 0 on. Raises ArgumentTypeError."""
    value = number(text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 on")
    return value


def number(text: str) -> float:
    """Return the number of a text, or NaN if the text is not a number."""
    try:
        return float(text)
    except ValueError:
        return math.nan
