"""The command line's parser: what may be asked, under the names that the request has for it; it imports no format."""

from __future__ import annotations

import argparse
from pathlib import Path

from graphfix.cli import lint_options, options
from graphfix.cli.options import Parser
from graphfix.engine import targets
from graphfix.results import VERSION

STATUS = """exit status:
  0  done, clean, proved or equal
  1  the answer is no: check has findings, verify found a difference, fix found its own result different,
     tosa --run found that the converted model computes something else
  2  it could not be done: usage, a model that can't be read, shapes that can't be broadcast,
     a model that can't be converted to TOSA
  3  not decided: what could be neither proved nor run"""


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
    _fix(
        _command(
            commands,
            "fix",
            "make the implicit broadcasts of a model explicit, or take explicit ones out, verify, and write the result",
        )
    )
    _check(_command(commands, "check", "list what is implicit in models, for a target; change nothing"))
    _verify(_command(commands, "verify", "prove two models equal, and run both and compare every output bit by bit"))
    _show(_command(commands, "show", "print a model's nodes as y[2,3] = Add(x[2,3], b[3])"))
    _tosa(_command(commands, "tosa", "fix a model for TOSA, convert it, validate it, and run it if asked"))
    _explain(_command(commands, "explain", "print the page of a rewrite, a finding code or a target"))
    for command in commands.choices.values():
        options.configured(command)
    _config(_command(commands, "config", "print the options that are in force, and where each was said"), commands)
    _doctor(_command(commands, "doctor", "print versions, and whether each runtime and tool works, for a bug report"))
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
    options.choices(command)
    options.binding(command)
    options.unverified(command, "write the result without proving or running it")
    options.strict(command)
    options.runs(command)
    options.answer(command)


def _check(command: Parser) -> None:
    what = "ONNX or TFLite files, folders (searched for .onnx and .tflite) and quoted patterns ('models/**/*.onnx')"
    command.add_argument("models", metavar="PATH", type=Path, nargs="+", help=what)
    lint_options.sources(command)
    lint_options.selection(command)
    options.choices(command)
    options.binding(command)
    lint_options.form(command, options.answer(command))


def _verify(command: Parser) -> None:
    command.add_argument("model", metavar="BEFORE", type=Path, help="the original file, ONNX or TFLite")
    command.add_argument(
        "after", metavar="AFTER", type=Path, help="the file of the same format that should compute the same"
    )
    options.binding(command)
    command.add_argument(
        "--inputs",
        metavar="F",
        type=Path,
        help="inputs to run on: an .npz file, or an ONNX test_data_set folder (its expected outputs are compared too)",
    )
    options.runs(command)
    command.add_argument(
        "--proof-only",
        dest="proof",
        action="store_const",
        const="only",
        help="only prove it, for all inputs and sizes: nothing is run",
    )
    options.strict(command)
    command.add_argument(
        "--atol", metavar="X", type=options.tolerance, help="absolute tolerance instead of bit equality, at least 0"
    )
    command.add_argument(
        "--rtol", metavar="X", type=options.tolerance, help="relative tolerance instead of bit equality, at least 0"
    )
    options.answer(command)


def _show(command: Parser) -> None:
    command.add_argument("model", metavar="MODEL", type=Path, help="the ONNX or TFLite file to show")
    command.add_argument("--maps", action="store_true", help="with the indexing maps of the nodes that broadcast")
    command.add_argument("--broadcasts-only", action="store_true", help="only the nodes that broadcast implicitly")
    options.binding(command)


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
    for name, what in (("--atol", "absolute"), ("--rtol", "relative")):
        text = f"--run: {what} tolerance for every element, instead of a thousandth of an output's range"
        command.add_argument(name, metavar="X", type=options.tolerance, help=text)
    options.binding(command)
    group = command.add_argument_group("what is rewritten")
    options.rules(group)
    options.unverified(command, "convert the rewritten model without verifying it")
    command.add_argument("--seed", metavar="N", type=options.Whole(0), default=0, help="seed of the inputs (default 0)")
    options.answer(command)


def _explain(command: Parser) -> None:
    either = command.add_mutually_exclusive_group(required=True)
    either.add_argument(
        "topic",
        metavar="RULE|CODE|TARGET",
        nargs="?",
        help=f"one of {', '.join(targets.RULES)}; a code such as GF101; or a target: {', '.join(targets.TARGETS)}",
    )
    options.target_file(either, "the row of a target of your own")
    options.own_rewrites(command, "look among rewrites of your own too: a Python file, or an installed one; repeatable")


def _config(command: Parser, commands: argparse._SubParsersAction[Parser]) -> None:
    what = "a model: with what is said for files of its name"
    command.add_argument("path", metavar="PATH", type=Path, nargs="?", help=what)
    own = command.add_argument_group("what is asked", "and any option of another command, as if it were said there")
    own.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    options.configured(command)
    for other in commands.choices.values():
        lint_options.borrow(command, other)


def _doctor(command: Parser) -> None:
    command.set_defaults(quiet=False)
    command.add_argument("--json", action="store_true", help="print one JSON document instead of the text")
