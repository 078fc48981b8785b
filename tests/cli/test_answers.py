"""How one model is asked about and what is printed of it, by hand-made outcomes."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from graphfix.cli import answers
from graphfix.cli.slow_phases import SlowPhases
from graphfix.cli.status import DONE, FAILED, NO, UNDECIDED
from graphfix.report.table import headline
from graphfix.report.text import Failure
from graphfix.results import GraphfixError, Outcome, OverwriteError, Site, Verdict
from graphfix.results.progress import Progress

LEFT = Site("GF104", "x", "Mul", "main", 0, None, None, "left", None, "the rank of 'x1' is not known")
WRITTEN = Outcome(
    "fix",
    "m.onnx",
    "onnx",
    target="explicit",
    output="f.onnx",
    sites=(LEFT,),
    verdict=Verdict("equal"),
    sites_left=1,
)


def options(*, json: bool = False, quiet: bool = False) -> Namespace:
    return Namespace(command="fix", model=Path("m.onnx"), color="never", json=json, quiet=quiet, verbose=False)


def printed(entry: Outcome, capsys: pytest.CaptureFixture[str], **how: bool) -> list[str]:
    answers.print_answer(options(), entry, **how)
    said = capsys.readouterr()
    assert said.err == ""
    return said.out.splitlines()


def test_a_model_is_named_with_its_number_only_where_there_are_several() -> None:
    subjects = []

    def ask(_: Namespace, progress: Progress | None) -> Outcome:
        assert isinstance(progress, SlowPhases)
        subjects.append(progress.subject)
        return WRITTEN

    assert answers.entry(options(), ask) is WRITTEN
    assert answers.entry(options(), ask, (1, 1)) is WRITTEN
    assert answers.entry(options(), ask, (2, 3)) is WRITTEN
    assert subjects == ["m.onnx", "m.onnx", "m.onnx (2 of 3)"]


def test_an_error_is_a_failure_of_the_model_unless_it_is_about_the_whole_command() -> None:
    def raising(error: Exception) -> Outcome | Failure:
        def ask(*_: object) -> Outcome:
            raise error

        return answers.entry(options(), ask)

    assert raising(GraphfixError("m.onnx: no model")) == Failure("fix", "m.onnx", "m.onnx: no model")
    for error in (OverwriteError("r.json is read"), OSError("no room")):
        with pytest.raises(type(error), match=str(error)):
            raising(error)


def test_a_short_answer_is_the_first_line_of_the_whole_one(capsys: pytest.CaptureFixture[str]) -> None:
    whole = printed(WRITTEN, capsys)
    assert whole[0] == headline(WRITTEN)
    assert len(whole) > 2
    assert printed(WRITTEN, capsys, short=True) == whole[:1]


def test_what_is_left_is_listed_from_the_file_or_where_the_model_was_piped_from_stdin(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "1 site left for target explicit: graphfix check f.onnx lists it;" in printed(WRITTEN, capsys)[-1]
    piped = printed(WRITTEN, capsys, is_piped=True)[-1]
    assert "graphfix check - lists it when it gets this model by stdin;" in piped


@pytest.mark.parametrize(
    ("verdict", "usual", "strict"),
    [
        ("proved", DONE, DONE),
        ("equal", DONE, UNDECIDED),
        ("undecided", UNDECIDED, UNDECIDED),
        ("different", NO, NO),
    ],
)
def test_what_was_only_run_is_enough_unless_a_proof_was_asked_for(verdict: str, usual: int, strict: int) -> None:
    verified = Outcome("verify", "m.onnx", "onnx", output="f.onnx", verdict=Verdict(verdict))  # type: ignore[arg-type]
    assert answers.status(verified) == answers.status(verified, strict=False) == usual
    assert answers.status(verified, strict=True) == strict


def test_a_failure_is_a_status_of_its_own() -> None:
    assert answers.status(Failure("fix", "m.onnx", "m.onnx: no model")) == FAILED
