"""The command line's parser: what may be asked, under the names that the request has for it; it imports no format."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from graphfix.engine import targets
from graphfix.results import VERSION

STATUS = """exit status:
  0  done, clean, proved or equal
  1  the answer is no: check has findings, verify found a difference, fix found its own result different,
     tosa --run found that the converted model computes something else
  2  it could not be done: usage, a model that can't be read, shapes that can't be broadcast,
     a model that can't be converted to TOSA
  3  not decided: what could be neither proved nor run"""


class Parser(argparse.ArgumentParser):
    """argparse prints an error in two lines or more; its `error` method is where that can be changed."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line on stderr, and end with status 2."""
        self.exit(2, f"graphfix: {' '.join(message.split())}; see {self.prog} --help\n")


def parser() -> Parser:
    """Build the whole command line."""
    whole = Parser(
        prog="graphfix",
        description="Make every implicit broadcast of an ONNX or TFLite model explicit, "
        "and show that nothing else changed.",
        epilog=STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    whole.add_argument("--version", action="version", version=f"graphfix {VERSION}")
    commands = whole.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _fix(_command(commands, "fix", "make the implicit broadcasts of a model explicit, verify, and write the result"))
    _check(_command(commands, "check", "list what is implicit in models, for a target; change nothing"))
    _verify(_command(commands, "verify", "prove two models equal, and run both and compare every output bit by bit"))
    _show(_command(commands, "show", "print a model's nodes as y[2,3] = Add(x[2,3], b[3])"))
    _tosa(_command(commands, "tosa", "fix a model for TOSA, convert it, validate it, and run it if asked"))
    _explain(_command(commands, "explain", "print the page of a rewrite or a finding code"))
    return whole


def _command(commands: argparse._SubParsersAction[Parser], name: str, what: str) -> Parser:
    return commands.add_parser(
        name,
        help=what,
        description=f"{what[0].upper()}{what[1:]}.",
        epilog=STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _fix(command: Parser) -> None:
    command.add_argument("model", metavar="MODEL", type=Path, help="the ONNX or TFLite file to fix")
    command.add_argument("-o", "--output", metavar="OUT", type=Path, help="the file to write")
    command.add_argument("--in-place", action="store_true", help="let the output be the input; without -o it is")
    _choices(command)
    _binding(command)
    _unverified(command, "write the result without proving or running it")
    _strict(command)
    _runs(command)
    _answer(command)


def _check(command: Parser) -> None:
    command.add_argument("models", metavar="MODEL", type=Path, nargs="+", help="the ONNX or TFLite files to check")
    _choices(command)
    _binding(command)
    _answer(command)


def _verify(command: Parser) -> None:
    command.add_argument("model", metavar="BEFORE", type=Path, help="the original file, ONNX or TFLite")
    command.add_argument(
        "after", metavar="AFTER", type=Path, help="the file of the same format that should compute the same"
    )
    _binding(command)
    command.add_argument(
        "--inputs",
        metavar="F",
        type=Path,
        help="inputs to run on: an .npz file, or an ONNX test_data_set folder (its expected outputs are compared too)",
    )
    _runs(command)
    command.add_argument(
        "--proof-only",
        dest="proof",
        action="store_const",
        const="only",
        help="only prove it, for all inputs and sizes: nothing is run",
    )
    _strict(command)
    command.add_argument(
        "--atol", metavar="X", type=_tolerance, help="absolute tolerance instead of bit equality, at least 0"
    )
    command.add_argument(
        "--rtol", metavar="X", type=_tolerance, help="relative tolerance instead of bit equality, at least 0"
    )
    _answer(command)


def _show(command: Parser) -> None:
    command.add_argument("model", metavar="MODEL", type=Path, help="the ONNX or TFLite file to show")
    command.add_argument("--maps", action="store_true", help="with the indexing maps of the nodes that broadcast")
    command.add_argument("--broadcasts-only", action="store_true", help="only the nodes that broadcast implicitly")
    _binding(command)


def _tosa(command: Parser) -> None:
    command.add_argument("model", metavar="MODEL", type=Path, help="the ONNX or TFLite file to convert")
    what = "the TOSA flatbuffer to write; the MLIR bytecode appears beside it, with the suffix .mlirbc"
    command.add_argument("-o", "--output", metavar="OUT", type=Path, required=True, help=what)
    command.add_argument(
        "--run",
        action="store_true",
        help="run it in the TOSA reference model beside LiteRT or onnxruntime, and compare the outputs",
    )
    command.add_argument(
        "--inputs",
        dest="run_on",
        metavar="F",
        type=Path,
        action="append",
        default=[],
        help="inputs for --run instead of seeded ones: an .npz file, or an ONNX test_data_set folder; repeatable",
    )
    _binding(command)
    group = command.add_argument_group("what is rewritten")
    _rules(group)
    _unverified(command, "convert the rewritten model without verifying it")
    command.add_argument("--seed", metavar="N", type=_whole(0), default=0, help="seed of the inputs (default 0)")
    _answer(command)


def _explain(command: Parser) -> None:
    command.add_argument(
        "topic", metavar="RULE|CODE", help=f"one of {', '.join(targets.RULES)}; or a code such as GF101"
    )


def _choices(command: Parser) -> None:
    group = command.add_argument_group("what is made explicit")
    group.add_argument(
        "--target",
        choices=tuple(targets.TARGETS),
        default="explicit",
        help="explicit (default): no operator broadcasts; ranks: operands have equal ranks, size-1 axes stay; "
        "tosa: the form that the converters to TOSA read, all sizes bound",
    )
    group.add_argument(
        "--broadcasts",
        choices=targets.BROADCASTS,
        help="size-1 axes: leave them, stretch where more than one operand needs it, or stretch all "
        "(default: what the target says)",
    )
    group.add_argument(
        "--unknown",
        choices=targets.UNKNOWN,
        default="expand",
        help="sizes known only at run time: a run-time Expand (default), leave and report, "
        "assume that they are equal, or an error",
    )
    _rules(group)
    if command.prog.endswith(" fix"):
        group.add_argument(
            "--keep-fusions",
            action="store_true",
            help="leave scalar and rank-1 constants, by whose shapes onnxruntime fuses operators",
        )


def _rules(group: argparse._ArgumentGroup) -> None:
    rules = ", ".join(targets.RULES)
    group.add_argument(
        "--only",
        metavar="RULE",
        action="append",
        choices=targets.RULES,
        default=[],
        help=f"only this rewrite, of {rules}; repeatable",
    )
    group.add_argument(
        "--skip",
        metavar="RULE",
        action="append",
        choices=targets.RULES,
        default=[],
        help="not this rewrite; repeatable",
    )
    group.add_argument(
        "--bind-defaults",
        action="store_true",
        help="bind every size that is still free: what the file stores beside it (TFLite), else 1 for a first axis",
    )
    group.add_argument(
        "--max-expand-bytes",
        metavar="N",
        type=_whole(0),
        help="TFLite: a constant is written out stretched if it then takes at most N bytes (default 1048576), and all "
        "of them together at most twice the file's size; else an operator stretches it",
    )


def _binding(command: Parser) -> None:
    group = command.add_argument_group("free dims")
    group.add_argument(
        "--dim",
        dest="dims",
        metavar="N=S",
        type=_named,
        action="append",
        default=[],
        help="bind a free dim: N=4, or narrow its range: N=2..64; in TFLite axis 0 of input x is 'x[0]=4'; repeatable",
    )
    group.add_argument(
        "--shape",
        dest="shapes",
        metavar="I=S,S,..",
        type=_named,
        action="append",
        default=[],
        help="bind the shape of an input: x=1,3,224,224; repeatable",
    )
    what = "sizes of inputs that are equal, axes or symbols: 'ids[0]=mask[0]', batch=batch2, total=past+seq; repeatable"
    group.add_argument("--same", metavar="A=B", action="append", help=what)
    group.add_argument(
        "--trust-stored",
        action="store_true",
        help="ONNX: believe stored sizes of inner values, such as 's0 + 1', that can neither be proved nor refuted; "
        "listed as assumed, and compared with the runs",
    )


def _runs(command: Parser) -> None:
    command.add_argument(
        "--runs", metavar="N", type=_whole(1), default=4, help="sets of inputs and sizes to run (default 4)"
    )
    command.add_argument("--seed", metavar="N", type=_whole(0), default=0, help="seed of the inputs (default 0)")


def _unverified(command: Parser, what: str) -> None:
    command.add_argument("--no-verify", dest="check_result", action="store_false", help=what)


def _strict(command: Parser) -> None:
    command.add_argument(
        "--strict-proof", action="store_true", help="what is equal by runs only is not enough: exit status 3"
    )


def _answer(command: Parser) -> None:
    command.add_argument(
        "--report",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="write a report too: .json or .md; repeatable",
    )
    group = command.add_mutually_exclusive_group()
    group.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    group.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")


def _named(text: str) -> tuple[str, str]:
    """NAME=SIZES. The last `=` counts: names such as `ceil(T=2)` occur, sizes hold none."""
    name, equals, sizes = text.rpartition("=")
    if not (name and equals and sizes):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=SIZE")
    return name, sizes


def _whole(least: int) -> Callable[[str], int]:
    def whole(text: str) -> int:
        if not (text.isascii() and text.isdigit() and int(text) >= least):
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} on")
        return int(text)

    return whole


def _tolerance(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 on")
    return value
