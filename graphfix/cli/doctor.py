"""`doctor`: print what is installed and what works; end with 1 where something that graphfix needs does not."""

from __future__ import annotations

from argparse import Namespace

from graphfix.cli import terminal
from graphfix.cli.status import DONE, NO


def examine(options: Namespace) -> int:
    """Ask each runtime and tool, and print the answers."""
    from graphfix.report.doctor import environment_json, environment_text
    from graphfix.runtimes import doctor

    with terminal.watched(options, "doctor") as progress:
        environment = doctor.examine(progress)
    if not options.quiet:
        text = environment_json(environment) if options.json else environment_text(environment)
        print(text, end="\n" * (not options.json))
    return DONE if environment.works else NO
