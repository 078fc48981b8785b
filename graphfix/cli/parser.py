"""The parser of the command line. It imports no format, and each option has the name of the request's field."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from graphfix import __version__
from graphfix.cli import options
from graphfix.cli.batch import options as batch
from graphfix.cli.configuration import options as configuration
from graphfix.cli.lint import options as lint
from graphfix.cli.options import HelpText, Parser, file_or_stream, read_path

CHECK = "check"
"""The command that a model alone stands for."""
CONFIG = "config"
"""The command that accepts all options of the other commands."""
UNCONFIGURED = ("doctor", "completion")
"""Commands that read no configuration file, so that a damaged one can't stop them."""
SEVERAL: Mapping[str, str] = MappingProxyType(
    {
        "fix": "fix takes one model, and -o OUT names its result: graphfix batch {} -o DIR does several",
        "tosa": "tosa takes one model, and -o OUT names its result: graphfix batch {} --tosa -o DIR does several",
        "show": "show takes one model: ask once for each of {}",
        "verify": "verify takes two models, BEFORE and AFTER: ask once for each pair",
    }
)
"""By command: the error for more models than it takes. The braces are replaced by the models."""
STATUS = """exit status:
  0  done: clean, proved or equal
  1  the answer is no: check has findings, verify found a difference, fix found its own result different,
     fix --dry-run or --diff would change something, tosa --run found that the converted model computes
     something else, doctor that a runtime does not work or that a package has a version that is not allowed
  2  it could not be done: usage, a model that can't be read, shapes that can't be broadcast,
     a model that can't be converted to TOSA
  3  undecided: the models could be neither proved equal nor run
  4  fix: written and verified, but `graphfix check OUT` still has findings, with the same options but without
     those that bind sizes and values
     (for several models the worst status, in the order 2, 1, 3, 4, 0)
  130  interrupted by Ctrl-C; 143: terminated by SIGTERM; 141: the reader of stdout closed the pipe"""
SHORT_STATUS = """exit status: 0 done, clean or equal; 1 findings or a difference; 2 error; 3 undecided;
  4 fixed, but findings remain; 130 interrupted by Ctrl-C (all of it: graphfix --help)"""
"""The exit statuses as the help of a command lists them."""
HELP = "help"
"""The word that prints a command's help: `graphfix help fix`."""


def parser(asked: str | None = None) -> Parser:
    """Return the parser: complete, or with only the options of the command `asked`."""
    full_parser = Parser(
        prog="graphfix",
        description="Make every implicit broadcast of an ONNX or TFLite model explicit, "
        "and show that nothing else changed.",
        epilog=STATUS,
        formatter_class=HelpText,
        allow_abbrev=False,
    )
    full_parser.add_argument("-V", "--version", action="version", version=f"graphfix {__version__}")
    commands = full_parser.add_subparsers(prog="graphfix", dest="command", metavar="COMMAND")
    everything = asked in (None, CONFIG)
    for name, (what, offer) in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=what,
            description=f"{what[0].upper()}{what[1:]}.",
            epilog=SHORT_STATUS,
            formatter_class=HelpText,
            allow_abbrev=False,
        )
        if everything or asked == name:
            offer(command)
            options.spoken(command)
            if name not in UNCONFIGURED:
                configuration.configured(command)
            command.usage = usage(command)
    if everything:
        config = commands.choices[CONFIG]
        for other in commands.choices.values():
            configuration.borrow(config, other)
    return full_parser


def usage(command: Parser) -> str:
    """Return the usage line of a command: its arguments and required options; `[options]` stands for the others."""
    required = [
        f"{action.option_strings[0]} {action.metavar}" if action.option_strings else _metavar(action)
        for action in command._actions  # noqa: SLF001  # argparse has no public list of actions
        if action.required or not action.option_strings
    ]
    return " ".join([command.prog, "[options]", *required])


def _metavar(argument: argparse.Action) -> str:
    """Return an argument as a usage line shows it: `[PATH]` if it is optional, `PATH ...` if it is repeatable."""
    metavar = str(argument.metavar or "|".join(map(str, argument.choices or ())))
    return {"?": f"[{metavar}]", "+": f"{metavar} ..."}.get(str(argument.nargs), metavar)


def commands_of(full_parser: argparse.ArgumentParser) -> Mapping[str, Parser]:
    """Return the parsers of the commands by name. argparse has no public list of them."""
    (found,) = [each for each in full_parser._actions if isinstance(each, argparse._SubParsersAction)]  # noqa: SLF001
    return found.choices


class Said(NamedTuple):
    """A parsed command line, and the defaults of its command's options."""

    command: str
    parser: Parser
    """The parser of the command."""
    defaults: Mapping[str, object]
    """The defaults of the options, by their names in a namespace."""
    given: Mapping[str, Any]


def said(argv: Sequence[str]) -> Said:
    """Parse a command line; only the options of its command are added to the parser. Exits for a wrong command line."""
    argv = _with_command(argv)
    full_parser = parser(next((word for word in argv if word in COMMANDS), ""))
    commands = commands_of(full_parser)
    defaults: dict[str, dict[str, object]] = {}
    for name, command in commands.items():
        optional = [action for action in command._actions if action.option_strings]  # noqa: SLF001
        defaults[name] = {action.dest: action.default for action in optional if action.dest != "help"}
        for action in optional:
            action.default = argparse.SUPPRESS  # so that the namespace holds what is said, and nothing else
    namespace, unknown = full_parser.parse_known_args(argv)
    given = vars(namespace)
    if given.get("command") is None:
        full_parser.error(f"name a command: {', '.join(COMMANDS)}")
    if unknown:
        _refuse_output(commands[given["command"]], unknown)
        _refuse_several(commands[given["command"]], given, unknown)
        commands[given["command"]].refuse(unknown)
    if given.get("quiet") and given.get("verbose"):
        full_parser.error("-q/--quiet: not allowed with -v/--verbose")
    name = given["command"]
    return Said(name, commands[name], defaults[name], given)


def _with_command(argv: Sequence[str]) -> Sequence[str]:
    """Return the command line with the command that it implies.

    `help` becomes `--help`, `help fix` becomes `fix --help`, and a file or folder alone is checked: `check m.onnx`.
    """
    if argv and argv[0] == HELP:
        return [*argv[1:2], "--help"]
    if argv and argv[0] not in COMMANDS and _may_be_model(argv[0]):
        return [CHECK, *argv]
    return argv


def _may_be_model(word: str) -> bool:
    """Return whether a word names an existing file or folder, or ends like a model's file name."""
    return word.endswith((".onnx", ".tflite")) or (not word.startswith("-") and Path(word).exists())


def _refuse_output(command: Parser, words: Sequence[str]) -> None:
    """Exit with an error if the words ask `check` to write a model; the error names the command that does."""
    if command.prog.endswith(f" {CHECK}") and any(word in ("-o", "--output") for word in words):
        command.error("check writes no model: graphfix fix MODEL -o OUT does")


def _refuse_several(command: Parser, given: Mapping[str, Any], words: Sequence[str]) -> None:
    """Exit with an error if the words are further models; the error names a command that takes several models."""
    if given["command"] in SEVERAL and not any(word.startswith("-") for word in words):
        import shlex

        command.error(SEVERAL[given["command"]].format(shlex.join([str(given["model"]), *words])))


def _fix(command: Parser) -> None:
    options.model(command, "the ONNX or TFLite file to fix")
    command.add_argument("-o", "--output", metavar="OUT", type=file_or_stream, help="the file to write; - is stdout")
    command.add_argument("--in-place", action="store_true", help="write the result over the input file")
    either = command.add_mutually_exclusive_group()
    what = "print the planned changes; write and verify nothing"
    either.add_argument("--dry-run", action="store_true", help=what)
    what = "print a unified diff of the nodes; write and verify nothing"
    either.add_argument("--diff", action="store_true", help=what)
    what = "exit with 0 instead of 4, and instead of 1 for --dry-run and --diff"
    command.add_argument("--exit-zero", action="store_true", help=what)
    options.data_root(command)
    options.choices(command)
    options.binding(command)
    options.unverified(command, "write the result without proving or running it")
    options.strict(command)
    options.runs(command)
    options.answer(command)


def _check(command: Parser) -> None:
    what = (
        "ONNX or TFLite files, folders (searched for .onnx and .tflite) and quoted patterns ('models/**/*.onnx'); "
        "- is stdin"
    )
    command.add_argument("models", metavar="PATH", type=file_or_stream, nargs="+", help=what)
    lint.sources(command)
    lint.selection(command)
    options.data_root(command)
    options.choices(command)
    options.binding(command)
    lint.form(command, options.answer(command))


def _verify(command: Parser) -> None:
    options.model(command, "the original file, ONNX or TFLite", metavar="BEFORE")
    options.model(command, "the file of the same format that should compute the same", "after", "AFTER")
    options.data_root(command)
    options.binding(command)
    command.add_argument(
        "--inputs",
        metavar="F",
        type=read_path,
        help="inputs to run on: an .npz file, or an ONNX test_data_set folder, whose expected outputs are "
        "compared too (default: seeded inputs)",
    )
    options.runs(command)
    command.add_argument(
        "--proof-only",
        dest="proof",
        action="store_const",
        const="only",
        help="only prove it, for all inputs and sizes: nothing is run or loaded",
    )
    what = "--proof-only: load both files too, without and with optimizations (TFLite: on each kernel set)"
    command.add_argument("--load", action="store_true", help=what)
    options.strict(command)
    options.tolerances(command, "{} tolerance, at least 0 (default: bit equality)")
    options.answer(command)


def _show(command: Parser) -> None:
    options.model(command, "the ONNX or TFLite file to show")
    command.add_argument("--maps", action="store_true", help="with the indexing maps of the nodes that broadcast")
    group = command.add_argument_group("which nodes", "those that all of these take")
    group.add_argument("--broadcasts-only", action="store_true", help="only the nodes that broadcast implicitly")
    what = "only the nodes whose name or operator matches, * and ? for any letters"
    group.add_argument("--node", dest="nodes", metavar="PATTERN", help=what)
    what = "only the nodes that are at most N edges away from a node: its name, Op#index, or what it makes"
    group.add_argument("--around", nargs=2, metavar=("NODE", "N"), help=what)
    group.add_argument(
        "--graph", dest="graphs", metavar="PATH", help="only the scopes whose path matches, such as main"
    )
    options.data_root(command)
    options.quiet(command)
    options.binding(command)


def _tosa(command: Parser) -> None:
    options.model(command, "the ONNX or TFLite file to convert")
    what = "the TOSA flatbuffer to write; the MLIR bytecode appears beside it, with the suffix .mlirbc"
    command.add_argument("-o", "--output", metavar="OUT", type=file_or_stream, required=True, help=what)
    command.add_argument(
        "--run",
        action="store_true",
        help="run it in the TOSA reference model beside LiteRT or onnxruntime, and compare the outputs",
    )
    what = "inputs for --run instead of seeded ones: an .npz file, or an ONNX test_data_set folder"
    options.repeatable(command, "--inputs", "F", what, read_path, "run_on")
    options.tolerances(command, "--run: {} tolerance for every element, instead of a thousandth of an output's range")
    options.data_root(command)
    options.binding(command)
    group = command.add_argument_group("what is rewritten")
    options.rules(group)
    options.unverified(command, "convert the rewritten model without verifying it")
    options.seed(command)
    options.answer(command)


def _explain(command: Parser) -> None:
    either = command.add_mutually_exclusive_group()
    either.add_argument(
        "topic",
        metavar="TOPIC",
        nargs="?",
        help="a rewrite (equalize-ranks), a finding code or its name (GF101, rank-mismatch), or a target (tosa); "
        "without TOPIC: the list of all of them, one line each",
    )
    options.target_file(either, "print the settings of your own target")
    options.own_rewrites(command, "also look in your rewrites: a Python file, or an installed name")
    options.quiet(command)


def _config(command: Parser) -> None:
    what = "a model: with what is said for files of its name"
    command.add_argument("path", metavar="PATH", type=read_path, nargs="?", help=what)
    own = command.add_argument_group("what is asked", "and any option of another command, as if it were said there")
    own.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    options.quiet(command)


def _doctor(command: Parser) -> None:
    command.add_argument("--json", action="store_true", help="print one JSON document instead of the text")
    options.quiet(command)


def _completion(command: Parser) -> None:
    command.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell that it is for")
    options.quiet(command)


COMMANDS: Mapping[str, tuple[str, Callable[[Parser], None]]] = MappingProxyType(
    {
        "fix": (
            "make the implicit broadcasts of a model explicit, or take explicit ones out, verify, and write the result",
            _fix,
        ),
        "check": ("list what is implicit in models, for a target; change nothing", _check),
        "verify": ("prove two models equal, and run both and compare every output bit by bit", _verify),
        "show": ("print a model's nodes as y[2,3] = Add(x[2,3], b[3])", _show),
        "tosa": ("fix a model for TOSA, convert it, validate it, and run it if asked", _tosa),
        "batch": ("fix, check or convert many models, here or on a cluster, and go on where it stopped", batch.batch),
        "explain": ("print the page of a rewrite, a finding code or a target", _explain),
        "config": ("print the options that are in force, and where each was said", _config),
        "doctor": ("print versions, and whether each runtime and tool works, for a bug report", _doctor),
        "completion": (
            "print what completes command lines in a shell; say `source <(graphfix completion bash)`",
            _completion,
        ),
    }
)
"""By name of a command: its help, and the function that adds its options."""
